//! Real repositories, made by the git command in temporary folders.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::vault::Vault;

/// A repository with a vault beside it.
pub(crate) struct Fixture {
    folder: TempDir,
    pub(crate) top: PathBuf,
    pub(crate) vault: Vault,
}

/// One changed path: mode and id before and after.
pub(crate) type Versions = (Option<(u32, String)>, Option<(u32, String)>);

/// Inode, mode, mtime, ctime and bytes.
pub(crate) type FileState = (u64, u32, (i64, i64), (i64, i64), Vec<u8>);

impl Fixture {
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    pub(crate) fn with(init: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap().join("repo");
        let vault = Vault::open(&folder.path().join("vault")).unwrap();
        fs::create_dir(&top).unwrap();
        let fixture = Self { folder, top, vault };
        fixture.git([&["init", "-q", "-b", "main"], init].concat());
        fixture
    }

    /// A folder beside the repository.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn git(&self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> String {
        git_in(&self.top, args)
    }

    pub(crate) fn write(&self, path: impl AsRef<[u8]>, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn path(&self, path: impl AsRef<[u8]>) -> PathBuf {
        self.top.join(OsStr::from_bytes(path.as_ref()))
    }

    pub(crate) fn chmod(&self, path: &str, mode: u32) {
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Commits everything.
    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(["add", "-A"]);
        self.git(["commit", "-q", "--allow-empty", "-m", message]);
        self.git(["rev-parse", "HEAD"]).trim().to_owned()
    }

    /// What git says a commit of everything would change, without touching the repository.
    pub(crate) fn expected(&self) -> BTreeMap<Vec<u8>, Versions> {
        let scratch = tempfile::tempdir().unwrap();
        let git_dir = PathBuf::from(self.git(["rev-parse", "--absolute-git-dir"]).trim_end());
        let index = scratch.path().join("index");
        if git_dir.join("index").exists() {
            fs::copy(git_dir.join("index"), &index).unwrap();
            // Git takes a file for untouched when it is older than the index, so the copy keeps its age.
            let age = fs::metadata(git_dir.join("index")).unwrap().modified().unwrap();
            fs::File::options().append(true).open(&index).unwrap().set_modified(age).unwrap();
        }
        let objects = scratch.path().join("objects");
        fs::create_dir(&objects).unwrap();
        let common = PathBuf::from(self.git(["rev-parse", "--path-format=absolute", "--git-common-dir"]).trim_end());
        let run = |args: &[&str]| {
            let mut command = command(&self.top, args);
            command
                .env("GIT_INDEX_FILE", &index)
                .env("GIT_OBJECT_DIRECTORY", &objects)
                .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", common.join("objects"));
            output(command)
        };
        run(&["add", "-A"]);
        let born = command(&self.top, ["rev-parse", "-q", "--verify", "HEAD"]).output().unwrap().status.success();
        let base = if born { "HEAD".to_owned() } else { self.git(["hash-object", "-t", "tree", "/dev/null"]).trim().to_owned() };
        let raw = run(&["diff-index", "--cached", "--raw", "-z", "--no-renames", "--abbrev=64", &base]);
        let mut fields = raw.split(|&byte| byte == 0).filter(|field| !field.is_empty());
        let mut changes = BTreeMap::new();
        while let (Some(meta), Some(path)) = (fields.next(), fields.next()) {
            let meta = String::from_utf8(meta[1..].to_vec()).unwrap();
            let words: Vec<_> = meta.split(' ').collect();
            let side = |mode: &str, id: &str| {
                let mode = u32::from_str_radix(mode, 8).unwrap();
                (mode != 0).then(|| (mode, id.to_owned()))
            };
            changes.insert(path.to_vec(), (side(words[0], words[2]), side(words[1], words[3])));
        }
        changes
    }

    /// Every file under `.git`: bytes, mode, inode and times.
    pub(crate) fn git_dir_state(&self) -> BTreeMap<PathBuf, FileState> {
        let mut state = BTreeMap::new();
        let mut open = vec![self.top.join(".git")];
        while let Some(folder) = open.pop() {
            let mut all = vec![folder.clone()];
            all.extend(fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()));
            for path in all {
                let found = path.symlink_metadata().unwrap();
                let bytes = if found.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
                if found.is_dir() && path != folder {
                    open.push(path.clone());
                }
                state.insert(
                    path,
                    (found.ino(), found.mode(), (found.mtime(), found.mtime_nsec()), (found.ctime(), found.ctime_nsec()), bytes),
                );
            }
        }
        state
    }
}

fn command(folder: &Path, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new("git");
    command.current_dir(folder).env_clear();
    for (name, value) in [
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_AUTHOR_NAME", "Author"),
        ("GIT_AUTHOR_EMAIL", "author@example.org"),
        ("GIT_AUTHOR_DATE", "1700000000 +0000"),
        ("GIT_COMMITTER_NAME", "Author"),
        ("GIT_COMMITTER_EMAIL", "author@example.org"),
        ("GIT_COMMITTER_DATE", "1700000000 +0000"),
        ("LC_ALL", "C"),
    ] {
        command.env(name, value);
    }
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command.args(["-c", "protocol.file.allow=always", "-c", "advice.addEmbeddedRepo=false", "-c", "core.safecrlf=false"]).args(args);
    command
}

fn output(mut command: Command) -> Vec<u8> {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Runs git in a folder and returns what it printed.
pub(crate) fn git_in(folder: &Path, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> String {
    String::from_utf8_lossy(&output(command(folder, args))).into_owned()
}

//! Repositories, random but repeatable edits, and applying a change to a tree.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use st_model::change::{ChangeBody, ChangeSet, ChangeStatus, FileChange, Hunk};
use st_model::version::FileMode;
use st_runner::diff::apply;

/// A repeatable source of choices.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        // xorshift64*, which needs a seed other than zero.
        self.0 = self.0.max(1);
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap() % end.max(1)
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// A tree: path to mode and bytes.
pub(crate) type Tree = BTreeMap<Vec<u8>, (FileMode, Vec<u8>)>;

/// A git repository in a temporary folder, blind to the machine's configuration.
pub(crate) struct Repo {
    dir: tempfile::TempDir,
}

impl Repo {
    pub(crate) fn new() -> Self {
        let repo = Self { dir: tempfile::tempdir().unwrap() };
        repo.git(["init", "-q", "-b", "main"]);
        repo
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn file(&self, name: &[u8]) -> PathBuf {
        self.path().join(OsStr::from_bytes(name))
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new("git");
        command
            .current_dir(self.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_DATE", "2024-05-01T10:00:00Z")
            .env("GIT_COMMITTER_DATE", "2024-05-01T10:00:00Z")
            .args(["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "core.autocrlf=false"])
            .args(["-c", "core.safecrlf=false", "-c", "protocol.file.allow=always", "-c", "commit.gpgsign=false"]);
        command
    }

    pub(crate) fn git<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, args: I) -> Vec<u8> {
        let output = self.command().args(args).output().unwrap();
        assert!(output.status.success(), "git: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    /// Feeds `input` to a git command; its error text when it fails.
    pub(crate) fn feed(&self, args: &[&str], input: &[u8]) -> Result<Vec<u8>, String> {
        use std::io::Write as _;
        let mut child = self.command().args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        if output.status.success() { Ok(output.stdout) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
    }

    /// Makes the work tree hold exactly `tree` and commits it.
    pub(crate) fn commit(&self, tree: &Tree, message: &str) -> String {
        for entry in std::fs::read_dir(self.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().is_some_and(|name| name == ".git") {
                continue;
            }
            if path.is_dir() && !path.is_symlink() { std::fs::remove_dir_all(path).unwrap() } else { std::fs::remove_file(path).unwrap() }
        }
        for (name, (mode, bytes)) in tree {
            self.put(name, *mode, bytes);
        }
        self.git(["add", "-A"]);
        self.git(["commit", "-q", "--allow-empty", "-m", message]);
        String::from_utf8(self.git(["rev-parse", "HEAD"])).unwrap().trim().to_owned()
    }

    pub(crate) fn put(&self, name: &[u8], mode: FileMode, bytes: &[u8]) {
        let path = self.file(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = std::fs::remove_file(&path);
        match mode {
            FileMode::Symlink => std::os::unix::fs::symlink(OsStr::from_bytes(bytes), &path).unwrap(),
            FileMode::Regular | FileMode::Executable => {
                std::fs::write(&path, bytes).unwrap();
                let bits = if mode == FileMode::Executable { 0o755 } else { 0o644 };
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(bits)).unwrap();
            }
            FileMode::Gitlink => panic!("a submodule is no file"),
        }
    }
}

/// The tree after `change`, whose binary files are taken from `target`.
pub(crate) fn apply_to_tree(change: &ChangeSet, base: &Tree, target: &Tree) -> Result<Tree, String> {
    let mut tree = base.clone();
    for file in &change.files {
        if matches!(file.status, ChangeStatus::Deleted | ChangeStatus::Renamed) {
            tree.remove(file.old_path.as_bytes());
        }
    }
    for file in &change.files {
        let (old, new) = (file.old_path.as_bytes(), file.path.as_bytes());
        let fail = |why: String| format!("{}: {why}", file.path);
        let before = match file.status {
            ChangeStatus::Added => (FileMode::Regular, Vec::new()),
            _ => base.get(old).cloned().ok_or_else(|| fail("not in the base".into()))?,
        };
        let none: &[Hunk] = &[];
        let bytes = match &file.body {
            ChangeBody::Text { hunks } => apply(&before.1, hunks).map_err(|error| fail(error.to_string()))?,
            ChangeBody::Empty => apply(&before.1, none).map_err(|error| fail(error.to_string()))?,
            ChangeBody::Binary { .. } | ChangeBody::Submodule { .. } => target.get(new).map(|file| file.1.clone()).unwrap_or_default(),
        };
        if file.status == ChangeStatus::Deleted {
            if !bytes.is_empty() && matches!(file.body, ChangeBody::Text { .. }) {
                return Err(fail("lines are left of a deleted file".into()));
            }
            continue;
        }
        let mode = file.new_mode.unwrap_or(before.0);
        tree.insert(new.to_vec(), (mode, bytes));
    }
    Ok(tree)
}

/// What differs between two trees, in words.
pub(crate) fn difference(got: &Tree, wanted: &Tree) -> Option<String> {
    let names: std::collections::BTreeSet<_> = got.keys().chain(wanted.keys()).collect();
    names.into_iter().find(|name| got.get(*name) != wanted.get(*name)).map(|name| {
        let show = |tree: &Tree| tree.get(name).map(|(mode, bytes)| format!("{mode:?} {:?}", String::from_utf8_lossy(bytes)));
        format!("{}: got {:?}, wanted {:?}", String::from_utf8_lossy(name), show(got), show(wanted))
    })
}

/// A line of text, often one that comes again.
pub(crate) fn line(dice: &mut Dice) -> Vec<u8> {
    match dice.below(12) {
        0 => b"".to_vec(),
        1 => b"}".to_vec(),
        2 => b"--".to_vec(),
        3 => b"++ x".to_vec(),
        4 => b"-- a/x".to_vec(),
        5 => b"caf\xe9".to_vec(),
        6 => b"    return;\r".to_vec(),
        7 => b"diff --git a/x b/x".to_vec(),
        8 => b"@@ -1,2 +1,2 @@".to_vec(),
        _ => format!("fn name_{}() {{", dice.below(50)).into_bytes(),
    }
}

pub(crate) fn text(dice: &mut Dice, lines: usize) -> Vec<u8> {
    let mut all: Vec<u8> = Vec::new();
    for _ in 0..lines {
        all.extend(line(dice));
        all.push(b'\n');
    }
    if lines > 0 && dice.one_in(4) {
        all.pop();
    }
    all
}

/// `old` with a few lines changed, put in or taken out.
pub(crate) fn edit(dice: &mut Dice, old: &[u8]) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = old.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    for _ in 0..=dice.below(4) {
        let at = dice.below(lines.len() + 1);
        let fresh = [line(dice), b"\n".to_vec()].concat();
        match dice.below(5) {
            0 if at < lines.len() => {
                lines.remove(at);
            }
            1 if at < lines.len() => lines[at] = fresh,
            2 if at < lines.len() && lines[at].ends_with(b"\n") && !lines[at].ends_with(b"\r\n") => {
                let end = lines[at].len() - 1;
                lines[at].insert(end, b'\r');
            }
            3 => {
                if let Some(last) = lines.last_mut() {
                    if last.ends_with(b"\n") { last.truncate(last.len() - 1) } else { last.push(b'\n') }
                }
            }
            _ => {
                if let Some(before) = at.checked_sub(1).and_then(|index| lines.get_mut(index))
                    && !before.ends_with(b"\n")
                {
                    before.push(b'\n');
                }
                lines.insert(at, fresh);
            }
        }
    }
    lines.retain(|line| !line.is_empty());
    lines.concat()
}

const NAMES: &[&[u8]] = &[
    b"src/main.rs",
    b"a b/with space.txt",
    b"b/x b/x",
    b"quote\".txt",
    b"tab\there.txt",
    b"new\nline.txt",
    b"back\\slash.c",
    b"caf\xc3\xa9.txt",
    b"latin\xe9.txt",
    b"deep/er/and/deeper/file.go",
    b"x",
    b"dev/null",
    b"a/b/c",
    b"-- a",
    b" lead and trail ",
    b"report 2024-01-01 10.txt",
    b"x (revision 3)",
    b"and differ and x",
];

/// The next version of a tree.
pub(crate) fn grow(dice: &mut Dice, tree: &Tree) -> Tree {
    let mut next = tree.clone();
    for _ in 0..=dice.below(4) {
        let names: Vec<Vec<u8>> = next.keys().cloned().collect();
        let some = (!names.is_empty()).then(|| names[dice.below(names.len())].clone());
        let fresh = NAMES[dice.below(NAMES.len())].to_vec();
        match (dice.below(12), some) {
            (0..=2, _) | (_, None) => {
                let blocked = next.keys().any(|name| {
                    name.starts_with(&[fresh.as_slice(), b"/"].concat()) || fresh.starts_with(&[name.as_slice(), b"/"].concat())
                });
                if !blocked {
                    let lines = if dice.one_in(6) { 0 } else { dice.below(60) };
                    let mode = if dice.one_in(5) { FileMode::Executable } else { FileMode::Regular };
                    next.entry(fresh).or_insert((mode, text(dice, lines)));
                }
            }
            (3, Some(name)) => {
                next.remove(&name);
            }
            (4, Some(name)) => {
                let blocked = next.keys().any(|other| {
                    *other == fresh
                        || other.starts_with(&[fresh.as_slice(), b"/"].concat())
                        || fresh.starts_with(&[other.as_slice(), b"/"].concat())
                });
                if !blocked && let Some(mut file) = next.remove(&name) {
                    if dice.one_in(2) && file.0 != FileMode::Symlink {
                        file.1 = edit(dice, &file.1);
                    }
                    next.insert(fresh, file);
                }
            }
            (5, Some(name)) => {
                if let Some((mode, _)) = next.get_mut(&name) {
                    *mode = match *mode {
                        FileMode::Regular => FileMode::Executable,
                        FileMode::Executable => FileMode::Regular,
                        mode => mode,
                    };
                }
            }
            (6, Some(name)) => {
                let target = format!("target-{}", dice.below(3)).into_bytes();
                next.insert(name, (FileMode::Symlink, target));
            }
            (7, Some(name)) => {
                let bytes = (0..dice.below(300)).flat_map(|_| dice.next().to_le_bytes()).chain([0]).collect();
                next.insert(name, (FileMode::Regular, bytes));
            }
            (_, Some(name)) => {
                if let Some((mode, bytes)) = next.get_mut(&name)
                    && *mode != FileMode::Symlink
                {
                    *bytes = edit(dice, bytes);
                }
            }
        }
    }
    next
}

/// Added and removed lines of one file, as `git diff --numstat` counts.
pub(crate) fn counts(file: &FileChange) -> Option<(u64, u64)> {
    match &file.body {
        ChangeBody::Text { .. } | ChangeBody::Empty => Some(file.line_counts()),
        ChangeBody::Submodule { old, new } => Some((u64::from(new.is_some()), u64::from(old.is_some()))),
        ChangeBody::Binary { .. } => None,
    }
}

//! Finding a git repository and its branches by looking, without running git.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use st_model::review::ReviewSource;

use super::{Classified, nearest, shown_name};
use crate::{ErrorCode, Problem};

/// A git repository as seen from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Repository {
    root: PathBuf,
    /// Where HEAD is: `.git`, or the folder that a `.git` file names.
    git_dir: PathBuf,
    /// Where branches are; differs from `git_dir` in a linked work tree.
    common_dir: PathBuf,
    bare: bool,
}

impl Repository {
    /// The repository whose top is `path` itself.
    pub(super) fn at(path: &Path) -> Option<Self> {
        let path = path.canonicalize().ok()?;
        let dot_git = path.join(".git");
        if is_git_dir(&dot_git) {
            return Some(Self { root: path, common_dir: common_dir(&dot_git), git_dir: dot_git, bare: false });
        }
        if dot_git.is_file() {
            let text = read_small(&dot_git)?;
            let git_dir = path.join(text.strip_prefix("gitdir:")?.trim());
            return is_git_dir(&git_dir).then(|| Self { root: path, common_dir: common_dir(&git_dir), git_dir, bare: false });
        }
        let bare = is_git_dir(&path) && path.file_name().is_none_or(|name| name != ".git");
        bare.then(|| Self { root: path.clone(), git_dir: path.clone(), common_dir: path, bare: true })
    }

    /// The repository that `path` is in.
    pub(super) fn discover(path: &Path) -> Option<Self> {
        path.canonicalize().ok()?.ancestors().find_map(Self::at)
    }

    /// Its top folder.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Whether it has no work tree.
    pub(super) fn is_bare(&self) -> bool {
        self.bare
    }

    /// What people call it: the folder's name, without `.git`.
    pub(super) fn name(&self) -> String {
        let name = shown_name(&self.root);
        name.strip_suffix(".git").filter(|stem| !stem.is_empty()).map_or(name.clone(), str::to_owned)
    }

    /// The branch that is checked out; `None` when HEAD is detached.
    pub(super) fn current_branch(&self) -> Option<String> {
        let head = read_small(&self.git_dir.join("HEAD"))?;
        head.strip_prefix("ref: refs/heads/").map(|name| name.trim().to_owned())
    }

    /// Names of branches (remote ones as `origin/x`), sorted.
    pub(super) fn branches(&self) -> Vec<String> {
        let mut names = BTreeSet::new();
        for (start, folder) in [("refs/heads/", "refs/heads"), ("refs/remotes/", "refs/remotes")] {
            loose_refs(&self.common_dir.join(folder), "", &mut names, 0);
            names.extend(self.packed_refs().iter().filter_map(|name| name.strip_prefix(start)).map(str::to_owned));
        }
        names.into_iter().collect()
    }

    /// Whether there is a branch of that name, local or remote.
    ///
    /// A repository that keeps its refs in another form than files can't be looked into; there
    /// any plain name counts, and pinning tells.
    pub(super) fn has_branch(&self, name: &str) -> bool {
        self.refs_are_hidden() || self.has_ref(&format!("refs/heads/{name}")) || self.has_ref(&format!("refs/remotes/{name}"))
    }

    /// Refuses a revision that is plainly unknown. What needs git to decide passes.
    pub(super) fn check_revision(&self, revision: &str) -> Result<(), Problem> {
        let plain =
            !revision.contains(['~', '^', '@', ':', '{']) && !matches!(revision, "HEAD" | "FETCH_HEAD" | "ORIG_HEAD" | "MERGE_HEAD");
        let may_be_commit = (4..=64).contains(&revision.len()) && revision.bytes().all(|byte| byte.is_ascii_hexdigit());
        let may_be_described = revision.contains("-g");
        if !plain || may_be_commit || may_be_described || self.refs_are_hidden() {
            return Ok(());
        }
        let spellings = ["", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"];
        let remote_head = format!("refs/remotes/{revision}/HEAD");
        if spellings.iter().any(|start| self.has_ref(&format!("{start}{revision}"))) || self.has_ref(&remote_head) {
            return Ok(());
        }
        let mut names = self.branches();
        let mut tags = BTreeSet::new();
        loose_refs(&self.common_dir.join("refs/tags"), "", &mut tags, 0);
        names.extend(tags);
        names.extend(self.packed_refs().iter().filter_map(|name| name.strip_prefix("refs/tags/")).map(str::to_owned));
        let fix = match nearest(revision, names.iter().map(String::as_str)) {
            Some(near) => format!("Did you mean `{near}`?"),
            None => "Name a branch, a tag or a commit that `git log` shows.".to_owned(),
        };
        Err(Problem::refused(ErrorCode::UnknownRevision, format!("`{}` has no revision `{revision}`", self.name()), fix))
    }

    /// A review of a branch of this repository.
    pub(super) fn branch(&self, branch: &str, base: Option<&str>) -> Classified {
        let name = self.name();
        let (title, against) = match base {
            Some(base) => (format!("{name}: {branch} against {base}"), format!("`{base}`")),
            None => (format!("{name}: {branch}"), "its default branch".to_owned()),
        };
        Classified {
            source: ReviewSource::Branch { repo: self.root.clone(), branch: branch.to_owned(), base: base.map(str::to_owned) },
            title,
            summary: format!("branch {branch} of {name} against {against}"),
        }
    }

    fn has_ref(&self, full: &str) -> bool {
        let fits = full.starts_with("refs/") && !full.split('/').any(|part| matches!(part, "" | "." | ".."));
        let loose = fits && [&self.git_dir, &self.common_dir].iter().any(|dir| dir.join(full).is_file());
        loose || self.packed_refs().iter().any(|name| name == full)
    }

    fn refs_are_hidden(&self) -> bool {
        self.common_dir.join("reftable").is_dir()
    }

    fn packed_refs(&self) -> Vec<String> {
        let text = read_small(&self.common_dir.join("packed-refs")).unwrap_or_default();
        let lines = text.lines().filter(|line| !line.starts_with(['#', '^']));
        lines.filter_map(|line| line.split_once(' ')).map(|(_, name)| name.trim().to_owned()).collect()
    }
}

/// Whether `path` has the layout of a git directory.
fn is_git_dir(path: &Path) -> bool {
    let head = path.join("HEAD");
    let has_head = head.is_file() || head.is_symlink();
    has_head && (path.join("commondir").is_file() || (path.join("objects").is_dir() && path.join("refs").exists()))
}

fn common_dir(git_dir: &Path) -> PathBuf {
    match read_small(&git_dir.join("commondir")) {
        Some(text) => git_dir.join(text.trim()),
        None => git_dir.to_owned(),
    }
}

/// A small text file of a git directory. Special files are not opened; more than 8 MiB (some
/// hundred thousand refs) is not read.
fn read_small(path: &Path) -> Option<String> {
    let metadata = std::fs::metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > 8 << 20 {
        return None;
    }
    std::fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Collects the names of loose refs under `folder`.
fn loose_refs(folder: &Path, prefix: &str, names: &mut BTreeSet<String>, depth: usize) {
    /// Bounds that keep a hostile `.git` from taking long.
    const DEEPEST: usize = 12;
    const MOST: usize = 20_000;
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.filter_map(Result::ok) {
        let (Ok(kind), Some(name)) = (entry.file_type(), entry.file_name().to_str().map(str::to_owned)) else { continue };
        if names.len() >= MOST {
            return;
        }
        let full = format!("{prefix}{name}");
        if kind.is_dir() && depth < DEEPEST {
            loose_refs(&entry.path(), &format!("{full}/"), names, depth + 1);
        } else if kind.is_file() {
            names.insert(full);
        }
    }
}

//! Which paths of a working tree may differ from HEAD.
//!
//! The net change is what a commit of everything would hold: staged and unstaged together,
//! untracked files included, ignored ones not. The index is used for two things: the paths that
//! were added to it, and the stat data by which a file is known to be untouched without reading it.

use std::collections::BTreeSet;
use std::path::Path;

use gix::ObjectId;
use gix::index::entry::stat::Options as StatOptions;
use gix::index::entry::{Flags, Mode, Stage, Stat};
use st_model::path::RepoPath;
use st_model::problem::{ErrorCode, Problem};
use st_model::version::FileMode;

use super::ignored::Ignored;
use super::repository::{Repository, refuse_traps};
use super::tree::{Files, TreeFile};
use super::walk::{Found, Tracked, Walk, explain};
use crate::disk::{Folder, Kind, Stamp};
use crate::pin::chain;

/// A path that may differ from HEAD.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) path: RepoPath,
    /// In HEAD.
    pub(crate) old: Option<TreeFile>,
    /// The mode git last knew, for systems whose disk does not tell.
    pub(crate) known: Option<FileMode>,
    /// Where the version after is.
    pub(crate) new: Where,
}

/// Where the version after of a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    /// On disk, to be read.
    Disk,
    /// In the object store: a submodule's commit, or a path that is not checked out.
    Store(TreeFile),
    /// Nowhere.
    Gone,
    /// A FIFO, socket or device lies there.
    Special(&'static str),
}

/// All that may differ.
#[derive(Debug)]
pub(crate) struct Candidates {
    pub(crate) paths: Vec<Candidate>,
    pub(crate) found: Found,
    /// Paths that are unmerged in the index.
    pub(crate) unmerged: usize,
}

/// A path of the index.
struct Indexed {
    file: TreeFile,
    stat: Option<Stat>,
    /// Not looked at on disk: outside a sparse checkout, or declared unchanged by the user.
    fixed: bool,
    sparse: bool,
}

struct Index {
    files: std::collections::BTreeMap<Vec<u8>, Indexed>,
    unmerged: BTreeSet<Vec<u8>>,
    file: Option<gix::index::File>,
}

impl Repository {
    /// Compares HEAD, index and working tree by name and stat.
    pub(crate) fn candidates(
        &self,
        top: &Folder,
        head: &Files,
        most_untracked: usize,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Candidates, Problem> {
        let index = self.index()?;
        let mut tracked = Tracked::default();
        for (path, entry) in &index.files {
            tracked.add(path, entry.file.mode == FileMode::Gitlink);
        }
        let info = self.git.common_dir().join("info/exclude");
        let ignore_files: Vec<_> = self.settings.excludes_file.iter().cloned().chain([info]).collect();
        let ignored = Ignored::new(&ignore_files, self.settings.ignore_case);
        let walk = Walk { tracked: &tracked, ignored, most_untracked, skip: &[], cancelled, found: Found::default() };
        let found = walk.run(top).map_err(|stopped| explain(&stopped, || self.too_many_untracked(most_untracked)))?;

        let untracked: BTreeSet<&[u8]> = found.untracked.iter().map(Vec::as_slice).collect();
        let names: BTreeSet<&[u8]> = head.keys().chain(index.files.keys()).map(Vec::as_slice).chain(untracked.iter().copied()).collect();
        let mut paths = Vec::new();
        for name in names {
            let old = head.get(name).copied();
            let new = match index.files.get(name) {
                Some(entry) => self.tracked(name, entry, old, &found, &index),
                None if untracked.contains(name) => Some(Where::Disk),
                None => Some(Where::Gone),
            };
            let Some(new) = new else { continue };
            let same = match new {
                Where::Store(file) => old == Some(file),
                Where::Gone => old.is_none() || found.is_unknown(name),
                Where::Disk | Where::Special(_) => false,
            };
            if !same {
                let known = index.files.get(name).map(|entry| entry.file.mode).or(old.map(|file| file.mode));
                paths.push(Candidate { path: self.path(name)?, old, known, new });
            }
        }
        Ok(Candidates { paths, found, unmerged: index.unmerged.len() })
    }

    /// Where a path of the index is now, or none when it is sure to be what HEAD has.
    fn tracked(&self, name: &[u8], entry: &Indexed, old: Option<TreeFile>, found: &Found, index: &Index) -> Option<Where> {
        let stamp = found.tracked.get(name);
        if entry.fixed && !(entry.sparse && stamp.is_some() && self.settings.sparse) {
            return Some(Where::Store(entry.file));
        }
        let Some(stamp) = stamp else { return Some(Where::Gone) };
        if entry.file.mode == FileMode::Gitlink && stamp.kind == Kind::Folder {
            let id = self.submodule_head(name).unwrap_or(entry.file.id);
            return Some(Where::Store(TreeFile { mode: FileMode::Gitlink, id }));
        }
        if let Kind::Special(what) = stamp.kind {
            return Some(Where::Special(what));
        }
        let untouched = entry.stat.is_some_and(|stat| self.is_untouched(&stat, stamp, index))
            && self.mode_on_disk(stamp, Some(entry.file.mode)) == Some(entry.file.mode);
        if untouched && old == Some(entry.file) { None } else { Some(Where::Disk) }
    }

    /// The mode of what is on disk, as git would record it.
    pub(crate) fn mode_on_disk(&self, stamp: &Stamp, known: Option<FileMode>) -> Option<FileMode> {
        match stamp.kind {
            Kind::Link => Some(FileMode::Symlink),
            Kind::File if !self.settings.symlinks && known == Some(FileMode::Symlink) => Some(FileMode::Symlink),
            Kind::File if !self.settings.file_mode => Some(known.filter(|mode| *mode == FileMode::Executable).unwrap_or(FileMode::Regular)),
            Kind::File if stamp.executable() => Some(FileMode::Executable),
            Kind::File => Some(FileMode::Regular),
            Kind::Folder | Kind::Special(_) => None,
        }
    }

    /// Whether the index's stat data proves that a file has not been written to since.
    ///
    /// A file as young as the index itself proves nothing: it could have been written to again
    /// within the same tick of the file system's clock.
    fn is_untouched(&self, recorded: &Stat, stamp: &Stamp, index: &Index) -> bool {
        let options =
            StatOptions { trust_ctime: self.settings.trust_ctime, check_stat: self.settings.check_stat, use_nsec: true, use_stdev: false };
        let now = stat_of(stamp);
        index.file.as_ref().is_some_and(|file| recorded.matches(&now, options) && !recorded.is_racy(file.timestamp(), options))
    }

    fn submodule_head(&self, path: &[u8]) -> Option<ObjectId> {
        use gix::bstr::ByteSlice;
        let folder = self.top.as_deref()?.join(path.to_path().ok()?);
        if folder.join(".git").symlink_metadata().is_err() {
            return None;
        }
        refuse_traps(&self.name, &folder.join(".git")).ok()?;
        let options = gix::open::Options::isolated().with(gix::sec::Trust::Full);
        gix::open_opts(folder, options).ok()?.head_id().ok().map(gix::Id::detach)
    }

    fn index(&self) -> Result<Index, Problem> {
        let mut index = Index { files: Default::default(), unmerged: BTreeSet::new(), file: None };
        if !self.git.index_path().exists() {
            return Ok(index);
        }
        let file = self.git.open_index().map_err(|error| {
            Problem::no_change(
                ErrorCode::Unreadable,
                format!("the index of `{}` can't be read: {}", self.name, chain(&error)),
                "Run `git status` there; if git reads it, pipe the change instead: `git diff HEAD | sidetrack review -`.",
            )
        })?;
        for entry in file.entries() {
            let path = entry.path(&file);
            let sparse = entry.flags.contains(Flags::SKIP_WORKTREE);
            if entry.mode == Mode::DIR {
                // A sparse index folds what is not checked out into one entry.
                let mut folded = Files::new();
                self.flatten(entry.id, path.strip_suffix(b"/").unwrap_or(path), &mut folded)?;
                index.files.extend(folded.into_iter().map(|(path, file)| (path, Indexed { file, stat: None, fixed: true, sparse: true })));
                continue;
            }
            let Some(mode) = FileMode::from_git(entry.mode.bits()) else { continue };
            let merged = entry.stage() == Stage::Unconflicted;
            if !merged {
                index.unmerged.insert(path.to_vec());
            }
            let fixed = merged && (sparse || entry.flags.contains(Flags::ASSUME_VALID));
            let stat = (merged && !entry.flags.contains(Flags::INTENT_TO_ADD)).then_some(entry.stat);
            index.files.insert(path.to_vec(), Indexed { file: TreeFile { mode, id: entry.id }, stat, fixed, sparse });
        }
        index.file = Some(file);
        Ok(index)
    }

    fn too_many_untracked(&self, most: usize) -> Problem {
        Problem::no_change(
            ErrorCode::TooLarge,
            format!("`{}` has more than {most} untracked files that no ignore file names", self.name),
            "Add build output and downloaded packages to `.gitignore`; `git status` shows what is untracked.",
        )
        .or("Review only what is tracked: `git diff HEAD | sidetrack review -`.")
    }

    /// Folder with the top of the working tree, opened.
    pub(crate) fn open_top(&self) -> Result<Folder, Problem> {
        let Some(top) = self.top.as_deref() else {
            return Err(Problem::no_change(
                ErrorCode::NotARepository,
                format!("`{}` is a bare repository: it has no working tree, so there is no uncommitted work", self.name),
                "Review a range (`sidetrack review REPO@BASE..HEAD`) or a branch of it.",
            ));
        };
        Folder::open(top).map_err(|error| unreadable(top, &error))
    }
}

fn unreadable(folder: &Path, error: &std::io::Error) -> Problem {
    Problem::no_change(
        ErrorCode::Unreadable,
        format!("`{}` can't be read: {}", folder.display(), chain(error)),
        "Check its permissions, then submit it again.",
    )
}

/// Stat data as the index keeps it: the low 32 bits of each number.
fn stat_of(stamp: &Stamp) -> Stat {
    let low = |value: u64| u32::try_from(value & 0xffff_ffff).unwrap_or(0);
    let time = |(secs, nsecs): (i64, u32)| gix::index::entry::stat::Time { secs: u32::try_from(secs & 0xffff_ffff).unwrap_or(0), nsecs };
    Stat {
        mtime: time(stamp.mtime),
        ctime: time(stamp.ctime),
        dev: low(stamp.dev),
        ino: low(stamp.ino),
        uid: stamp.uid,
        gid: stamp.gid,
        size: low(stamp.size),
    }
}

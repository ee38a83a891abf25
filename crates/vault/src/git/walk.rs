//! Walking a folder: what is there, what is left alone, what can't be read.

use std::collections::{HashMap, HashSet};
use std::io;

use st_model::problem::Problem;

use super::ignored::{IGNORE_BYTES, Ignored};
use crate::disk::{self, Folder, Kind, Stamp};

/// Deepest nesting that is entered; each level holds one open folder.
const DEPTH: usize = 200;

/// What git tracks, for a walk.
#[derive(Debug, Default)]
pub(crate) struct Tracked {
    /// Files and links.
    pub(crate) files: HashSet<Vec<u8>>,
    /// Submodules.
    pub(crate) submodules: HashSet<Vec<u8>>,
    /// Every folder that holds one of them.
    pub(crate) folders: HashSet<Vec<u8>>,
}

impl Tracked {
    /// Adds a path.
    pub(crate) fn add(&mut self, path: &[u8], submodule: bool) {
        if submodule {
            self.submodules.insert(path.to_vec());
        } else {
            self.files.insert(path.to_vec());
        }
        let mut rest = path;
        while let Some(slash) = rest.iter().rposition(|&byte| byte == b'/') {
            rest = &rest[..slash];
            if !self.folders.insert(rest.to_vec()) {
                break;
            }
        }
    }
}

/// What a walk found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Tracked paths that are there.
    pub(crate) tracked: HashMap<Vec<u8>, Stamp>,
    /// Files and links that are neither tracked nor ignored, in order.
    pub(crate) untracked: Vec<Vec<u8>>,
    /// Repositories inside that are no submodules; not entered.
    pub(crate) nested: Vec<Vec<u8>>,
    /// What was not opened, and what it is: untracked FIFOs, sockets and devices, unreadable ignore files.
    pub(crate) special: Vec<(Vec<u8>, &'static str)>,
    /// Folders that could not be read, and why.
    pub(crate) unreadable: Vec<(Vec<u8>, String)>,
    /// Whether an ignore file kept anything out.
    pub(crate) ignored_any: bool,
}

impl Found {
    /// Whether a path could not be looked at, or lies in a folder that could not be read.
    pub(crate) fn is_unknown(&self, path: &[u8]) -> bool {
        let holds = |folder: &[u8]| match path.strip_prefix(folder) {
            Some(rest) => folder.is_empty() || rest.is_empty() || rest.starts_with(b"/"),
            None => false,
        };
        self.unreadable.iter().any(|(folder, _)| holds(folder))
    }
}

/// A walk under way.
pub(crate) struct Walk<'a> {
    /// What git tracks.
    pub(crate) tracked: &'a Tracked,
    /// The ignore files in force.
    pub(crate) ignored: Ignored,
    /// Most untracked files, before it is given up as too many.
    pub(crate) most_untracked: usize,
    /// Names that are passed over, beside `.git`.
    pub(crate) skip: &'a [&'a [u8]],
    /// Asked between folders.
    pub(crate) cancelled: &'a dyn Fn() -> bool,
    /// What was found so far.
    pub(crate) found: Found,
}

/// Why a walk ended early.
#[derive(Debug)]
pub(crate) enum Stopped {
    /// On request.
    Cancelled,
    /// There are more untracked files than allowed.
    TooMany,
}

impl Walk<'_> {
    /// Walks `folder`.
    pub(crate) fn run(mut self, folder: &Folder) -> Result<Found, Stopped> {
        self.folder(folder, b"", false, 0)?;
        Ok(self.found)
    }

    fn folder(&mut self, folder: &Folder, path: &[u8], inside_ignored: bool, depth: usize) -> Result<(), Stopped> {
        if (self.cancelled)() {
            return Err(Stopped::Cancelled);
        }
        let mut names = match folder.names() {
            Ok(names) => names,
            Err(error) => return self.unreadable(path, &error),
        };
        names.sort_unstable();
        let rules = if inside_ignored { Ok(None) } else { folder.small_file(b".gitignore", IGNORE_BYTES) };
        let entered = match rules {
            Ok(Some(bytes)) => self.ignored.enter(path, &bytes).is_ok(),
            Ok(None) => false,
            Err(_) => {
                self.found.special.push((join(path, b".gitignore"), "an ignore file that can't be read"));
                false
            }
        };
        for name in names.iter().filter(|name| name.as_slice() != b".git" && !self.skip.contains(&name.as_slice())) {
            self.entry(folder, name, &join(path, name), inside_ignored, depth)?;
        }
        if entered {
            self.ignored.leave();
        }
        Ok(())
    }

    fn entry(&mut self, folder: &Folder, name: &[u8], path: &[u8], inside_ignored: bool, depth: usize) -> Result<(), Stopped> {
        let stamp = match folder.stamp(name) {
            Ok(stamp) => stamp,
            Err(error) if disk::is_absent(&error) => return Ok(()),
            Err(error) => return self.unreadable(path, &error),
        };
        let is_folder = stamp.kind == Kind::Folder;
        let known = if is_folder {
            self.tracked.submodules.contains(path)
        } else {
            self.tracked.files.contains(path) || self.tracked.submodules.contains(path)
        };
        if known {
            self.found.tracked.insert(path.to_vec(), stamp);
            return Ok(());
        }
        let holds_tracked = is_folder && self.tracked.folders.contains(path);
        let ignored = inside_ignored || self.ignored.matches(path, is_folder);
        if ignored && !holds_tracked {
            self.found.ignored_any = true;
            return Ok(());
        }
        match stamp.kind {
            Kind::Folder => {
                let child = match folder.child(name) {
                    Ok(child) => child,
                    Err(error) if disk::is_absent(&error) => return Ok(()),
                    Err(error) => return self.unreadable(path, &error),
                };
                if !holds_tracked && is_repository(&child) {
                    self.found.nested.push(path.to_vec());
                    return Ok(());
                }
                if depth >= DEPTH {
                    self.found.unreadable.push((path.to_vec(), format!("it lies more than {DEPTH} folders deep")));
                    return Ok(());
                }
                self.folder(&child, path, ignored, depth + 1)
            }
            Kind::File | Kind::Link => {
                if self.found.untracked.len() >= self.most_untracked {
                    return Err(Stopped::TooMany);
                }
                self.found.untracked.push(path.to_vec());
                Ok(())
            }
            Kind::Special(what) => {
                self.found.special.push((path.to_vec(), what));
                Ok(())
            }
        }
    }

    fn unreadable(&mut self, path: &[u8], error: &io::Error) -> Result<(), Stopped> {
        self.found.unreadable.push((path.to_vec(), error.to_string()));
        Ok(())
    }
}

/// Whether a folder is the top of a repository of its own.
fn is_repository(folder: &Folder) -> bool {
    match folder.stamp(b".git").map(|stamp| stamp.kind) {
        Ok(Kind::File) => folder.small_file(b".git", 4096).ok().flatten().is_some_and(|bytes| bytes.starts_with(b"gitdir:")),
        Ok(Kind::Folder) => {
            folder.child(b".git").is_ok_and(|git| [&b"HEAD"[..], b"objects", b"refs"].iter().all(|name| git.stamp(name).is_ok()))
        }
        Ok(Kind::Link | Kind::Special(_)) | Err(_) => false,
    }
}

/// A path below another.
pub(crate) fn join(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() }
}

/// What a stopped walk means to the user.
pub(crate) fn explain(stopped: &Stopped, too_many: impl FnOnce() -> Problem) -> Problem {
    match stopped {
        Stopped::Cancelled => crate::pin::stopped(),
        Stopped::TooMany => too_many(),
    }
}

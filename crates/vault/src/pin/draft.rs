//! A frozen input in the making: files, ledger lines, notes, and the limits on all of them.

use std::collections::BTreeSet;

use gix::ObjectId;
use st_model::change::ChangeStatus;
use st_model::coverage::{CoverageEntry, CoverageStatus, SkipReason};
use st_model::path::RepoPath;
use st_model::problem::{ErrorCode, Problem};
use st_model::review::{PinnedFile, PinnedInput};
use st_model::version::{BlobId, FileMode, VersionPointer};

use super::{PinLimits, Pinned, megabytes, rename, storage};
use crate::git::repository::{Fetched, Repository};
use crate::git::tree::TreeFile;
use crate::vault::{Batch, Vault};

/// A frozen input in the making.
pub(super) struct Draft<'vault> {
    batch: Batch<'vault>,
    limits: PinLimits,
    name: String,
    files: Vec<PinnedFile>,
    decided: Vec<CoverageEntry>,
    aside: Vec<CoverageEntry>,
    notes: Vec<String>,
    commits: Vec<String>,
    config: Option<BlobId>,
    bytes: u64,
}

/// One version of a file, or why there is none to look at.
pub(super) enum Side {
    /// Frozen.
    Version(VersionPointer),
    /// The file is left out, with this ledger line.
    Decided(CoverageStatus),
}

impl<'vault> Draft<'vault> {
    pub(super) fn new(vault: &'vault Vault, limits: &PinLimits, name: &str) -> Self {
        Self {
            batch: vault.batch(),
            limits: *limits,
            name: name.to_owned(),
            files: Vec::new(),
            decided: Vec::new(),
            aside: Vec::new(),
            notes: Vec::new(),
            commits: Vec::new(),
            config: None,
            bytes: 0,
        }
    }

    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    pub(super) fn set_commits(&mut self, commits: Vec<String>) {
        self.commits = commits;
    }

    /// Freezes bytes; counts them against the limit on the whole.
    pub(super) fn keep(&mut self, bytes: &[u8]) -> Result<BlobId, Problem> {
        self.bytes = self.bytes.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        if self.bytes > self.limits.total_bytes {
            return Err(too_large(&self.name, &format!("more than {} in changed files", megabytes(self.limits.total_bytes))));
        }
        self.batch.put(bytes).map_err(|error| storage(&error))
    }

    /// Freezes the configuration of the base revision.
    pub(super) fn keep_config(&mut self, repository: &Repository, tree: ObjectId) -> Result<(), Problem> {
        let Some(file) = repository.top_file(tree, b".sidetrack.toml")? else { return Ok(()) };
        if !matches!(file.mode, FileMode::Regular | FileMode::Executable) {
            self.note("`.sidetrack.toml` of the base revision is no regular file and was not read");
            return Ok(());
        }
        match repository.blob(file.id, self.limits.file_bytes) {
            Fetched::Bytes(bytes) => self.config = Some(self.keep(&bytes)?),
            Fetched::TooLarge => self.note("`.sidetrack.toml` of the base revision is too large and was not read"),
            Fetched::Missing(why) => self.note(format!("`.sidetrack.toml` of the base revision was not read: {why}")),
        }
        Ok(())
    }

    /// Freezes a version that lies in a repository.
    pub(super) fn stored(&mut self, repository: &Repository, file: Option<TreeFile>) -> Result<Side, Problem> {
        let Some(TreeFile { mode, id }) = file else { return Ok(Side::Version(VersionPointer::Absent)) };
        if mode == FileMode::Gitlink {
            // A commit of a repository with longer ids does not fit a pointer.
            return Ok(match id.as_slice().try_into() {
                Ok(commit) => Side::Version(VersionPointer::Present { blob: BlobId(commit), mode }),
                Err(_) => Side::Decided(CoverageStatus::Skipped(SkipReason::Submodule)),
            });
        }
        Ok(match repository.blob(id, self.limits.file_bytes) {
            Fetched::Bytes(bytes) => Side::Version(VersionPointer::Present { blob: self.keep(&bytes)?, mode }),
            Fetched::TooLarge => Side::Decided(CoverageStatus::Skipped(SkipReason::TooLarge)),
            Fetched::Missing(why) => Side::Decided(CoverageStatus::Failed(why)),
        })
    }

    /// Lists what lies beside the change and was not looked at. It makes no change of its own:
    /// where nothing else is there, there is still nothing to review.
    pub(super) fn leave_aside(&mut self, file: RepoPath, reason: SkipReason) {
        self.aside.push(CoverageEntry { file, status: CoverageStatus::Skipped(reason) });
    }

    /// Leaves a file out, with a line in the ledger.
    pub(super) fn decide(&mut self, file: RepoPath, status: CoverageStatus) {
        self.decided.push(CoverageEntry { file, status });
    }

    /// Takes both versions of a file; refuses when there are too many.
    pub(super) fn add(&mut self, path: &RepoPath, old: Side, new: Side) -> Result<(), Problem> {
        if self.files.len() + self.decided.len() >= self.limits.files {
            return Err(too_many(&self.name, self.limits.files));
        }
        let (old, new) = match (old, new) {
            (Side::Version(old), Side::Version(new)) => (old, new),
            (Side::Decided(status), _) | (_, Side::Decided(status)) => {
                self.decide(path.clone(), status);
                return Ok(());
            }
        };
        let status = match (old, new) {
            (VersionPointer::Absent, VersionPointer::Absent) => return Ok(()),
            (VersionPointer::Absent, VersionPointer::Present { .. }) => ChangeStatus::Added,
            (VersionPointer::Present { .. }, VersionPointer::Absent) => ChangeStatus::Deleted,
            (VersionPointer::Present { mode: before, .. }, VersionPointer::Present { mode: after, .. }) if sort(before) != sort(after) => {
                ChangeStatus::TypeChanged
            }
            (before, after) if before == after => return Ok(()),
            (VersionPointer::Present { .. }, VersionPointer::Present { .. }) => ChangeStatus::Modified,
        };
        self.files.push(PinnedFile { status, old_path: path.clone(), path: path.clone(), old, new });
        Ok(())
    }

    /// Finds renames, makes everything durable, and refuses when nothing changed.
    pub(super) fn finish(mut self, nothing: impl FnOnce(&[String]) -> Problem, cancelled: &dyn Fn() -> bool) -> Result<Pinned, Problem> {
        if self.files.is_empty() && self.decided.is_empty() {
            return Err(nothing(&self.notes));
        }
        let batch = &self.batch;
        let note = rename::find(&mut self.files, &|id| batch.get(id).map_err(|error| storage(&error)), cancelled)?;
        self.notes.extend(note);
        self.files.sort_by(|a, b| a.path.cmp(&b.path).then_with(|| a.old_path.cmp(&b.old_path)));
        self.decided.append(&mut self.aside);
        self.decided.sort_by(|a, b| a.file.cmp(&b.file));
        let pointers = self.files.iter().flat_map(|file| [file.old, file.new]);
        let blobs: BTreeSet<BlobId> = pointers.filter_map(bytes_of).chain(self.config).collect();
        self.batch.commit(&blobs).map_err(|error| storage(&error))?;
        Ok(Pinned {
            input: PinnedInput::Files { files: self.files, commits: self.commits },
            config: self.config,
            decided: self.decided,
            blobs: blobs.into_iter().collect(),
            notes: self.notes,
        })
    }
}

/// The blob a pointer's bytes are in; a submodule's commit has none.
fn bytes_of(pointer: VersionPointer) -> Option<BlobId> {
    match pointer {
        VersionPointer::Present { mode: FileMode::Gitlink, .. } | VersionPointer::Absent => None,
        VersionPointer::Present { blob, mode: FileMode::Regular | FileMode::Executable | FileMode::Symlink } => Some(blob),
    }
}

/// Files, links and submodules: what makes a change one of type.
fn sort(mode: FileMode) -> u8 {
    match mode {
        FileMode::Regular | FileMode::Executable => 0,
        FileMode::Symlink => 1,
        FileMode::Gitlink => 2,
    }
}

/// The change has more files than a review takes.
pub(super) fn too_many(name: &str, most: usize) -> Problem {
    too_large(name, &format!("more than {most} changed files"))
}

fn too_large(name: &str, what: &str) -> Problem {
    Problem::no_change(
        ErrorCode::TooLarge,
        format!("`{name}` has {what}, more than one review takes"),
        "Review a part of it: `git diff BASE..HEAD -- FOLDER | sidetrack review -`.",
    )
    .or("Review fewer commits at a time: `sidetrack review REPO@BASE..HEAD`.")
    .or("Add generated files and downloaded packages to `.gitignore`.")
}

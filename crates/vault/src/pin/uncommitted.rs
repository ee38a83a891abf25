//! Freezing uncommitted work: HEAD against the working tree.

use std::io::{self, Read as _};

use st_model::coverage::{CoverageStatus, SkipReason};
use st_model::path::RepoPath;
use st_model::problem::{ErrorCode, Problem};
use st_model::version::{FileMode, VersionPointer};

use super::draft::{Draft, Side};
use super::rounds::{Read, read_all};
use super::{PinLimits, Pinned, listed, stopped};
use crate::disk::{self, Folder, Kind, Stamp};
use crate::git::eol::{self, Attributes};
use crate::git::lfs::Pointer;
use crate::git::repository::{Fetched, Repository};
use crate::git::tree::{Files, TreeFile};
use crate::git::worktree::{Candidate, Where};
use crate::hash::pump;
use crate::vault::Vault;

/// Times that HEAD may move before it is given up.
const ROUNDS: usize = 3;

/// Freezes uncommitted work.
pub(super) fn pin(vault: &Vault, repository: &Repository, limits: &PinLimits, cancelled: &dyn Fn() -> bool) -> Result<Pinned, Problem> {
    for _ in 0..ROUNDS {
        let head = repository.head_commit()?;
        let pinned = pin_at(vault, repository, head, limits, cancelled);
        if repository.head_commit()? == head {
            return pinned;
        }
    }
    Err(Problem::no_change(
        ErrorCode::Unreadable,
        format!("HEAD of `{}` kept moving while the files were read ({ROUNDS} rounds)", repository.name),
        "Wait until the rebase or script that commits there is done, then run the review again.",
    ))
}

fn pin_at(
    vault: &Vault,
    repository: &Repository,
    head: Option<gix::ObjectId>,
    limits: &PinLimits,
    cancelled: &dyn Fn() -> bool,
) -> Result<Pinned, Problem> {
    let top = repository.open_top()?;
    let mut draft = Draft::new(vault, limits, &repository.name);
    let mut files = Files::new();
    if let Some(head) = head {
        let tree = repository.tree_of(head)?;
        draft.keep_config(repository, tree)?;
        repository.flatten(tree, b"", &mut files)?;
    }
    let candidates = repository.candidates(&top, &files, limits.files, cancelled)?;
    for (folder, why) in &candidates.found.unreadable {
        match st_model::path::RepoPath::parse(folder) {
            Ok(path) => draft.decide(path, CoverageStatus::Failed(format!("it can't be read: {why}"))),
            Err(_) => {
                return Err(Problem::no_change(
                    ErrorCode::Unreadable,
                    format!("`{}` can't be read: {why}", repository.name),
                    "Check its permissions, then submit it again.",
                ));
            }
        }
    }
    note_found(&mut draft, &candidates.found);
    if candidates.unmerged > 0 {
        draft.note(format!("{} unmerged paths are reviewed as they lie in the working tree", candidates.unmerged));
    }
    let settings = &repository.settings;
    let info = eol::info_file(repository.git.common_dir());
    let reader = Reader {
        repository,
        top: &top,
        attributes: Attributes::new(&top, settings.attributes_file.as_deref(), &info, settings.auto_crlf, settings.ignore_case),
        limits,
        cancelled,
    };
    let (on_disk, elsewhere): (Vec<_>, Vec<_>) = candidates.paths.into_iter().partition(|candidate| candidate.new == Where::Disk);
    for candidate in elsewhere {
        let new = match candidate.new {
            Where::Store(file) => draft.stored(repository, Some(file))?,
            Where::Special(what) => Side::Decided(CoverageStatus::Failed(format!("{what} lies there now; it was not opened"))),
            Where::Gone | Where::Disk => Side::Version(VersionPointer::Absent),
        };
        let old = draft.stored(repository, candidate.old)?;
        draft.add(&candidate.path, old, new)?;
    }
    let mut filtered = Vec::new();
    let read = read_all(
        on_disk,
        |candidate| reader.read(candidate, &mut draft, &mut filtered),
        |candidate| top.stamp_beneath(candidate.path.as_bytes()).ok().filter(|stamp| stamp.kind != Kind::Folder),
        cancelled,
    )?;
    for (candidate, outcome) in read {
        let (old, new) = match outcome {
            None => (Side::Version(VersionPointer::Absent), Side::Decided(CoverageStatus::Skipped(SkipReason::ChangedWhileReading))),
            Some(Outcome::Unchanged) => continue,
            Some(Outcome::Changed { old: Some(old), new }) => (old, new),
            Some(Outcome::Changed { old: None, new }) => (draft.stored(repository, candidate.old)?, new),
        };
        draft.add(&candidate.path, old, new)?;
    }
    if !filtered.is_empty() {
        filtered.sort_unstable();
        filtered.dedup();
        draft.note(format!(
            "these pass through a git filter or encoding, which is never applied here, so they are compared as the bytes on disk: {}",
            listed(&filtered)
        ));
    }
    let name = &repository.name;
    draft.finish(
        |notes| {
            let problem = Problem::no_change(
                ErrorCode::NothingToReview,
                format!("`{name}` has no uncommitted changes"),
                format!("Review commits instead: `sidetrack review {name}@BASE..HEAD`, or a branch by its name."),
            );
            notes.iter().fold(problem, |problem, note| problem.or(format!("Note: {note}.")))
        },
        cancelled,
    )
}

/// Says what a walk passed over.
pub(super) fn note_found(draft: &mut Draft<'_>, found: &crate::git::walk::Found) {
    let names = |paths: &[Vec<u8>]| listed(&paths.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect::<Vec<_>>());
    if !found.nested.is_empty() {
        draft.note(format!("repositories inside that are no submodules were not entered: {}", names(&found.nested)));
        for path in &found.nested {
            let path = path.strip_suffix(b"/").unwrap_or(path);
            if let Ok(path) = RepoPath::parse(path) {
                draft.leave_aside(path, SkipReason::NestedRepository);
            }
        }
    }
    if !found.special.is_empty() {
        let special: Vec<String> = found.special.iter().map(|(path, what)| format!("{} ({what})", String::from_utf8_lossy(path))).collect();
        draft.note(format!("not opened, for they are no files: {}", listed(&special)));
    }
}

/// What reading a path of the working tree gave.
pub(super) enum Outcome {
    /// It holds what HEAD has.
    Unchanged,
    /// It holds something else. `old` is set when the version before is not the committed blob as it is.
    Changed { old: Option<Side>, new: Side },
}

struct Reader<'a> {
    repository: &'a Repository,
    top: &'a Folder,
    attributes: Attributes<'a>,
    limits: &'a PinLimits,
    cancelled: &'a dyn Fn() -> bool,
}

impl Reader<'_> {
    /// Reads what lies at a path now.
    fn read(&self, candidate: &Candidate, draft: &mut Draft<'_>, filtered: &mut Vec<String>) -> Result<Read<Outcome>, Problem> {
        let path = candidate.path.as_bytes();
        let failed = |stamp, error: &io::Error| Read {
            value: changed(Side::Decided(CoverageStatus::Failed(format!("it can't be read: {error}")))),
            stamp,
        };
        let gone = || {
            let value = if candidate.old.is_some() { changed(Side::Version(VersionPointer::Absent)) } else { Outcome::Unchanged };
            Read { value, stamp: None }
        };
        let (parent, name) = match self.top.parent_of(path) {
            Ok(found) => found,
            Err(error) if disk::is_absent(&error) => return Ok(gone()),
            Err(error) => return Ok(failed(None, &error)),
        };
        let folder = parent.as_ref().unwrap_or(self.top);
        let stamp = match folder.stamp(name) {
            Ok(stamp) => stamp,
            Err(error) if disk::is_absent(&error) => return Ok(gone()),
            Err(error) => return Ok(failed(None, &error)),
        };
        let value = match stamp.kind {
            Kind::Folder => return Ok(gone()),
            Kind::Special(what) => changed(Side::Decided(CoverageStatus::Failed(format!("{what} lies there now; it was not opened")))),
            Kind::Link => match folder.link_target(name) {
                Ok(target) => self.compare(candidate, FileMode::Symlink, &target, draft, filtered)?,
                Err(error) => return Ok(failed(Some(stamp), &error)),
            },
            Kind::File => match folder.file(name) {
                // Replaced between the two looks: the round's second stat will differ as well.
                Ok((_, opened)) if opened != stamp => Outcome::Unchanged,
                Ok((file, _)) => match self.file(candidate, file, &stamp, draft, filtered)? {
                    Ok(outcome) => outcome,
                    Err(error) => return Ok(failed(Some(stamp), &error)),
                },
                Err(error) if disk::is_absent(&error) => return Ok(gone()),
                Err(error) => return Ok(failed(Some(stamp), &error)),
            },
        };
        Ok(Read { value, stamp: Some(stamp) })
    }

    fn file(
        &self,
        candidate: &Candidate,
        file: std::fs::File,
        stamp: &Stamp,
        draft: &mut Draft<'_>,
        filtered: &mut Vec<String>,
    ) -> Result<io::Result<Outcome>, Problem> {
        let mode = self.repository.mode_on_disk(stamp, candidate.known).unwrap_or(FileMode::Regular);
        if stamp.size > self.limits.file_bytes {
            return self.large(candidate, mode, file, stamp);
        }
        let mut bytes = Vec::with_capacity(usize::try_from(stamp.size).unwrap_or(0));
        if let Err(error) = file.take(self.limits.file_bytes.saturating_add(1)).read_to_end(&mut bytes) {
            return Ok(Err(error));
        }
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) != stamp.size {
            // It grew or shrank under the reader; the round's second stat will say so too.
            return Ok(Ok(Outcome::Unchanged));
        }
        self.compare(candidate, mode, &bytes, draft, filtered).map(Ok)
    }

    /// A file too large to review is still told apart from one that did not change.
    fn large(&self, candidate: &Candidate, mode: FileMode, mut file: std::fs::File, stamp: &Stamp) -> Result<io::Result<Outcome>, Problem> {
        let too_large = Ok(changed(Side::Decided(CoverageStatus::Skipped(SkipReason::TooLarge))));
        let Some(old) = candidate.old.filter(|old| old.mode == mode) else { return Ok(too_large) };
        if let Fetched::Bytes(committed) = self.repository.blob(old.id, 1024) {
            let same = Pointer::parse(&committed).map(|pointer| pointer.stands_for(stamp.size, &mut file));
            return Ok(match same {
                Some(Ok(true)) => Ok(Outcome::Unchanged),
                Some(Ok(false)) | None => too_large,
                Some(Err(error)) => Err(error),
            });
        }
        let kind = self.repository.hash_kind();
        let mut hasher = gix::hash::hasher(kind);
        hasher.update(format!("blob {}\0", stamp.size).as_bytes());
        let mut stop = false;
        let read = pump(&mut file, |bytes| {
            hasher.update(bytes);
            stop = (self.cancelled)();
            if stop { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
        });
        if stop {
            return Err(stopped());
        }
        Ok(match read {
            Err(error) => Err(error),
            Ok(()) if hasher.try_finalize().is_ok_and(|id| id == old.id) => Ok(Outcome::Unchanged),
            Ok(()) => too_large,
        })
    }

    /// Compares bytes with what HEAD has, as git would after its own conversions.
    fn compare(
        &self,
        candidate: &Candidate,
        mode: FileMode,
        bytes: &[u8],
        draft: &mut Draft<'_>,
        filtered: &mut Vec<String>,
    ) -> Result<Outcome, Problem> {
        let mut old = None;
        if let Some(TreeFile { mode: old_mode, id }) = candidate.old {
            if old_mode != FileMode::Gitlink && self.repository.id_of(bytes) == id {
                if old_mode == mode {
                    return Ok(Outcome::Unchanged);
                }
            } else if is_file(old_mode) && is_file(mode) {
                match self.after_conversion(candidate, id, bytes, filtered) {
                    Converted::Same if old_mode == mode => return Ok(Outcome::Unchanged),
                    Converted::Same => old = Some(Side::Version(VersionPointer::Present { blob: draft.keep(bytes)?, mode: old_mode })),
                    Converted::Large => return Ok(changed(Side::Decided(CoverageStatus::Skipped(SkipReason::Binary)))),
                    Converted::Before(before) => {
                        old = Some(Side::Version(VersionPointer::Present { blob: draft.keep(&before)?, mode: old_mode }))
                    }
                    Converted::No => {}
                }
            }
        }
        let new = Side::Version(VersionPointer::Present { blob: draft.keep(bytes)?, mode });
        Ok(Outcome::Changed { old, new })
    }

    fn after_conversion(&self, candidate: &Candidate, id: gix::ObjectId, bytes: &[u8], filtered: &mut Vec<String>) -> Converted {
        let attributes = self.attributes.of(candidate.path.as_bytes());
        let committed = match self.repository.blob(id, self.limits.file_bytes) {
            Fetched::Bytes(committed) => committed,
            Fetched::TooLarge | Fetched::Missing(_) => return Converted::No,
        };
        if let Some(pointer) = Pointer::parse(&committed).filter(|_| Pointer::parse(bytes).is_none()) {
            let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            return if pointer.stands_for(size, &mut &bytes[..]).unwrap_or(false) { Converted::Same } else { Converted::Large };
        }
        if attributes.filter.is_some_and(|filter| filter != "lfs") {
            filtered.push(candidate.path.lossy());
        }
        match eol::to_git(attributes.conversion, bytes, &committed) {
            Some(converted) if self.repository.id_of(&converted) == id => Converted::Same,
            Some(_) => eol::as_checked_out(attributes.conversion, bytes, &committed).map_or(Converted::No, Converted::Before),
            None => Converted::No,
        }
    }
}

/// How bytes on disk compare with a blob once git's own conversions are taken into account.
enum Converted {
    /// They are the same.
    Same,
    /// The blob is a pointer to a large file, and another one lies on disk.
    Large,
    /// They differ; this is the blob with the line endings that the file on disk has.
    Before(Vec<u8>),
    /// No conversion applies.
    No,
}

fn changed(new: Side) -> Outcome {
    Outcome::Changed { old: None, new }
}

fn is_file(mode: FileMode) -> bool {
    match mode {
        FileMode::Regular | FileMode::Executable => true,
        FileMode::Symlink | FileMode::Gitlink => false,
    }
}

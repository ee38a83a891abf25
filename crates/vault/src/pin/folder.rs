//! Freezing a folder that is no repository: every file counts as added.

use std::io::Read as _;
use std::path::Path;

use st_model::coverage::{CoverageStatus, SkipReason};
use st_model::path::RepoPath;
use st_model::problem::{ErrorCode, Problem};
use st_model::version::{FileMode, VersionPointer};

use super::draft::{Draft, Side};
use super::rounds::{Read, read_all};
use super::uncommitted::note_found;
use super::{PinLimits, Pinned, chain};
use crate::disk::{self, Folder, Kind};
use crate::git::ignored::Ignored;
use crate::git::walk::{Found, Tracked, Walk, explain};
use crate::vault::Vault;

/// Where other version control systems keep their data.
const SKIP: &[&[u8]] = &[b".hg", b".svn", b".jj", b".bzr", b"CVS"];

/// Freezes all files of a folder.
pub(super) fn pin(vault: &Vault, path: &Path, limits: &PinLimits, cancelled: &dyn Fn() -> bool) -> Result<Pinned, Problem> {
    let name = path.display().to_string();
    let folder = Folder::open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Problem::no_change(
            ErrorCode::NotFound,
            format!("`{name}` is not there"),
            "Check the name; if the folder was moved, submit it again from where it is.",
        ),
        std::io::ErrorKind::NotADirectory => Problem::no_change(
            ErrorCode::UnsupportedInput,
            format!("`{name}` is no folder"),
            "Give a folder, a repository or a patch file.",
        ),
        _ => unreadable(&name, &chain(&error)),
    })?;
    let tracked = Tracked::default();
    let walk = Walk {
        tracked: &tracked,
        ignored: Ignored::new(&[], false),
        most_untracked: limits.files,
        skip: SKIP,
        cancelled,
        found: Found::default(),
    };
    let found = walk.run(&folder).map_err(|stopped| explain(&stopped, || too_many(&name, limits.files)))?;
    let mut draft = Draft::new(vault, limits, &name);
    draft.note(format!(
        "`{name}` is no git repository: every file in it counts as added; left out are version control's own folders{}",
        if found.ignored_any { " and what a `.gitignore` in it names" } else { " (a `.gitignore` in it could name more)" }
    ));
    for (at, why) in &found.unreadable {
        match RepoPath::parse(at) {
            Ok(file) => draft.decide(file, CoverageStatus::Failed(format!("it can't be read: {why}"))),
            Err(_) => return Err(unreadable(&name, why)),
        }
    }
    note_found(&mut draft, &found);
    let paths = found.untracked.iter().map(|path| RepoPath::parse(path)).collect::<Result<Vec<_>, _>>();
    let paths = paths.map_err(|error| unreadable(&name, &chain(&error)))?;
    let read = read_all(
        paths,
        |file| one(&folder, file, &mut draft, limits),
        |file| folder.stamp_beneath(file.as_bytes()).ok().filter(|stamp| stamp.kind != Kind::Folder),
        cancelled,
    )?;
    for (file, side) in read {
        let new = side.unwrap_or(Side::Decided(CoverageStatus::Skipped(SkipReason::ChangedWhileReading)));
        draft.add(&file, Side::Version(VersionPointer::Absent), new)?;
    }
    draft.finish(
        |notes| {
            let problem = Problem::no_change(
                ErrorCode::NothingToReview,
                format!("`{name}` holds no file to review"),
                "Give a folder with source files, a repository or a patch file.",
            );
            notes.iter().skip(1).fold(problem, |problem, note| problem.or(format!("Note: {note}.")))
        },
        cancelled,
    )
}

fn one(top: &Folder, file: &RepoPath, draft: &mut Draft<'_>, limits: &PinLimits) -> Result<Read<Side>, Problem> {
    let absent = || Read { value: Side::Version(VersionPointer::Absent), stamp: None };
    let failed =
        |stamp, error: &std::io::Error| Read { value: Side::Decided(CoverageStatus::Failed(format!("it can't be read: {error}"))), stamp };
    let (parent, name) = match top.parent_of(file.as_bytes()) {
        Ok(found) => found,
        Err(error) if disk::is_absent(&error) => return Ok(absent()),
        Err(error) => return Ok(failed(None, &error)),
    };
    let folder = parent.as_ref().unwrap_or(top);
    let stamp = match folder.stamp(name) {
        Ok(stamp) => stamp,
        Err(error) if disk::is_absent(&error) => return Ok(absent()),
        Err(error) => return Ok(failed(None, &error)),
    };
    let (mode, bytes) = match stamp.kind {
        Kind::Folder => return Ok(absent()),
        Kind::Special(what) => {
            let status = CoverageStatus::Failed(format!("{what} lies there now; it was not opened"));
            return Ok(Read { value: Side::Decided(status), stamp: Some(stamp) });
        }
        Kind::Link => (FileMode::Symlink, folder.link_target(name)),
        Kind::File if stamp.size > limits.file_bytes => {
            return Ok(Read { value: Side::Decided(CoverageStatus::Skipped(SkipReason::TooLarge)), stamp: Some(stamp) });
        }
        Kind::File => {
            let mode = if stamp.executable() { FileMode::Executable } else { FileMode::Regular };
            let read = folder.file(name).and_then(|(opened, _)| {
                let mut bytes = Vec::new();
                opened.take(limits.file_bytes.saturating_add(1)).read_to_end(&mut bytes).map(|_| bytes)
            });
            (mode, read)
        }
    };
    match bytes {
        Ok(bytes) => Ok(Read { value: Side::Version(VersionPointer::Present { blob: draft.keep(&bytes)?, mode }), stamp: Some(stamp) }),
        Err(error) => Ok(failed(Some(stamp), &error)),
    }
}

fn too_many(name: &str, most: usize) -> Problem {
    Problem::no_change(
        ErrorCode::TooLarge,
        format!("`{name}` holds more than {most} files, more than one review takes"),
        "Submit a folder inside it.",
    )
    .or("Put a `.gitignore` into it that names build output and downloaded packages.")
    .or("Make it a git repository (`git init`, then commit) and review only what changed.")
}

fn unreadable(name: &str, why: &str) -> Problem {
    Problem::no_change(ErrorCode::Unreadable, format!("`{name}` can't be read: {why}"), "Check its permissions, then submit it again.")
}

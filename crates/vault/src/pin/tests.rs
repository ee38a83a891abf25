//! Pinning, against real repositories. Git itself is the oracle: the change we freeze is the one
//! that `git add -A` in a scratch index would stage.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;

use rustix::fs::{CWD, FileType, Mode};
use st_model::change::ChangeStatus;
use st_model::coverage::{CoverageStatus, SkipReason};
use st_model::review::PinnedFile;
use st_model::version::{FileMode, VersionPointer};

use super::*;
use crate::git::fixture::{Fixture, Versions, git_in};

mod commits;
mod hostile;
mod random;
mod worktree;

/// Pins without any configuration of the machine's user.
fn pin_plain(vault: &Vault, source: &ReviewSource, limits: &PinLimits, cancelled: &dyn Fn() -> bool) -> Result<Pinned, Problem> {
    pin_in(&Surroundings::default(), vault, source, limits, cancelled)
}

fn uncommitted(fixture: &Fixture) -> Result<Pinned, Problem> {
    pin_plain(&fixture.vault, &ReviewSource::Uncommitted { repo: fixture.top.clone() }, &PinLimits::default(), &|| false)
}

fn files(pinned: &Pinned) -> &[PinnedFile] {
    match &pinned.input {
        PinnedInput::Files { files, .. } => files,
        PinnedInput::Patch { .. } => panic!("a repository is pinned as files"),
    }
}

fn commits_of(pinned: &Pinned) -> &[String] {
    match &pinned.input {
        PinnedInput::Files { commits, .. } => commits,
        PinnedInput::Patch { .. } => panic!("a repository is pinned as files"),
    }
}

/// `A path`, `R old -> path`, as git prints a change.
fn shown(pinned: &Pinned) -> Vec<String> {
    let letter = |status| match status {
        ChangeStatus::Added => 'A',
        ChangeStatus::Deleted => 'D',
        ChangeStatus::Modified => 'M',
        ChangeStatus::Renamed => 'R',
        ChangeStatus::Copied => 'C',
        ChangeStatus::TypeChanged => 'T',
    };
    files(pinned)
        .iter()
        .map(|file| {
            if file.old_path == file.path {
                format!("{} {}", letter(file.status), file.path)
            } else {
                format!("{} {} -> {}", letter(file.status), file.old_path, file.path)
            }
        })
        .collect()
}

fn bytes(fixture: &Fixture, pointer: VersionPointer) -> Vec<u8> {
    match pointer {
        VersionPointer::Present { blob, .. } => fixture.vault.get(blob).unwrap(),
        VersionPointer::Absent => panic!("absent"),
    }
}

/// The change in git's terms: a rename is a deletion and an addition.
fn as_git(pinned: &Pinned) -> BTreeMap<Vec<u8>, Versions> {
    let side = |pointer| match pointer {
        VersionPointer::Present { blob, mode } => Some((mode.git(), blob.to_string())),
        VersionPointer::Absent => None,
    };
    let mut changes: BTreeMap<Vec<u8>, Versions> = BTreeMap::new();
    for file in files(pinned) {
        changes.entry(file.old_path.as_bytes().to_vec()).or_default().0 = side(file.old);
        changes.entry(file.path.as_bytes().to_vec()).or_default().1 = side(file.new);
    }
    changes
}

/// What we freeze is what git would commit, every blob is in the vault, and `.git` is untouched.
fn check_against_git(fixture: &Fixture) -> Option<Pinned> {
    let expected = fixture.expected();
    let before = fixture.git_dir_state();
    let outcome = uncommitted(fixture);
    assert_eq!(before, fixture.git_dir_state(), "`.git` was written to");
    match outcome {
        Ok(pinned) => {
            assert_eq!(pinned.decided, []);
            assert_eq!(as_git(&pinned), expected);
            for blob in &pinned.blobs {
                fixture.vault.get(*blob).unwrap();
            }
            for pointer in files(&pinned).iter().flat_map(|file| [file.old, file.new]) {
                if let VersionPointer::Present { blob, mode: FileMode::Regular | FileMode::Executable | FileMode::Symlink } = pointer {
                    assert!(pinned.blobs.contains(&blob));
                }
            }
            Some(pinned)
        }
        Err(problem) => {
            assert_eq!(problem.code, ErrorCode::NothingToReview, "{problem:?}");
            assert_eq!(expected, BTreeMap::new());
            None
        }
    }
}

#[test]
fn a_root_that_holds_everything_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let data = home.join("data/sidetrack");
    let project = home.join("project");
    for path in [&data, &project] {
        std::fs::create_dir_all(path).unwrap();
    }
    let refused = |path: &Path| refuse_root(path, Some(&home), &data).map_err(|problem| problem.code);
    assert_eq!(refused(Path::new("/")), Err(ErrorCode::RefusedRoot));
    assert_eq!(refused(&home), Err(ErrorCode::RefusedRoot));
    assert_eq!(refused(&home.join("project/..")), Err(ErrorCode::RefusedRoot));
    assert_eq!(refused(&home.join("data")), Err(ErrorCode::RefusedRoot));
    assert_eq!(refused(&data), Err(ErrorCode::RefusedRoot));
    assert_eq!(refused(folder.path()), Err(ErrorCode::RefusedRoot), "above the home folder is above the data directory");
    assert_eq!(refused(&project), Ok(()));
    std::os::unix::fs::symlink(&home, home.join("project/up")).unwrap();
    assert_eq!(refused(&home.join("project/up")), Err(ErrorCode::RefusedRoot), "by another name");
}

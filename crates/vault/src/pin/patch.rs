//! Freezing a patch: a file, or text that is in the vault already.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use st_model::problem::{ErrorCode, Problem};
use st_model::review::PinnedInput;
use st_model::version::BlobId;

use super::{PinLimits, Pinned, chain, megabytes, stopped, storage};
use crate::disk::{self, Kind, Stamp};
use crate::error::VaultError;
use crate::vault::Vault;

/// Rounds of stat, copy, stat.
const ROUNDS: usize = 3;

/// Freezes text that the vault holds already.
pub(super) fn pin_text(vault: &Vault, blob: BlobId, label: &str, limits: &PinLimits) -> Result<Pinned, Problem> {
    let bytes = vault.get(blob).map_err(|error| storage(&error))?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limits.patch_bytes {
        return Err(too_large(label, limits));
    }
    check_head(label, &bytes)?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(empty(label));
    }
    Ok(pinned(blob))
}

/// Freezes a patch file.
pub(super) fn pin_file(vault: &Vault, path: &Path, limits: &PinLimits, cancelled: &dyn Fn() -> bool) -> Result<Pinned, Problem> {
    let name = path.display().to_string();
    for _ in 0..ROUNDS {
        if cancelled() {
            return Err(stopped());
        }
        let (mut file, before) = open(path, &name)?;
        if before.size > limits.patch_bytes {
            return Err(too_large(&name, limits));
        }
        let mut head = Vec::new();
        (&file).take(512).read_to_end(&mut head).and_then(|_| file.rewind()).map_err(|error| unreadable(&name, &error))?;
        check_head(&name, &head)?;
        let (blob, length) = match vault.put_reader(&mut file, limits.patch_bytes) {
            Ok(kept) => kept,
            Err(VaultError::OverLimit { .. }) => return Err(too_large(&name, limits)),
            Err(VaultError::Input(error)) => return Err(unreadable(&name, &error)),
            Err(error) => return Err(storage(&error)),
        };
        if unmoved(path, &file, before) {
            let blank = length <= 4096 && vault.get(blob).map_err(|error| storage(&error))?.iter().all(u8::is_ascii_whitespace);
            return if blank { Err(empty(&name)) } else { Ok(pinned(blob)) };
        }
    }
    Err(Problem::no_change(
        ErrorCode::Unreadable,
        format!("`{name}` kept changing while it was read ({ROUNDS} rounds)"),
        "Wait until the program that writes it is done, then submit it again.",
    ))
}

fn open(path: &Path, name: &str) -> Result<(File, Stamp), Problem> {
    match disk::stamp_named(path).map(|stamp| stamp.kind) {
        Ok(Kind::File) => disk::open_named(path).map_err(|error| unreadable(name, &error)),
        Ok(Kind::Folder) => Err(Problem::no_change(
            ErrorCode::UnsupportedInput,
            format!("`{name}` is a folder, not a patch"),
            "Submit the folder itself to review what it holds.",
        )),
        Ok(Kind::Special(what)) => Err(Problem::no_change(
            ErrorCode::UnsupportedInput,
            format!("`{name}` is {what}, not a file; it was not opened"),
            "Save the patch to a regular file, or pipe it: `git diff | sidetrack review -`.",
        )),
        Ok(Kind::Link) => Err(unreadable(name, &io::ErrorKind::InvalidInput.into())),
        Err(error) if disk::is_absent(&error) => Err(Problem::no_change(
            ErrorCode::NotFound,
            format!("`{name}` is not there"),
            "Check the name; if the file was moved or removed since, submit it again from where it is.",
        )),
        Err(error) => Err(unreadable(name, &error)),
    }
}

/// Whether the file is still what it was before it was copied: neither written to nor replaced.
fn unmoved(path: &Path, file: &File, before: Stamp) -> bool {
    let same = |now: io::Result<Stamp>| now.is_ok_and(|now| now == before);
    same(disk::stamp_of(file)) && same(disk::stamp_named(path))
}

fn pinned(blob: BlobId) -> Pinned {
    Pinned { input: PinnedInput::Patch { blob }, config: None, decided: Vec::new(), blobs: vec![blob], notes: Vec::new() }
}

fn empty(name: &str) -> Problem {
    Problem::no_change(
        ErrorCode::NothingToReview,
        format!("`{name}` is empty: there is nothing to review"),
        "Make the patch again; `git diff` prints nothing when there is no change.",
    )
}

fn too_large(name: &str, limits: &PinLimits) -> Problem {
    Problem::no_change(
        ErrorCode::TooLarge,
        format!("`{name}` is larger than {}, the most a patch may be", megabytes(limits.patch_bytes)),
        "Review the branch of the repository instead: `sidetrack review REPO@BASE..HEAD` skips large files one by one.",
    )
    .or("Split the patch: `git diff BASE..HEAD -- FOLDER`.")
    .or("Leave generated files out of it: `git diff BASE..HEAD -- . ':!FOLDER'`.")
}

fn unreadable(name: &str, error: &io::Error) -> Problem {
    Problem::no_change(
        ErrorCode::Unreadable,
        format!("`{name}` can't be read: {}", chain(error)),
        "Check its permissions, then submit it again.",
    )
}

/// First bytes by which a file that is no patch is recognised, and what to call it.
const SIGNATURES: &[(usize, &[u8], &str)] = &[
    (0, b"PK\x03\x04", "a zip archive"),
    (0, b"PK\x05\x06", "an empty zip archive"),
    (0, b"\x1f\x8b", "gzip data"),
    (0, b"BZh", "bzip2 data"),
    (0, b"\xfd7zXZ\0", "xz data"),
    (0, b"\x28\xb5\x2f\xfd", "zstd data"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (0, b"Rar!\x1a\x07", "a rar archive"),
    (257, b"ustar", "a tar archive"),
    (0, b"!<arch>\n", "an ar archive"),
    (0, b"%PDF-", "a PDF document"),
    (0, b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (0, b"\xff\xd8\xff", "a JPEG image"),
    (0, b"GIF8", "a GIF image"),
    (0, b"\x7fELF", "a program"),
    (0, b"MZ\x90\0", "a Windows program"),
    (0, b"SQLite format 3\0", "an SQLite database"),
    (0, b"# v2 git bundle\n", "a git bundle"),
    (0, b"# v3 git bundle\n", "a git bundle"),
];

fn check_head(name: &str, head: &[u8]) -> Result<(), Problem> {
    let found = SIGNATURES.iter().find(|(at, magic, _)| head.get(*at..).is_some_and(|rest| rest.starts_with(magic)));
    match found {
        None => Ok(()),
        Some((_, _, what)) => Err(Problem::no_change(
            ErrorCode::UnsupportedInput,
            format!("`{name}` is {what}, not a patch"),
            "Unpack it first and submit the `.patch` or `.diff` file inside, or the folder.",
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;
    use std::io::Write;

    use rustix::fs::{CWD, FileType, Mode};
    use tempfile::TempDir;

    use super::*;

    const PATCH: &[u8] = b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";

    fn setup() -> (TempDir, Vault) {
        let folder = tempfile::tempdir().unwrap();
        let vault = Vault::open(&folder.path().join("vault")).unwrap();
        (folder, vault)
    }

    fn check(bytes: &[u8], expected: ErrorCode, words: &str) {
        let (folder, vault) = setup();
        let path = folder.path().join("x.patch");
        fs::write(&path, bytes).unwrap();
        let problem = pin_file(&vault, &path, &PinLimits { patch_bytes: 1000, ..PinLimits::default() }, &|| false).unwrap_err();
        assert_eq!(problem.code, expected, "{problem:?}");
        assert!(problem.message.contains(words), "{problem:?}");
        let blob = vault.put(bytes).unwrap();
        let problem = pin_text(&vault, blob, "stdin", &PinLimits { patch_bytes: 1000, ..PinLimits::default() }).unwrap_err();
        assert_eq!(problem.code, expected, "{problem:?}");
    }

    #[test]
    fn a_patch_file_is_kept_byte_for_byte() {
        let (folder, vault) = setup();
        let path = folder.path().join("x.patch");
        fs::write(&path, PATCH).unwrap();
        let pinned = pin_file(&vault, &path, &PinLimits::default(), &|| false).unwrap();
        let PinnedInput::Patch { blob } = pinned.input else { panic!("{pinned:?}") };
        assert_eq!(pinned.blobs, [blob]);
        fs::write(&path, b"written later").unwrap();
        assert_eq!(vault.get(blob).unwrap(), PATCH);
    }

    #[test]
    fn what_is_no_patch_is_named() {
        check(b"PK\x03\x04\x14\0", ErrorCode::UnsupportedInput, "a zip archive");
        check(b"\x1f\x8b\x08\0", ErrorCode::UnsupportedInput, "gzip data");
        let mut tar = vec![b'x'; 257];
        tar.extend(b"ustar\0");
        check(&tar, ErrorCode::UnsupportedInput, "a tar archive");
        check(b"\x89PNG\r\n\x1a\n", ErrorCode::UnsupportedInput, "a PNG image");
        check(b"", ErrorCode::NothingToReview, "empty");
        check(b" \r\n\t\n", ErrorCode::NothingToReview, "empty");
        check(&[b'+'; 1001], ErrorCode::TooLarge, "0.0 MiB");
    }

    #[test]
    fn what_is_no_file_is_never_opened() {
        let (folder, vault) = setup();
        let fifo = folder.path().join("pipe.patch");
        rustix::fs::mknodat(CWD, &fifo, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let code = |path: &Path| pin_file(&vault, path, &PinLimits::default(), &|| false).unwrap_err().code;
        assert_eq!(code(&fifo), ErrorCode::UnsupportedInput);
        assert_eq!(code(Path::new("/dev/zero")), ErrorCode::UnsupportedInput);
        assert_eq!(code(folder.path()), ErrorCode::UnsupportedInput);
        assert_eq!(code(&folder.path().join("gone.patch")), ErrorCode::NotFound);
    }

    #[test]
    fn a_patch_that_settles_within_three_rounds_is_taken_and_one_that_never_does_is_refused() {
        let (folder, vault) = setup();
        let path = folder.path().join("x.patch");
        fs::write(&path, PATCH).unwrap();
        // A reader can't be stopped half-way here, so the comparison itself is tried.
        let (file, before) = disk::open_named(&path).unwrap();
        assert!(unmoved(&path, &file, before));
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b" c\n").unwrap();
        assert!(!unmoved(&path, &file, before), "written to");
        let (file, before) = disk::open_named(&path).unwrap();
        let aside = folder.path().join("aside");
        fs::write(&aside, fs::read(&path).unwrap()).unwrap();
        fs::rename(&aside, &path).unwrap();
        assert!(!unmoved(&path, &file, before), "replaced by a file with the same bytes");
        fs::remove_file(&path).unwrap();
        assert!(!unmoved(&path, &file, before), "removed");
        assert!(vault.root().exists());
    }

    #[test]
    fn a_cancelled_pin_stops_before_it_reads() {
        let (folder, vault) = setup();
        let path = folder.path().join("x.patch");
        fs::write(&path, PATCH).unwrap();
        let asked = Cell::new(0);
        let outcome = pin_file(&vault, &path, &PinLimits::default(), &|| {
            asked.set(asked.get() + 1);
            true
        });
        assert_eq!((outcome.is_err(), asked.get()), (true, 1));
    }
}

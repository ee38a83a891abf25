//! A path that exists: patch file, git repository or folder.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use st_model::review::ReviewSource;

use super::repository::Repository;
use super::sniff::{self, Foreign};
use super::{Classified, no_base, shown_name, unreadable};
use crate::{ErrorCode, Problem};

/// Bytes of a file that are looked at.
const HEAD_BYTES: u64 = 64 << 10;

/// Understands a path that was just seen to exist.
pub(super) fn classify_path(path: &Path, base: Option<&str>) -> Result<Classified, Problem> {
    let metadata = std::fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if metadata.is_dir() {
        return folder(path, base);
    }
    special(path, &metadata)?;
    let file = patch_file(path, &metadata)?;
    match base {
        Some(_) => Err(no_base("A patch brings its own base")),
        None => Ok(file),
    }
}

/// Refuses what is neither file nor folder. Such things are never opened: opening can block or act.
fn special(path: &Path, metadata: &Metadata) -> Result<(), Problem> {
    let kind = metadata.file_type();
    let (what, fix) = if kind.is_fifo() {
        ("a named pipe", "Pipe its content instead: `cat PIPE | sidetrack review -`.")
    } else if kind.is_socket() {
        ("a socket", "Save the patch to a file and review that.")
    } else if kind.is_block_device() || kind.is_char_device() {
        ("a device", "Save the patch to a file and review that, or pipe it: `sidetrack review -`.")
    } else {
        return Ok(());
    };
    Err(Problem::refused(ErrorCode::UnsupportedInput, format!("`{}` is {what}, not a patch", path.display()), fix))
}

/// Opens what was seen to be a regular file. Should something else have taken its place since,
/// the open neither blocks nor is it read.
fn open_regular(path: &Path) -> io::Result<(File, Metadata)> {
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is no regular file any more"));
    }
    Ok((file, metadata))
}

fn patch_file(path: &Path, _: &Metadata) -> Result<Classified, Problem> {
    let (file, metadata) = open_regular(path).map_err(|error| unreadable(path, &error))?;
    let mut head = Vec::new();
    file.take(HEAD_BYTES).read_to_end(&mut head).map_err(|error| unreadable(path, &error))?;
    let shown = path.display();
    let refused = |code, message: String, fix: &str| Err(Problem::refused(code, message, fix));
    if head.is_empty() {
        return refused(ErrorCode::NothingToReview, format!("`{shown}` is empty"), "Write the diff into it first, then review it.");
    }
    let limit = st_vault::PinLimits::default().patch_bytes;
    match sniff::foreign_kind(&head) {
        Some(Foreign::Archive(what)) => {
            return refused(
                ErrorCode::UnsupportedInput,
                format!("`{shown}` is {what}, not a patch"),
                "Unpack it, and review the folder or the patch inside.",
            );
        }
        Some(Foreign::Compressed(what)) => {
            return refused(
                ErrorCode::UnsupportedInput,
                format!("`{shown}` is {what}, not a patch"),
                "Uncompress it first, or pipe it: `zcat FILE | sidetrack review -`.",
            );
        }
        Some(Foreign::Document(what)) => {
            return refused(
                ErrorCode::UnsupportedInput,
                format!("`{shown}` is {what}, not a patch"),
                "Review a `.patch` or `.diff` file, a folder or a git repository.",
            );
        }
        Some(Foreign::Bundle) => {
            return refused(
                ErrorCode::UnsupportedInput,
                format!("`{shown}` is a git bundle, not a patch"),
                "Clone the bundle, and review a range of the clone: `REPO@BASE..HEAD`.",
            );
        }
        Some(Foreign::Utf16) => {
            return refused(
                ErrorCode::UnsupportedInput,
                format!("`{shown}` is UTF-16 text; a patch is bytes as git prints them"),
                "Let git write the file itself: `git diff --output=FILE`.",
            );
        }
        None => {}
    }
    if sniff::looks_like_patch(&head) {
        if metadata.len() > limit {
            return refused(
                ErrorCode::TooLarge,
                format!("`{shown}` is {}; a patch may be up to {}", megabytes(metadata.len()), megabytes(limit)),
                "Split it, or review the repository itself, which leaves large files out one by one.",
            );
        }
        return Ok(patch(path, &head, metadata.len()));
    }
    if sniff::is_context_diff(&head) {
        return refused(
            ErrorCode::UnsupportedInput,
            format!("`{shown}` is a context diff, which is not read"),
            "Make a unified one: `diff -u OLD NEW` or `git diff`.",
        );
    }
    not_a_patch(path, &head, metadata.len(), limit)
}

fn patch(path: &Path, head: &[u8], bytes: u64) -> Classified {
    let title = shown_name(path);
    let whole = u64::try_from(head.len()).unwrap_or(u64::MAX) >= bytes;
    let summary = if whole {
        let (files, added, removed) = sniff::rough_counts(head);
        format!("{files} {}, +{added} −{removed}", if files == 1 { "file" } else { "files" })
    } else {
        format!("patch of {}", megabytes(bytes))
    };
    Classified { source: ReviewSource::PatchFile { path: absolute(path) }, title, summary }
}

/// A text or binary file whose first bytes hold no diff.
fn not_a_patch(path: &Path, head: &[u8], bytes: u64, limit: u64) -> Result<Classified, Problem> {
    let shown = path.display();
    let named_patch = path
        .extension()
        .and_then(|extension| extension.to_str())
        .is_some_and(|extension| ["patch", "diff", "mbox", "eml"].iter().any(|known| extension.eq_ignore_ascii_case(known)));
    if head.contains(&0) {
        return Err(Problem::refused(
            ErrorCode::UnsupportedInput,
            format!("`{shown}` is a binary file, not a patch"),
            "Review a `.patch` or `.diff` file, a folder or a git repository.",
        ));
    }
    // The diff may begin after a long covering letter.
    if named_patch && bytes > HEAD_BYTES && bytes <= limit {
        return Ok(patch(path, head, bytes));
    }
    if named_patch {
        return Err(Problem::refused(
            ErrorCode::MalformedPatch,
            format!("`{shown}` is named like a patch and holds no diff"),
            "Make it anew with `git diff --output=FILE` or `git format-patch`.",
        ));
    }
    let problem =
        Problem::refused(ErrorCode::UnsupportedInput, format!("`{shown}` is a single file, not a patch"), "Review the folder it is in.");
    Err(match path.parent().and_then(Repository::discover) {
        Some(repo) => problem.or(format!("Review your uncommitted work: `sidetrack review {}`.", repo.root().display())),
        None => problem.or("To review a change, save it with `git diff --output=change.patch`."),
    })
}

fn folder(path: &Path, base: Option<&str>) -> Result<Classified, Problem> {
    let path = path.canonicalize().map_err(|error| unreadable(path, &error))?;
    // Reading one entry tells whether the folder can be listed at all.
    std::fs::read_dir(&path).map_err(|error| unreadable(&path, &error))?;
    if path == Path::new("/") || is_home(&path) {
        let which = if path == Path::new("/") { "the root of the file system" } else { "your home folder" };
        return Err(Problem::refused(
            ErrorCode::RefusedRoot,
            format!("`{}` is {which}, which is never reviewed as a whole", path.display()),
            "Name the project's own folder.",
        ));
    }
    match Repository::discover(&path) {
        Some(repo) if !is_home(repo.root()) => repository(&repo, base),
        _ => plain_folder(path, base),
    }
}

fn plain_folder(path: PathBuf, base: Option<&str>) -> Result<Classified, Problem> {
    if base.is_some() {
        return Err(super::not_a_repository(&path));
    }
    let name = shown_name(&path);
    let empty = std::fs::read_dir(&path).map_err(|error| unreadable(&path, &error))?.next().is_none();
    if empty {
        return Err(Problem::refused(
            ErrorCode::NothingToReview,
            format!("`{}` is an empty folder", path.display()),
            "Name a folder that holds files.",
        ));
    }
    Ok(Classified {
        source: ReviewSource::Folder { path },
        title: format!("Folder {name}"),
        summary: format!("folder {name}, every file as new"),
    })
}

fn repository(repo: &Repository, base: Option<&str>) -> Result<Classified, Problem> {
    let name = repo.name();
    match base {
        Some(base) => {
            repo.check_revision(base)?;
            let head = repo.current_branch().unwrap_or_else(|| "HEAD".to_owned());
            Ok(repo.branch(&head, Some(base)))
        }
        None if repo.is_bare() => Err(Problem::refused(
            ErrorCode::NothingToReview,
            format!("`{}` is a bare repository, which has no uncommitted work", repo.root().display()),
            format!("Name a range: `sidetrack review {}@BASE..HEAD`.", repo.root().display()),
        )),
        None => Ok(Classified {
            source: ReviewSource::Uncommitted { repo: repo.root().to_owned() },
            title: format!("Uncommitted work of {name}"),
            summary: format!("uncommitted work of {name}"),
        }),
    }
}

fn is_home(path: &Path) -> bool {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    home.is_some_and(|home| home == path || home.canonicalize().is_ok_and(|home| home == path))
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// A size in words: `812 bytes`, `640 KiB`, `200 MiB`.
fn megabytes(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KiB", bytes / 1024),
        _ => format!("{} MiB", bytes / (1 << 20)),
    }
}

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
    let file = patch_file(path)?;
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

fn patch_file(path: &Path) -> Result<Classified, Problem> {
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
        None => {}
    }
    if metadata.len() > limit && (sniff::looks_like_patch(&head) || is_named_patch(path)) {
        return refused(
            ErrorCode::TooLarge,
            format!("`{shown}` is {}; a patch may be up to {}", megabytes(metadata.len()), megabytes(limit)),
            "Split it, or review the repository itself, which leaves large files out one by one.",
        );
    }
    let whole = u64::try_from(head.len()).is_ok_and(|read| read >= metadata.len() && read < HEAD_BYTES);
    if whole { small(path, &head) } else { large(path, &head, metadata.len()) }
}

/// A file that was read whole: the parser says what it is.
fn small(path: &Path, bytes: &[u8]) -> Result<Classified, Problem> {
    match st_runner::diff::parse_patch(bytes) {
        Ok(parsed) => Ok(patch(path, in_numbers(&parsed))),
        Err(problem) if is_named_patch(path) || sniff::looks_like_patch(bytes) => {
            Err(refused_patch(&format!("`{}`", path.display()), problem))
        }
        Err(_) => Err(not_a_patch(path, bytes)),
    }
}

/// Looks at patch text that was piped or pasted, and returns its one line for people. Short text
/// is read whole; of a longer one only the beginning is judged.
pub(super) fn check_text(bytes: &[u8], label: &str) -> Result<String, Problem> {
    let head_bytes = usize::try_from(HEAD_BYTES).unwrap_or(usize::MAX);
    if bytes.len() < head_bytes {
        let parsed = st_runner::diff::parse_patch(bytes).map_err(|problem| refused_patch(label, problem))?;
        return Ok(in_numbers(&parsed));
    }
    let head = &bytes[..head_bytes];
    match sniff::foreign_kind(head) {
        Some(Foreign::Archive(what) | Foreign::Compressed(what) | Foreign::Document(what)) => Err(Problem::refused(
            ErrorCode::UnsupportedInput,
            format!("{label} is {what}, not a patch"),
            "Pipe a unified diff, such as the output of `git diff`.",
        )),
        Some(Foreign::Bundle) => Err(Problem::refused(
            ErrorCode::UnsupportedInput,
            format!("{label} is a git bundle, not a patch"),
            "Clone the bundle, and review a range of the clone: `REPO@BASE..HEAD`.",
        )),
        None => Ok(format!("patch of {}", megabytes(u64::try_from(bytes.len()).unwrap_or(u64::MAX)))),
    }
}

/// `6 files, +148 −31`.
fn in_numbers(parsed: &st_runner::diff::ParsedPatch) -> String {
    let (added, removed) = parsed.change.line_counts();
    let files = parsed.change.files.len() + parsed.broken.len();
    format!("{}, +{added} −{removed}", crate::export::count(files, "file"))
}

/// The parser's words about a file, said at submit: nothing was queued.
fn refused_patch(name: &str, problem: Problem) -> Problem {
    let mut words = problem.message.chars();
    let message: String = words.next().map_or_else(String::new, |first| first.to_lowercase().chain(words).collect());
    let fixes = problem.fix.into_iter();
    Problem { fix: fixes.collect(), ..Problem::refused(problem.code, format!("{name} can't be reviewed: {message}"), "") }
}

/// A file of which only the beginning was read: what does not look like a patch yet may hold one
/// after a long covering letter, when its name says so.
fn large(path: &Path, head: &[u8], bytes: u64) -> Result<Classified, Problem> {
    if sniff::looks_like_patch(head) || (is_named_patch(path) && !head.contains(&0)) {
        return Ok(patch(path, format!("patch of {}", megabytes(bytes))));
    }
    Err(not_a_patch(path, head))
}

fn patch(path: &Path, summary: String) -> Classified {
    Classified { source: ReviewSource::PatchFile { path: absolute(path) }, title: shown_name(path), summary }
}

fn is_named_patch(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| ["patch", "diff", "mbox", "eml"].iter().any(|known| extension.eq_ignore_ascii_case(known)))
}

/// The words for a file that holds no diff.
fn not_a_patch(path: &Path, head: &[u8]) -> Problem {
    let shown = path.display();
    if head.contains(&0) {
        return Problem::refused(
            ErrorCode::UnsupportedInput,
            format!("`{shown}` is a binary file, not a patch"),
            "Review a `.patch` or `.diff` file, a folder or a git repository.",
        );
    }
    let problem =
        Problem::refused(ErrorCode::UnsupportedInput, format!("`{shown}` is a single file, not a patch"), "Review the folder it is in.");
    match path.parent().and_then(Repository::discover) {
        Some(repo) => problem.or(format!("Review your uncommitted work: `sidetrack review {}`.", repo.root().display())),
        None => problem.or("To review a change, save it with `git diff --output=change.patch`."),
    }
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

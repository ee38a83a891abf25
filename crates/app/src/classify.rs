//! What a dropped, pasted or typed thing is. One classifier for every way in.
//!
//! The string is understood in the contract's order. Nothing here blocks: special files are
//! never opened, no host is asked, git is not run. What can only be known by running git (that a
//! revision resolves, that a merge base exists) is found out when the content is pinned; what is
//! plainly wrong is said now.

mod file;
mod repository;
mod sniff;
mod text;

#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use st_model::review::ReviewSource;

use crate::{ErrorCode, Problem};
use repository::Repository;

pub use sniff::looks_like_patch;
pub use text::split_items;

/// Something to review, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classified {
    /// What it is.
    pub source: ReviewSource,
    /// Title for the task.
    pub title: String,
    /// One line for the drop card, such as `uncommitted work of api`.
    pub summary: String,
}

/// Understands `what` in the contract's order: an existing path (patch file, git repository,
/// folder), a pull request's address, `REPO@BASE..HEAD`, a branch of the repository at `cwd`.
/// Looks at the disk, reads at most the first 64 KiB of a file, blocks on nothing (a FIFO is
/// never opened).
///
/// # Errors
/// Why it can't be reviewed, and what could.
pub fn classify(what: &str, cwd: Option<&Path>, base: Option<&str>, forges: &[(String, String)]) -> Result<Classified, Problem> {
    let what = text::single(what)?;
    let base = base.map(str::trim).filter(|base| !base.is_empty());
    if let Some(base) = base {
        check_revision_form(base)?;
    }
    match existing_path(&what, cwd)? {
        Found::Path(path) => return file::classify_path(&path, base),
        Found::Missing(problem) => return Err(*problem),
        Found::NoPath => {}
    }
    if let Some(scheme) = text::scheme(&what) {
        return link(&what, scheme, base, forges);
    }
    if let Some(range) = range(&what, cwd, base)? {
        return Ok(range);
    }
    named_in_cwd(&what, cwd, base)
}

/// Looks at patch text that was piped or pasted (`label` says which, such as `Standard input`)
/// and returns its one line for people, such as `6 files, +148 −31`.
///
/// # Errors
/// Why it is no patch that could be reviewed.
pub fn check_text(bytes: &[u8], label: &str) -> Result<String, Problem> {
    file::check_text(bytes, label)
}

/// Whether a string names something on the disk.
enum Found {
    /// It does; absolute.
    Path(PathBuf),
    /// It can only be meant as a path, and nothing is there or it can't be looked at.
    Missing(Box<Problem>),
    /// It may be something else.
    NoPath,
}

fn existing_path(what: &str, cwd: Option<&Path>) -> Result<Found, Problem> {
    let uri = match text::file_uri(what) {
        Some(uri) => Some(uri?),
        None => None,
    };
    let meant_as_path = uri.is_some();
    let candidates = match uri {
        Some(path) => vec![path],
        None => text::path_spellings(what),
    };
    for candidate in &candidates {
        let path = match (candidate.is_absolute(), cwd) {
            (true, _) => candidate.clone(),
            (false, Some(cwd)) => cwd.join(candidate),
            (false, None) => continue,
        };
        match std::fs::metadata(&path) {
            Ok(_) => return Ok(Found::Path(path)),
            Err(error) => match look_error(&path, &error) {
                Some(problem) => return Ok(Found::Missing(Box::new(problem))),
                None => continue,
            },
        }
    }
    let shown = candidates.first().cloned().unwrap_or_default();
    if meant_as_path || text::reads_as_path(what) {
        return Ok(Found::Missing(Box::new(not_there(&shown, cwd))));
    }
    Ok(Found::NoPath)
}

/// The words for a path that can't be looked at; `None` when nothing is there.
fn look_error(path: &Path, error: &io::Error) -> Option<Problem> {
    if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        return Some(Problem::refused(
            ErrorCode::Unreadable,
            format!("`{}` is a symbolic link that leads back to itself", path.display()),
            "Name the file or folder that the link should lead to.",
        ));
    }
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            let target = std::fs::read_link(path).ok()?;
            Some(Problem::refused(
                ErrorCode::NotFound,
                format!("`{}` is a symbolic link to `{}`, which is not there", path.display(), target.display()),
                "Point the link at something that exists, or name the file itself.",
            ))
        }
        io::ErrorKind::PermissionDenied => Some(unreadable(path, error)),
        // Names too long or with odd bytes are no names of files; the rest is told as it is.
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidFilename => None,
        _ => Some(unreadable(path, error)),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Problem {
    let fix = if error.kind() == io::ErrorKind::PermissionDenied {
        "Give yourself permission to read it, or copy it to a place that you can read."
    } else {
        "Copy it to a local folder and review the copy."
    };
    Problem::refused(ErrorCode::Unreadable, format!("`{}` can't be read: {}", path.display(), io_words(error)), fix)
}

/// The system's words for an error, without the number.
fn io_words(error: &io::Error) -> String {
    let text = error.to_string();
    let words = text.split(" (os error").next().unwrap_or(&text);
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

fn not_there(path: &Path, cwd: Option<&Path>) -> Problem {
    let message = format!("There is no file or folder `{}`", path.display());
    let near = near_file(path, cwd);
    let problem = match near {
        Some(near) => Problem::refused(ErrorCode::NotFound, message, format!("Did you mean `{near}`?")),
        None => Problem::refused(ErrorCode::NotFound, message, "Check the spelling, or drop the file on the window."),
    };
    match cwd {
        Some(cwd) if path.is_relative() => problem.or(format!("Relative paths count from `{}`.", cwd.display())),
        _ => problem,
    }
}

/// The most similar name in the folder where `path` should be.
fn near_file(path: &Path, cwd: Option<&Path>) -> Option<String> {
    /// A folder with more entries is not searched, so that a refusal stays instant.
    const MOST_ENTRIES: usize = 2_000;
    let name = path.file_name()?.to_str()?.to_owned();
    let parent = path.parent().unwrap_or_else(|| Path::new(""));
    let folder = match cwd {
        Some(cwd) => cwd.join(parent),
        None => parent.to_owned(),
    };
    let names = std::fs::read_dir(folder).ok()?.take(MOST_ENTRIES).filter_map(Result::ok);
    let names: Vec<String> = names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let near = nearest(&name, names.iter().map(String::as_str))?;
    Some(parent.join(near).display().to_string())
}

/// The candidate that is most like `name`, when one is like it at all.
fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    /// Jaro-Winkler similarity from which a name counts as a slip of the pen.
    const ALIKE: f64 = 0.84;
    candidates
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(score, _)| *score >= ALIKE)
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, candidate)| candidate)
}

fn link(what: &str, scheme: &str, base: Option<&str>, forges: &[(String, String)]) -> Result<Classified, Problem> {
    if !matches!(scheme, "http" | "https") {
        return Err(Problem::refused(
            ErrorCode::UnsupportedInput,
            format!("An address that begins with `{scheme}:` can't be reviewed"),
            "Give the address of a pull or merge request as the browser shows it (`https://…`).",
        )
        .or("For a repository, clone it and review the folder."));
    }
    if base.is_some() {
        return Err(no_base("A pull request is compared with its own base"));
    }
    let parsed = st_runner::remote::parse_link(what, forges)?;
    Ok(Classified {
        source: ReviewSource::Link { url: what.to_owned() },
        summary: format!("pull request {}", parsed.label),
        title: parsed.label,
    })
}

fn no_base(why: &str) -> Problem {
    Problem::refused(ErrorCode::Usage, format!("{why}, so `--base` has no meaning here"), "Leave `--base` out.")
}

/// `REPO@BASE..HEAD`, and `BASE..HEAD` of the repository at `cwd`. With three dots, HEAD is
/// compared with the merge base, as git's own diff does.
fn range(what: &str, cwd: Option<&Path>, base: Option<&str>) -> Result<Option<Classified>, Problem> {
    let Some(dots) = what.rfind("..") else { return Ok(None) };
    let (repo, revisions) = match split_repo(&what[..dots], cwd) {
        Some((repo, at)) => (Some(repo), &what[at + 1..]),
        None => (None, what),
    };
    let repo = match (repo, cwd) {
        (Some(path), _) => Repository::at(&path).ok_or_else(|| not_a_repository(&path))?,
        (None, Some(cwd)) => match Repository::discover(cwd) {
            Some(repo) => repo,
            None => return missing_range_repo(what).map(Some),
        },
        (None, None) => return missing_range_repo(what).map(Some),
    };
    if base.is_some() {
        return Err(no_base(&format!("`{revisions}` already names its base")));
    }
    let (from, to, merge_base) = match revisions.split_once("...") {
        Some((from, to)) => (from, to, true),
        None => {
            let (from, to) = revisions.split_once("..").unwrap_or((revisions, ""));
            (from, to, false)
        }
    };
    let to = if to.is_empty() { "HEAD" } else { to };
    if from.is_empty() {
        return Err(Problem::refused(
            ErrorCode::Usage,
            format!("`{what}` names no base"),
            "Write both ends of the range: `REPO@BASE..HEAD`.",
        ));
    }
    for revision in [from, to] {
        check_revision_form(revision)?;
        repo.check_revision(revision)?;
    }
    let name = repo.name();
    let source = if merge_base {
        ReviewSource::Branch { repo: repo.root().to_owned(), branch: to.to_owned(), base: Some(from.to_owned()) }
    } else {
        ReviewSource::Range { repo: repo.root().to_owned(), base: from.to_owned(), head: to.to_owned() }
    };
    let title = format!("{name}: {from}{}{to}", if merge_base { "..." } else { ".." });
    Ok(Some(Classified { source, summary: title.clone(), title }))
}

/// Where the `@` of `REPO@…` is: the last one whose left side is a folder that exists, since
/// both paths and revisions (`HEAD@{1}`) may hold one.
fn split_repo(left: &str, cwd: Option<&Path>) -> Option<(PathBuf, usize)> {
    let ats: Vec<usize> = left.match_indices('@').map(|(at, _)| at).filter(|at| *at > 0).collect();
    ats.into_iter().rev().find_map(|at| {
        text::path_spellings(&left[..at]).into_iter().find_map(|path| {
            let path = match cwd {
                Some(cwd) => cwd.join(path),
                None if path.is_absolute() => path,
                None => return None,
            };
            path.is_dir().then_some((path, at))
        })
    })
}

fn missing_range_repo(what: &str) -> Result<Classified, Problem> {
    let Some((repo, _)) = what.split_once('@') else {
        return Err(Problem::refused(
            ErrorCode::NotARepository,
            format!("`{what}` reads as a range of revisions, and this folder is in no git repository"),
            "Name the repository too: `REPO@BASE..HEAD`.",
        ));
    };
    Err(Problem::refused(
        ErrorCode::NotFound,
        format!("There is no folder `{repo}`"),
        "Write the range as `REPO@BASE..HEAD`, where REPO is the folder of a git repository.",
    ))
}

fn not_a_repository(path: &Path) -> Problem {
    Problem::refused(
        ErrorCode::NotARepository,
        format!("`{}` is no git repository", path.display()),
        "Name the folder that holds `.git`, or review the folder without a range.",
    )
}

/// Refuses what git could take for an option or what can be no revision at all.
fn check_revision_form(revision: &str) -> Result<(), Problem> {
    let odd = revision.starts_with('-')
        || revision.chars().any(|letter| letter.is_control() || letter == ' ' || letter == '\\')
        || revision.len() > 1_000;
    if odd {
        return Err(Problem::refused(
            ErrorCode::UnknownRevision,
            format!("`{}` is no revision", text::shorten(revision, 80)),
            "Name a branch, a tag or a commit, such as `main` or `HEAD~3`.",
        ));
    }
    Ok(())
}

fn named_in_cwd(what: &str, cwd: Option<&Path>, base: Option<&str>) -> Result<Classified, Problem> {
    let shown = text::shorten(what, 80);
    let repo = cwd.and_then(Repository::discover);
    let Some(repo) = repo else {
        let problem = match near_file(Path::new(what), cwd) {
            Some(near) => {
                Problem::refused(ErrorCode::NotFound, format!("There is no file or folder `{shown}`"), format!("Did you mean `{near}`?"))
            }
            None => Problem::refused(
                ErrorCode::NotFound,
                format!("`{shown}` is no file, folder, pull request address or range"),
                "Name a `.patch` file, a folder, a git repository or a pull request's address.",
            ),
        };
        return Err(problem.or("To review a branch, run the command inside its repository, or write `REPO@BASE..HEAD`."));
    };
    check_revision_form(what)?;
    if let Some(base) = base {
        repo.check_revision(base)?;
    }
    if repo.has_branch(what) {
        return Ok(repo.branch(what, base));
    }
    let branches = repo.branches();
    let near = nearest(what, branches.iter().map(String::as_str)).map(|near| format!("Did you mean the branch `{near}`?"));
    let near = near.or_else(|| near_file(Path::new(what), cwd).map(|near| format!("Did you mean the file `{near}`?")));
    let problem = Problem::refused(
        ErrorCode::NotFound,
        format!("`{shown}` is no file or folder, and `{}` has no branch of that name", repo.name()),
        near.unwrap_or_else(|| "Check the spelling with `git branch --all`.".to_owned()),
    );
    Err(problem.or("For a commit or tag, write a range such as `v1.2..HEAD`."))
}

/// A file name for people.
fn shown_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name: &OsStr| name.to_string_lossy().into_owned())
}

//! From a raw string to one item: trimming, quotes, uri-lists, file addresses.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;

use super::sniff;
use crate::{ErrorCode, Problem};

/// Longest name taken, in bytes; the system's own limit for a path.
const MOST_BYTES: usize = 4_096;

/// Splits dropped or pasted text into the items it names: the lines of a uri-list (comments
/// left out), or the text itself. Patch text is one item.
#[must_use]
pub fn split_items(text: &str) -> Vec<String> {
    if sniff::looks_like_patch(text.as_bytes()) {
        return vec![text.to_owned()];
    }
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}

/// The one item in `text`.
pub(super) fn single(text: &str) -> Result<String, Problem> {
    if sniff::looks_like_patch(text.as_bytes()) {
        return Err(Problem::refused(
            ErrorCode::Usage,
            "This is the text of a patch, and a name was expected",
            "Pipe it: `sidetrack review -`, or paste it into the window.",
        ));
    }
    let trimmed = text.trim_start_matches('\u{feff}').trim();
    if trimmed.is_empty() {
        return Err(Problem::refused(
            ErrorCode::Usage,
            "Nothing was named",
            "Name a `.patch` file, a folder, a git repository, a pull request's address or a branch.",
        ));
    }
    if trimmed.contains('\0') {
        return Err(Problem::refused(
            ErrorCode::Usage,
            "The name holds a NUL byte, which no file system takes",
            "Name a file, folder, address or branch.",
        ));
    }
    let items = split_items(trimmed);
    let item = match items.as_slice() {
        // A lone line that starts with `#` may still be a file of that name.
        [] => trimmed.to_owned(),
        [item] => item.clone(),
        [first, ..] if first.contains("://") => {
            return Err(Problem::refused(
                ErrorCode::Usage,
                format!("{} items were given where one was expected", items.len()),
                "Submit them one by one.",
            ));
        }
        _ => {
            return Err(Problem::refused(
                ErrorCode::UnsupportedInput,
                format!("These {} lines of text are no patch, file name or address", items.len()),
                "Paste a unified diff (as `git diff` prints it), or name a file.",
            ));
        }
    };
    if item.len() > MOST_BYTES {
        return Err(Problem::refused(
            ErrorCode::Usage,
            format!("The name is {} bytes long; at most {MOST_BYTES} are taken", item.len()),
            "Name a file, folder, address or branch.",
        ));
    }
    Ok(item)
}

/// The path in a `file:` address; `None` when `what` is none.
pub(super) fn file_uri(what: &str) -> Option<Result<PathBuf, Problem>> {
    let lower = what.get(..5)?.to_ascii_lowercase();
    if lower != "file:" {
        return None;
    }
    let rest = &what[5..];
    let path = match rest.strip_prefix("//") {
        Some(rest) => {
            let slash = rest.find('/').unwrap_or(rest.len());
            let (host, path) = rest.split_at(slash);
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                return Some(Err(Problem::refused(
                    ErrorCode::UnsupportedInput,
                    format!("`{}` is on another machine, `{host}`", shorten(what, 80)),
                    "Copy the file to this machine and review the copy.",
                )));
            }
            path
        }
        None => rest,
    };
    if !path.starts_with('/') {
        return Some(Err(Problem::refused(
            ErrorCode::Usage,
            format!("`{}` names no absolute path", shorten(what, 80)),
            "Write the address as `file:///PATH`.",
        )));
    }
    let path = path.split(['?', '#']).next().unwrap_or(path);
    let bytes: Vec<u8> = percent_decode_str(path).collect();
    if bytes.contains(&0) {
        return Some(Err(Problem::refused(
            ErrorCode::Usage,
            "The address holds a NUL byte, which no file system takes",
            "Name the file by its path.",
        )));
    }
    Some(Ok(PathBuf::from(OsString::from_vec(bytes))))
}

/// The ways in which `what` may spell a path, most literal first: as it is, without quotes,
/// without a shell's backslashes, with `~` as the home folder.
pub(super) fn path_spellings(what: &str) -> Vec<PathBuf> {
    let mut spellings = vec![what.to_owned()];
    for quote in ['"', '\''] {
        if let Some(inner) = what.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)).filter(|inner| !inner.is_empty()) {
            spellings.push(inner.to_owned());
        }
    }
    if what.contains("\\ ") {
        spellings.push(what.replace("\\ ", " "));
    }
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let mut paths: Vec<PathBuf> = spellings.iter().map(PathBuf::from).collect();
    if let Some(home) = home {
        for spelling in &spellings {
            if spelling == "~" {
                paths.push(home.clone());
            } else if let Some(rest) = spelling.strip_prefix("~/") {
                paths.push(home.join(rest.trim_start_matches('/')));
            }
        }
    }
    paths
}

/// Whether the text can only be meant as a path: nothing else looks like this.
pub(super) fn reads_as_path(what: &str) -> bool {
    let what = what.trim_matches(['"', '\'']);
    let rooted = what.starts_with('/') || what.starts_with("./") || what.starts_with("../") || what.starts_with("~/");
    let named = [".patch", ".diff", ".zip", ".mbox"].iter().any(|suffix| what.to_ascii_lowercase().ends_with(suffix));
    (rooted || named) && scheme(what).is_none() && !(what.contains('@') && what.contains(".."))
}

/// The scheme of an address (`https`, `ssh`, …), lower case; `ssh` for `git@HOST:PATH`.
pub(super) fn scheme(what: &str) -> Option<&'static str> {
    const KNOWN: [&str; 9] = ["http", "https", "ssh", "git", "ftp", "ftps", "sftp", "data", "mailto"];
    if let Some((scheme, _)) = what.split_once(':')
        && let Some(known) = KNOWN.iter().find(|known| scheme.eq_ignore_ascii_case(known))
    {
        return Some(known);
    }
    let scp_like = what.split_once(':').is_some_and(|(left, right)| {
        left.strip_prefix("git@").is_some_and(|host| !host.is_empty() && !host.contains('/')) && !right.is_empty()
    });
    scp_like.then_some("ssh")
}

/// At most `most` characters of `text`, for a message; control characters are shown as U+FFFD.
pub(super) fn shorten(text: &str, most: usize) -> String {
    let mut shown: String = text.chars().take(most).map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect();
    if text.chars().nth(most).is_some() {
        shown.push('…');
    }
    shown
}

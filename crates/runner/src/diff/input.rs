//! Bringing a patch's bytes into shape, and naming what is no patch.

use std::borrow::Cow;

use st_model::problem::{ErrorCode, Problem};

use super::hunk;
use super::scan::has_line;
use super::text::from_utf16;

/// The text of a patch: byte order mark, UTF-16 and terminal colours taken away, each with a note.
pub(super) fn prepare(bytes: &[u8]) -> (Cow<'_, [u8]>, Vec<String>) {
    let mut notes = Vec::new();
    let mut text = match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => {
            notes.push("the patch starts with a byte order mark, which was left out".to_owned());
            Cow::Borrowed(rest)
        }
        bytes => match from_utf16(bytes) {
            Some((text, faulty)) => {
                let lossy = if faulty { "; some of it did not decode and shows as U+FFFD" } else { "" };
                notes.push(format!("the patch is UTF-16 and was read as UTF-8{lossy}"));
                Cow::Owned(text)
            }
            None => Cow::Borrowed(bytes),
        },
    };
    if coloured(&text) {
        notes.push("the patch holds terminal colours, which were taken out".to_owned());
        text = Cow::Owned(uncoloured(&text));
    }
    (text, notes)
}

const ESCAPE: u8 = 0x1b;

/// Whether the header lines of a diff are coloured; an escape in a file's own lines does not count.
fn coloured(text: &[u8]) -> bool {
    memchr::memchr(ESCAPE, text).is_some()
        && has_line(text, |line| {
            line.first() == Some(&ESCAPE) && {
                let bare = uncoloured(&line[..line.len().min(200)]);
                [&b"diff --git "[..], b"--- ", b"+++ ", b"@@ -"].iter().any(|start| bare.starts_with(start))
            }
        })
}

fn uncoloured(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(ESCAPE, rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let length = match rest {
            [_, b'[', tail @ ..] => {
                let end = tail.iter().take(32).position(|byte| !matches!(byte, 0x20..=0x3f));
                end.filter(|&end| matches!(tail[end], b'm' | b'K')).map(|end| end + 3)
            }
            _ => None,
        };
        if length.is_none() {
            out.push(ESCAPE);
        }
        rest = &rest[length.unwrap_or(1)..];
    }
    out.extend_from_slice(rest);
    out
}

/// What bytes look like that are certainly no patch.
pub(super) fn foreign(bytes: &[u8]) -> Option<&'static str> {
    const STARTS: &[(&[u8], &str)] = &[
        (b"PK\x03\x04", "a zip archive"),
        (b"PK\x05\x06", "an empty zip archive"),
        (b"\x1f\x8b", "gzip-compressed data"),
        (b"BZh", "bzip2-compressed data"),
        (b"\xfd7zXZ\0", "xz-compressed data"),
        (b"\x28\xb5\x2f\xfd", "zstd-compressed data"),
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
        (b"Rar!\x1a\x07", "a rar archive"),
        (b"%PDF-", "a PDF"),
        (b"\x89PNG\r\n", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"GIF8", "a GIF image"),
        (b"\x7fELF", "a program"),
        (b"MZ\x90", "a Windows program"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"# v2 git bundle", "a git bundle"),
        (b"# v3 git bundle", "a git bundle"),
        (b"PACK\0\0\0", "a git pack"),
    ];
    let start = STARTS.iter().find(|(start, _)| bytes.starts_with(start)).map(|(_, what)| *what);
    start.or_else(|| bytes.get(257..262).is_some_and(|mark| mark == b"ustar").then_some("a tar archive"))
}

/// Why a text in which no part of a patch was found is refused.
pub(super) fn refusal(bytes: &[u8], text: &[u8]) -> Problem {
    const HOW: &str = "Give it a unified diff, as `git diff`, `git format-patch --stdout` or `diff -ru` print it";
    if let Some(what) = foreign(bytes) {
        let fix = if what.contains("archive") || what.contains("compressed") { "Unpack it first, then give the patch inside" } else { HOW };
        return Problem::no_change(ErrorCode::UnsupportedInput, format!("This is {what}, not a patch"), fix);
    }
    if memchr::memchr(0, &text[..text.len().min(8000)]).is_some() {
        let nulls = text.iter().take(2000).skip(1).step_by(2).filter(|&&byte| byte == 0).count();
        let what = if nulls * 4 > text.len().min(2000) { "UTF-16 text without a byte order mark" } else { "binary data" };
        return Problem::no_change(ErrorCode::UnsupportedInput, format!("This is {what}, not a patch"), HOW);
    }
    let lower: Vec<u8> = text.trim_ascii_start().iter().take(64).map(u8::to_ascii_lowercase).collect();
    if lower.starts_with(b"<!doctype html") || lower.starts_with(b"<html") {
        let fix = "Save the patch itself: for a pull request, its address with `.patch` added";
        return Problem::no_change(ErrorCode::UnsupportedInput, "This is a web page, not a patch", fix);
    }
    if has_line(text, |line| line.starts_with(b"***************")) && has_line(text, |line| line.starts_with(b"*** ")) {
        return Problem::no_change(ErrorCode::UnsupportedInput, "This is a context diff", "Make a unified one with `diff -u`");
    }
    if has_line(text, |line| old_command(line, b"acd")) {
        let arrows = has_line(text, |line| line.starts_with(b"> ") || line.starts_with(b"< "));
        let ends = has_line(text, |line| line == b".");
        if arrows {
            return Problem::no_change(
                ErrorCode::UnsupportedInput,
                "This is a plain `diff` without context",
                "Make a unified one with `diff -u`",
            );
        }
        if ends || has_line(text, |line| old_command(line, b"d")) {
            return Problem::no_change(ErrorCode::UnsupportedInput, "This is an ed script", "Make a unified diff with `diff -u`");
        }
    }
    if has_line(text, hunk::is_header) {
        return Problem::no_change(ErrorCode::MalformedPatch, "This holds hunks, but not the names of their files", HOW);
    }
    let empty_log = has_line(text, |line| line.starts_with(b"commit ") || line.starts_with(b"From "));
    let more = if empty_log { "; commits without a diff (a merge, a cover letter) change nothing" } else { "" };
    Problem::no_change(ErrorCode::MalformedPatch, format!("This is text, but no diff is in it{more}"), HOW)
}

/// `3,5c7`, `12a` or `4d` of the old diff forms.
fn old_command(line: &[u8], letters: &[u8]) -> bool {
    if line.len() > 48 || !line.first().is_some_and(u8::is_ascii_digit) {
        return false;
    }
    let number = |part: &[u8]| part.iter().all(|byte| byte.is_ascii_digit() || *byte == b',');
    let cut = line.iter().position(|byte| letters.contains(byte));
    cut.is_some_and(|cut| number(&line[..cut]) && number(&line[cut + 1..]))
}

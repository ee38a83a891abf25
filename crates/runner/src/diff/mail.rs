//! Cutting a text into patches: mails, `git log` and `git show` output, changeset exports, or
//! one plain diff.

use std::borrow::Cow;

use super::cursor::{Cursor, trim_cr};
use super::mime::{self, Headers};

/// One patch of a series.
#[derive(Debug)]
pub(super) struct Segment<'a> {
    /// The commit's subject.
    pub(super) subject: Option<String>,
    /// The text that holds the diff.
    pub(super) text: Cow<'a, [u8]>,
    /// Number of the text's first line in the file, or in the decoded body.
    pub(super) first_line: usize,
    /// Set when the text was decoded, so that line numbers count in the body of that mail.
    pub(super) decoded_mail: Option<usize>,
    /// `[PATCH n/m]`.
    pub(super) number: Option<(u32, u32)>,
    /// What it was cut from.
    pub(super) source: Source,
}

/// What a patch was cut from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A mail.
    Mail,
    /// `git log -p` or `git show`, newest first unless said otherwise.
    Log,
    /// A changeset export.
    Export,
    /// Bare diff text.
    Plain,
}

/// Cuts `text` into its patches, in the order of the file.
pub(super) fn segments(text: &[u8]) -> Vec<Segment<'_>> {
    let cuts = cuts(text);
    let mut found = Vec::new();
    let first = cuts.first().map_or(text.len(), |cut| cut.at);
    if first > 0 {
        found.push(plain(&text[..first]));
    }
    for (index, cut) in cuts.iter().enumerate() {
        let end = cuts.get(index + 1).map_or(text.len(), |next| next.at);
        let raw = &text[cut.at..end];
        found.push(match cut.source {
            Source::Mail => mail(raw, cut.line, index + 1),
            Source::Log => log(raw, cut.line),
            Source::Export => export(raw, cut.line),
            Source::Plain => plain(raw),
        });
    }
    found
}

struct Cut {
    at: usize,
    line: usize,
    source: Source,
}

fn cuts(text: &[u8]) -> Vec<Cut> {
    let mut cuts = Vec::new();
    let mut cursor = Cursor::new(text, 1);
    if is_headers(&cursor) {
        cuts.push(Cut { at: 0, line: 1, source: Source::Mail });
    }
    let mut blank = true;
    while !cursor.at_end() {
        let (at, line_number) = (text.len() - cursor.rest().len(), cursor.line());
        let rest = cursor.rest();
        let source = match rest[0] {
            b'F' if rest.starts_with(b"From ") && is_from(&cursor, blank) => Some(Source::Mail),
            b'c' if rest.starts_with(b"commit ") && is_commit(&cursor) => Some(Source::Log),
            b'#' if cursor.peek_after(b"# HG changeset patch").is_some_and(<[u8]>::is_empty) => Some(Source::Export),
            _ => None,
        };
        if let Some(source) = source {
            cuts.push(Cut { at, line: line_number, source });
        }
        blank = matches!(cursor.next().map(trim_cr), Some(b""));
    }
    cuts
}

/// `From ID Mon Sep 17 00:00:00 2001` of `git format-patch`, or any mailbox's separator: behind a
/// blank line, with a time and a year, before a header.
fn is_from(cursor: &Cursor<'_>, blank: bool) -> bool {
    let Some(rest) = cursor.peek_after(b"From ") else { return false };
    if rest.len() > 200 {
        return false;
    }
    let mut ahead = cursor.clone();
    ahead.next();
    let header = ahead.peek().is_some_and(|line| line.len() < 1000 && mime::field(trim_cr(line)).is_some());
    let id = rest.split(|&byte| byte == b' ').next().unwrap_or_default();
    let by_git = matches!(id.len(), 40 | 64) && id.iter().all(u8::is_ascii_hexdigit) && rest.ends_with(b" 2001");
    let time = rest.windows(8).any(|part| part[2] == b':' && part[5] == b':' && part[0].is_ascii_digit() && part[7].is_ascii_digit());
    header && (by_git || blank && time)
}

/// A file that is one mail: its first lines are headers, sender and subject among them.
fn is_headers(cursor: &Cursor<'_>) -> bool {
    let mut ahead = cursor.clone();
    let (mut from, mut subject) = (false, false);
    for line in ahead.by_ref().take(200) {
        let line = trim_cr(line);
        if line.is_empty() {
            return from && subject;
        }
        match mime::field(line) {
            Some((name, _)) => {
                from |= name == "from";
                subject |= name == "subject";
            }
            None if line.starts_with(b" ") || line.starts_with(b"\t") => {}
            None => return false,
        }
    }
    false
}

/// `commit ID` before the fields of a log entry.
fn is_commit(cursor: &Cursor<'_>) -> bool {
    let Some(rest) = cursor.peek_after(b"commit ") else { return false };
    let id = rest.split(|&byte| byte == b' ').next().unwrap_or_default();
    let hex = (7..=64).contains(&id.len()) && id.iter().all(u8::is_ascii_hexdigit);
    hex && [&b"Author:"[..], b"Merge:", b"tree ", b"parent ", b"AuthorDate:", b"Date:", b"author ", b"Reflog:"]
        .iter()
        .any(|field| cursor.second_starts(field))
}

fn plain(text: &[u8]) -> Segment<'_> {
    Segment { subject: None, text: Cow::Borrowed(text), first_line: 1, decoded_mail: None, number: None, source: Source::Plain }
}

/// A mail. Escaped `>From ` lines need no care: a diff's lines never start with `>`.
fn mail(raw: &[u8], first_line: usize, number: usize) -> Segment<'_> {
    let mut cursor = Cursor::new(raw, first_line);
    if raw.starts_with(b"From ") {
        cursor.next();
    }
    let headers = Headers::read(&mut cursor);
    let (subject, place) = subject(&mime::words(headers.get("subject").unwrap_or_default()));
    let (text, decoded) = mime::body(&headers, cursor.rest());
    let first_line = if decoded { 1 } else { cursor.line() };
    let (text, first_line) = match text {
        Cow::Borrowed(text) => {
            let (text, line) = behind_message(text, first_line);
            (Cow::Borrowed(text), line)
        }
        Cow::Owned(text) => {
            let (rest, line) = behind_message(&text, first_line);
            let skip = text.len() - rest.len();
            (Cow::Owned(if skip == 0 { text } else { text[skip..].to_vec() }), line)
        }
    };
    Segment { subject: Some(subject), text, first_line, decoded_mail: decoded.then_some(number), number: place, source: Source::Mail }
}

/// The part of a mail behind its commit message, when a `---` line and a diffstat end that. A
/// diff that comes earlier is read, as git does: nothing that looks like one is passed over.
fn behind_message(text: &[u8], first_line: usize) -> (&[u8], usize) {
    let mut cursor = Cursor::new(text, first_line);
    loop {
        let rest = cursor.rest();
        if rest.starts_with(b"diff ") || rest.starts_with(b"Index: ") || rest.starts_with(b"--- ") && cursor.second_starts(b"+++ ") {
            break;
        }
        let Some(line) = cursor.next() else { break };
        if trim_cr(line) != b"---" {
            continue;
        }
        let mut ahead = cursor.clone();
        let stat = ahead.by_ref().map(trim_cr).take_while(|line| line.starts_with(b" ") || line.is_empty()).any(|line| {
            let words = |word: &[u8]| memchr::memmem::find(line, word).is_some();
            words(b" file changed") || words(b" files changed")
        });
        if stat {
            return (ahead.rest(), ahead.line());
        }
    }
    (text, first_line)
}

/// A subject without its `[PATCH n/m]` and `Re:`, and the n and m.
fn subject(text: &str) -> (String, Option<(u32, u32)>) {
    let mut rest = text.trim();
    let mut place = None;
    loop {
        let before = rest;
        if rest.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("re:")) {
            rest = rest[3..].trim_start();
        }
        if let Some((tag, tail)) = rest.strip_prefix('[').and_then(|tag| tag.split_once(']')) {
            place = place.or_else(|| {
                let (n, m) = tag.rsplit(' ').next()?.split_once('/')?;
                Some((n.parse().ok()?, m.parse().ok()?))
            });
            rest = tail.trim_start();
        }
        if rest == before {
            return (if rest.is_empty() { text.trim() } else { rest }.to_owned(), place);
        }
    }
}

fn log(raw: &[u8], first_line: usize) -> Segment<'_> {
    let mut cursor = Cursor::new(raw, first_line);
    // Fields up to a blank line, then the message, set in by four blanks.
    for line in cursor.by_ref() {
        if trim_cr(line).is_empty() {
            break;
        }
    }
    let subject = cursor.peek_after(b"    ").map(|line| String::from_utf8_lossy(line).trim().to_owned());
    Segment {
        subject,
        text: Cow::Borrowed(cursor.rest()),
        first_line: cursor.line(),
        decoded_mail: None,
        number: None,
        source: Source::Log,
    }
}

fn export(raw: &[u8], first_line: usize) -> Segment<'_> {
    let mut cursor = Cursor::new(raw, first_line);
    while cursor.rest().starts_with(b"#") {
        cursor.next();
    }
    let subject = cursor.peek().map(|line| String::from_utf8_lossy(trim_cr(line)).trim().to_owned());
    Segment {
        subject,
        text: Cow::Borrowed(cursor.rest()),
        first_line: cursor.line(),
        decoded_mail: None,
        number: None,
        source: Source::Export,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_loses_its_tags_and_gives_its_place() {
        assert_eq!(subject("[PATCH v2 03/12] fix: x"), ("fix: x".into(), Some((3, 12))));
        assert_eq!(subject("Re: [PATCH] [net] y"), ("y".into(), None));
        assert_eq!(subject("plain"), ("plain".into(), None));
    }
}

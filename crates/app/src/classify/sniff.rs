//! What a file is by its first bytes.

/// Whether `text` has the shape of a patch: a git header, a combined diff, a mailbox of commits,
/// or a plain unified header followed by a hunk. A patch that is broken further down still looks
/// like one; what is wrong with it is said by the parser.
#[must_use]
pub fn looks_like_patch(text: &[u8]) -> bool {
    let narrow;
    let text = match text {
        [0xef, 0xbb, 0xbf, rest @ ..] => rest,
        // UTF-16, as some shells write a redirected diff: what matters here is ASCII.
        [0xff, 0xfe, rest @ ..] | [0xfe, 0xff, rest @ ..] => {
            narrow = rest.iter().copied().filter(|byte| *byte != 0).collect::<Vec<u8>>();
            &narrow
        }
        other => other,
    };
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    let mut before: [&[u8]; 2] = [b"", b""];
    for line in text.split(|&byte| byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = without_colour(line);
        if is_git_header(line) || is_mailbox_start(line) {
            return true;
        }
        let header = before[0].starts_with(b"--- ") && before[1].starts_with(b"+++ ");
        if header && line.starts_with(b"@@ -") {
            return true;
        }
        before = [before[1], line];
    }
    // A header at the very end: the hunks are cut off, or lie beyond what was read.
    before[0].starts_with(b"--- ") && before[1].starts_with(b"+++ ")
}

/// The line without the terminal colours at its start.
fn without_colour(mut line: &[u8]) -> &[u8] {
    while let [0x1b, b'[', rest @ ..] = line {
        let Some(end) = rest.iter().take(32).position(|byte| !matches!(byte, 0x20..=0x3f)) else { return line };
        line = &rest[end + 1..];
    }
    line
}

fn is_git_header(line: &[u8]) -> bool {
    [&b"diff --git "[..], b"diff --cc ", b"diff --combined "].iter().any(|start| line.starts_with(start))
}

/// `From 40-HEX-DIGITS Mon Sep 17 00:00:00 2001`, as `git format-patch` writes it.
fn is_mailbox_start(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"From ") else { return false };
    rest.len() > 41 && rest[..40].iter().all(u8::is_ascii_hexdigit) && rest[40] == b' '
}

/// Kinds of file that are no patch, told by their first bytes; `None` for text and what is unknown.
pub(super) fn foreign_kind(head: &[u8]) -> Option<Foreign> {
    const MAGIC: [(&[u8], Foreign); 20] = [
        (b"PK\x03\x04", Foreign::Archive("a zip archive")),
        (b"PK\x05\x06", Foreign::Archive("an empty zip archive")),
        (b"\x1f\x8b", Foreign::Compressed("a gzip file")),
        (b"BZh", Foreign::Compressed("a bzip2 file")),
        (b"\xfd7zXZ\x00", Foreign::Compressed("an xz file")),
        (b"\x28\xb5\x2f\xfd", Foreign::Compressed("a zstd file")),
        (b"7z\xbc\xaf\x27\x1c", Foreign::Archive("a 7-Zip archive")),
        (b"Rar!\x1a\x07", Foreign::Archive("a RAR archive")),
        (b"%PDF-", Foreign::Document("a PDF document")),
        (b"\x89PNG\r\n\x1a\n", Foreign::Document("a PNG image")),
        (b"\xff\xd8\xff", Foreign::Document("a JPEG image")),
        (b"GIF87a", Foreign::Document("a GIF image")),
        (b"GIF89a", Foreign::Document("a GIF image")),
        (b"RIFF", Foreign::Document("a media file")),
        (b"\x7fELF", Foreign::Document("a program")),
        (b"MZ\x90\x00", Foreign::Document("a Windows program")),
        (b"SQLite format 3\x00", Foreign::Document("an SQLite database")),
        (b"# v2 git bundle\n", Foreign::Bundle),
        (b"# v3 git bundle\n", Foreign::Bundle),
        (b"\xd0\xcf\x11\xe0", Foreign::Document("an Office document")),
    ];
    if head.get(257..262) == Some(b"ustar") {
        return Some(Foreign::Archive("a tar archive"));
    }
    MAGIC.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, kind)| *kind)
}

/// A kind of file that is no patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Foreign {
    /// Holds files.
    Archive(&'static str),
    /// Holds one stream.
    Compressed(&'static str),
    /// Neither.
    Document(&'static str),
    /// A git bundle.
    Bundle,
}

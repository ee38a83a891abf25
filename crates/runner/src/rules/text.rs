//! One side of a file as the rules see it: decoded text, and which of its lines may be spoken of.

use std::ops::Range;

use encoding_rs::{UTF_8, UTF_16BE, UTF_16LE};

/// Longest line that is looked at, in bytes. Longer ones are data, not code; they are blanked so
/// that line numbers stay, and the file is said to be reviewed in part.
pub const MAX_LINE_BYTES: usize = 16 * 1024;

/// How a file's bytes became text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Plain UTF-8.
    Utf8,
    /// UTF-8 behind a byte order mark.
    Utf8Bom,
    /// UTF-16 behind a byte order mark.
    Utf16,
    /// Something else, guessed; the name is of the WHATWG list.
    Guessed(&'static str),
}

impl Encoding {
    /// Whether offsets in the text are offsets in the bytes.
    #[must_use]
    pub fn is_plain(self) -> bool {
        self == Self::Utf8
    }
}

/// Whether bytes are no text: a NUL in the first 8,000 bytes, as git decides it, unless they are
/// marked as UTF-16.
#[must_use]
pub fn is_binary(bytes: &[u8]) -> bool {
    let utf16 = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
    !utf16 && bytes[..bytes.len().min(8000)].contains(&0)
}

/// Turns bytes into text. Never fails: what is no UTF-8 is guessed.
#[must_use]
pub fn decode(bytes: &[u8]) -> (String, Encoding) {
    if let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf")
        && let Ok(text) = std::str::from_utf8(rest)
    {
        return (text.to_owned(), Encoding::Utf8Bom);
    }
    if bytes.starts_with(b"\xff\xfe") {
        return (UTF_16LE.decode_with_bom_removal(bytes).0.into_owned(), Encoding::Utf16);
    }
    if bytes.starts_with(b"\xfe\xff") {
        return (UTF_16BE.decode_with_bom_removal(bytes).0.into_owned(), Encoding::Utf16);
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return (text.to_owned(), Encoding::Utf8);
    }
    let mut detector = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let guess = detector.guess(None, chardetng::Utf8Detection::Deny);
    let guess = if guess == UTF_8 { encoding_rs::WINDOWS_1252 } else { guess };
    (guess.decode_without_bom_handling(bytes).0.into_owned(), Encoding::Guessed(guess.name()))
}

/// One side of a changed file.
#[derive(Clone, Debug)]
pub struct SideView {
    text: String,
    /// Byte range of every line, without its ending.
    lines: Vec<Range<usize>>,
    changed: Vec<bool>,
    /// `changed_before[n]`: changed lines among the first `n`.
    changed_before: Vec<u32>,
    known: Vec<bool>,
    /// Whether the whole file is here (else only what the patch shows).
    pub complete: bool,
    /// Numbers of changed lines that were too long to be looked at.
    pub too_long: Vec<u32>,
    /// How the bytes were read.
    pub encoding: Encoding,
}

impl SideView {
    /// A side from its bytes. `changed` and `known` answer by line number, from 1.
    #[must_use]
    pub fn new(bytes: &[u8], complete: bool, changed: impl Fn(u32) -> bool, known: impl Fn(u32) -> bool) -> Self {
        let (text, encoding) = decode(bytes);
        let (text, long_lines) = blank_long_lines(text);
        let lines = split_lines(&text);
        let count = u32::try_from(lines.len()).unwrap_or(u32::MAX);
        let changed: Vec<bool> = (1..=count).map(changed).collect();
        let known: Vec<bool> = (1..=count).map(|line| complete || known(line)).collect();
        let mut changed_before = Vec::with_capacity(changed.len() + 1);
        changed_before.push(0);
        for (index, &is_changed) in changed.iter().enumerate() {
            changed_before.push(changed_before[index] + u32::from(is_changed));
        }
        let too_long = long_lines.into_iter().filter(|&line| changed.get(line as usize - 1).copied().unwrap_or(false)).collect();
        Self { text, lines, changed, changed_before, known, complete, too_long, encoding }
    }

    /// The whole text; lines that are too long or unknown are empty in it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Number of lines.
    #[must_use]
    pub fn line_count(&self) -> u32 {
        u32::try_from(self.lines.len()).unwrap_or(u32::MAX)
    }

    /// A line without its ending; empty when there is none of that number.
    #[must_use]
    pub fn line(&self, number: u32) -> &str {
        self.line_range(number).map_or("", |range| &self.text[range])
    }

    /// Where a line lies in the text, without its ending.
    #[must_use]
    pub fn line_range(&self, number: u32) -> Option<Range<usize>> {
        self.lines.get((number as usize).checked_sub(1)?).cloned()
    }

    /// The number of the line a byte offset lies on.
    #[must_use]
    pub fn line_at(&self, offset: usize) -> u32 {
        let index = self.lines.partition_point(|range| range.start <= offset);
        u32::try_from(index.max(1)).unwrap_or(u32::MAX)
    }

    /// Whether the change added this line (or, on the old side, removed it).
    #[must_use]
    pub fn is_changed(&self, number: u32) -> bool {
        (number as usize).checked_sub(1).and_then(|index| self.changed.get(index)).copied().unwrap_or(false)
    }

    /// Whether a changed line lies among `first..=last`.
    #[must_use]
    pub fn touches_change(&self, first: u32, last: u32) -> bool {
        let at = |line: u32| self.changed_before[(line as usize).min(self.changed.len())];
        first >= 1 && last >= first && at(last) > at(first - 1)
    }

    /// Whether every line of `first..=last` is known.
    #[must_use]
    pub fn is_known(&self, first: u32, last: u32) -> bool {
        self.complete
            || (first..=last).all(|line| (line as usize).checked_sub(1).and_then(|index| self.known.get(index)).copied().unwrap_or(false))
    }

    /// The changed lines, in order, with their text.
    pub fn changed_lines(&self) -> impl Iterator<Item = (u32, &str)> {
        (1..=self.line_count()).filter(|&line| self.is_changed(line)).map(|line| (line, self.line(line)))
    }

    /// The known lines, in order, with their text.
    pub fn known_lines(&self) -> impl Iterator<Item = (u32, &str)> {
        (1..=self.line_count()).filter(|&line| self.is_known(line, line)).map(|line| (line, self.line(line)))
    }

    /// The first run of changed lines within `first..=last`, at most `limit` lines of it.
    #[must_use]
    pub fn first_changed_run(&self, first: u32, last: u32, limit: u32) -> Option<(u32, u32)> {
        let start = (first.max(1)..=last.min(self.line_count())).find(|&line| self.is_changed(line))?;
        let mut end = start;
        while end < last && end - start + 1 < limit && self.is_changed(end + 1) {
            end += 1;
        }
        Some((start, end))
    }
}

/// Empties the lines longer than [`MAX_LINE_BYTES`] and says which they were.
fn blank_long_lines(text: String) -> (String, Vec<u32>) {
    if text.len() <= MAX_LINE_BYTES {
        return (text, Vec::new());
    }
    let mut long = Vec::new();
    let mut kept = String::with_capacity(text.len());
    for (number, line) in (1u32..).zip(text.split_inclusive('\n')) {
        if line.len() <= MAX_LINE_BYTES {
            kept.push_str(line);
        } else {
            long.push(number);
            if line.ends_with('\n') {
                kept.push('\n');
            }
        }
    }
    (kept, long)
}

fn split_lines(text: &str) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let body = line.strip_suffix('\n').unwrap_or(line);
        let body = body.strip_suffix('\r').unwrap_or(body);
        lines.push(start..start + body.len());
        start += line.len();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_changed(bytes: &[u8]) -> SideView {
        SideView::new(bytes, true, |_| true, |_| true)
    }

    #[test]
    fn bytes_that_are_no_utf8_are_guessed_and_keep_their_lines() {
        let side = all_changed(b"caf\xe9 au lait\nna\xefve\n");
        assert_eq!(side.line_count(), 2);
        assert_eq!(side.line(1), "café au lait");
        assert!(matches!(side.encoding, Encoding::Guessed(_)));
        let utf16: Vec<u8> = b"\xff\xfe".iter().copied().chain("a\nb\n".encode_utf16().flat_map(u16::to_le_bytes)).collect();
        assert!(!is_binary(&utf16));
        assert_eq!(all_changed(&utf16).line(2), "b");
        assert_eq!(all_changed(b"\xef\xbb\xbfx\r\ny").line(1), "x");
        assert!(is_binary(b"\x7fELF\0\0"));
    }

    #[test]
    fn a_long_line_is_blanked_and_the_others_keep_their_numbers() {
        let text = format!("one\n{}\nthree\n", "x".repeat(140_000));
        let side = all_changed(text.as_bytes());
        assert_eq!((side.line(1), side.line(2), side.line(3)), ("one", "", "three"));
        assert_eq!(side.too_long, [2]);
    }

    #[test]
    fn a_run_is_the_first_changed_lines_of_a_range() {
        let side = SideView::new(b"a\nb\nc\nd\ne\n", true, |line| matches!(line, 2 | 3 | 5), |_| true);
        assert_eq!(side.first_changed_run(1, 5, 20), Some((2, 3)));
        assert_eq!(side.first_changed_run(4, 4, 20), None);
        assert_eq!(side.first_changed_run(1, 5, 1), Some((2, 2)));
        assert!(side.touches_change(4, 5) && !side.touches_change(4, 4) && !side.touches_change(1, 1));
        assert_eq!(side.line_at(0), 1);
        assert_eq!(side.line_at(3), 2);
    }
}

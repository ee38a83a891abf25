//! Reading a patch line by line, with line numbers.

/// A position in a text, between two lines.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
    /// Number of the next line, from 1.
    line: usize,
}

impl<'a> Cursor<'a> {
    /// At the start of `text`, whose first line is number `first_line`.
    pub(super) fn new(text: &'a [u8], first_line: usize) -> Self {
        Self { rest: text, line: first_line }
    }

    /// Number of the next line.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// Whether nothing follows.
    pub(super) fn at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// The text from here on.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next line without its `\n`.
    pub(super) fn peek(&self) -> Option<&'a [u8]> {
        self.clone().next()
    }

    /// The next line without its line ending, when it starts with `prefix`: what follows the prefix.
    pub(super) fn peek_after(&self, prefix: &[u8]) -> Option<&'a [u8]> {
        // The start is looked at first, so that a huge line is not searched again and again for its end.
        if !self.rest.starts_with(prefix) {
            return None;
        }
        trim_cr(self.peek()?).strip_prefix(prefix)
    }

    /// The line after the next one, when it starts with `prefix`.
    pub(super) fn second_starts(&self, prefix: &[u8]) -> bool {
        let mut ahead = self.clone();
        ahead.next();
        ahead.rest.starts_with(prefix)
    }
}

impl<'a> Iterator for Cursor<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        self.line += 1;
        let Some(at) = memchr::memchr(b'\n', self.rest) else { return Some(std::mem::take(&mut self.rest)) };
        let line = &self.rest[..at];
        self.rest = &self.rest[at + 1..];
        Some(line)
    }
}

/// `line` without a carriage return at its end.
pub(super) fn trim_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

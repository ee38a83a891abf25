//! What bytes are: text, UTF-16 text, or binary.

use std::borrow::Cow;

use encoding_rs::{UTF_16BE, UTF_16LE};

/// A file's content as the review reads it.
#[derive(Debug)]
pub(super) enum Content<'a> {
    /// Text in an encoding that keeps ASCII as it is.
    Text(Cow<'a, [u8]>),
    /// Text that was UTF-16 with a byte order mark, now UTF-8 without one.
    Utf16(Vec<u8>),
    /// No text.
    Binary,
}

impl Content<'_> {
    /// The bytes of a text; none of a binary.
    pub(super) fn into_text(self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.into_owned(),
            Self::Utf16(text) => text,
            Self::Binary => Vec::new(),
        }
    }
}

/// What `bytes` are. Binary by git's rule (a NUL in the first 8000 bytes), save for UTF-16 text
/// that says so by its mark and decodes without a fault.
pub(super) fn content(bytes: &[u8]) -> Content<'_> {
    if let Some((text, false)) = from_utf16(bytes) {
        return Content::Utf16(text);
    }
    if memchr::memchr(0, &bytes[..bytes.len().min(8000)]).is_some() { Content::Binary } else { Content::Text(Cow::Borrowed(bytes)) }
}

/// UTF-8 of bytes that start with a UTF-16 byte order mark, and whether some of it did not decode.
pub(super) fn from_utf16(bytes: &[u8]) -> Option<(Vec<u8>, bool)> {
    let encoding = match bytes {
        [0xff, 0xfe, ..] => UTF_16LE,
        [0xfe, 0xff, ..] => UTF_16BE,
        _ => return None,
    };
    let (text, faulty) = encoding.decode_without_bom_handling(&bytes[2..]);
    Some((text.into_owned().into_bytes(), faulty))
}

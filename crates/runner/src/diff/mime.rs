//! Mail encodings: headers, quoted-printable, base64, multipart bodies.

use std::borrow::Cow;

use super::cursor::{Cursor, trim_cr};

/// A mail's headers, folded lines joined, and where its body starts.
#[derive(Debug, Default)]
pub(super) struct Headers {
    fields: Vec<(String, Vec<u8>)>,
}

impl Headers {
    /// Reads headers up to and including the blank line behind them.
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Self {
        let mut headers = Self::default();
        for line in cursor.by_ref() {
            let line = trim_cr(line);
            if line.is_empty() {
                break;
            }
            if line.starts_with(b" ") || line.starts_with(b"\t") {
                if let Some((_, value)) = headers.fields.last_mut() {
                    value.push(b' ');
                    value.extend_from_slice(line.trim_ascii());
                }
            } else if let Some((name, value)) = field(line) {
                headers.fields.push((name, value.to_vec()));
            }
        }
        headers
    }

    /// The value of the first field of that name (lower case).
    pub(super) fn get(&self, name: &str) -> Option<&[u8]> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_slice())
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8_lossy(self.get(name).unwrap_or_default()).into_owned()
    }
}

/// A header line's name, in lower case, and value.
pub(super) fn field(line: &[u8]) -> Option<(String, &[u8])> {
    let colon = memchr::memchr(b':', &line[..line.len().min(80)])?;
    let name = &line[..colon];
    let good = !name.is_empty() && name.iter().all(|&byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    good.then(|| (String::from_utf8_lossy(name).to_ascii_lowercase(), line[colon + 1..].trim_ascii()))
}

/// The text of a mail's body, decoded, and whether it differs from what stands in the file.
pub(super) fn body<'a>(headers: &Headers, raw: &'a [u8]) -> (Cow<'a, [u8]>, bool) {
    let text = decoded(headers, raw, 0);
    let changed = matches!(text, Cow::Owned(_));
    (text, changed)
}

fn decoded<'a>(headers: &Headers, raw: &'a [u8], depth: usize) -> Cow<'a, [u8]> {
    let kind = headers.text("content-type");
    let lower = kind.to_ascii_lowercase();
    if lower.starts_with("multipart/")
        && depth < 4
        && let Some(boundary) = parameter(&kind, "boundary")
    {
        return Cow::Owned(multipart(boundary.as_bytes(), raw, depth));
    }
    match headers.text("content-transfer-encoding").trim().to_ascii_lowercase().as_str() {
        "quoted-printable" => Cow::Owned(quoted_printable(raw)),
        "base64" => base64(raw).map_or(Cow::Borrowed(raw), Cow::Owned),
        _ => Cow::Borrowed(raw),
    }
}

/// The texts and patches of a multipart body, one after another.
fn multipart(boundary: &[u8], raw: &[u8], depth: usize) -> Vec<u8> {
    let mark = [b"--", boundary].concat();
    let mut cursor = Cursor::new(raw, 1);
    let mut out = Vec::new();
    let is_mark =
        |line: &[u8]| trim_cr(line).strip_prefix(mark.as_slice()).is_some_and(|rest| matches!(rest.trim_ascii_end(), b"" | b"--"));
    // The preamble.
    while cursor.peek().is_some_and(|line| !is_mark(line)) {
        cursor.next();
    }
    while let Some(line) = cursor.next() {
        if trim_cr(line).strip_prefix(mark.as_slice()).is_some_and(|rest| rest.starts_with(b"--")) {
            break;
        }
        let headers = Headers::read(&mut cursor);
        let start = cursor.rest();
        while cursor.peek().is_some_and(|line| !is_mark(line)) {
            cursor.next();
        }
        // The line end before a mark belongs to the mark.
        let part = &start[..start.len() - cursor.rest().len()];
        let kind = headers.text("content-type").to_ascii_lowercase();
        let name = (headers.text("content-disposition") + &kind).to_ascii_lowercase();
        let wanted = kind.is_empty() || kind.starts_with("multipart/") || kind.starts_with("text/") && !kind.starts_with("text/html");
        if wanted || kind.contains("patch") || kind.contains("diff") || name.contains(".patch") || name.contains(".diff") {
            out.extend_from_slice(&decoded(&headers, part, depth + 1));
            if !out.ends_with(b"\n") {
                out.push(b'\n');
            }
        }
    }
    out
}

/// A parameter of a header such as `boundary="x"`.
fn parameter(value: &str, name: &str) -> Option<String> {
    let lower = value.to_ascii_lowercase();
    let at = lower.match_indices(name).map(|(at, _)| at + name.len()).find(|&at| lower[at..].trim_start().starts_with('='))?;
    let rest = value[at..].trim_start().strip_prefix('=')?.trim_start();
    Some(match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next().unwrap_or_default().to_owned(),
        None => rest.split([';', ' ', '\t']).next().unwrap_or_default().to_owned(),
    })
    .filter(|text| !text.is_empty())
}

/// Decodes quoted-printable; what is no valid escape stays as it is.
fn quoted_printable(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'=', rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        match rest {
            [b'=', b'\r', b'\n', tail @ ..] | [b'=', b'\n', tail @ ..] => rest = tail,
            [b'=', high, low, tail @ ..] if digit(*high).is_some() && digit(*low).is_some() => {
                out.push(digit(*high).unwrap_or_default() << 4 | digit(*low).unwrap_or_default());
                rest = tail;
            }
            _ => {
                out.push(b'=');
                rest = &rest[1..];
            }
        }
    }
    out.extend_from_slice(rest);
    out
}

/// Decodes base64, line ends and padding aside; `None` when it is none.
fn base64(raw: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(raw.len() / 4 * 3);
    let (mut bits, mut held) = (0u32, 0u32);
    let mut padded = false;
    for &byte in raw.iter().filter(|byte| !byte.is_ascii_whitespace()) {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => {
                padded = true;
                continue;
            }
            _ => return None,
        };
        if padded {
            return None;
        }
        bits = (bits << 6 | u32::from(value)) & 0xff_ffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push(u8::try_from(bits >> held & 0xff).unwrap_or_default());
        }
    }
    Some(out)
}

/// Decodes the `=?charset?Q?…?=` words of a header (RFC 2047).
pub(super) fn words(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    let mut out = String::new();
    let mut rest: &str = &text;
    let mut after_word = false;
    while let Some(at) = rest.find("=?") {
        let (before, tail) = rest.split_at(at);
        // Blanks between two encoded words do not count.
        if !(after_word && before.trim().is_empty()) {
            out.push_str(before);
        }
        match word(tail) {
            Some((decoded, tail)) => {
                out.push_str(&decoded);
                rest = tail;
                after_word = true;
            }
            None => {
                out.push_str("=?");
                rest = &tail[2..];
                after_word = false;
            }
        }
    }
    out.push_str(rest);
    out
}

fn word(text: &str) -> Option<(String, &str)> {
    let mut parts = text.strip_prefix("=?")?.splitn(3, '?');
    let (charset, kind, tail) = (parts.next()?, parts.next()?, parts.next()?);
    let (data, tail) = tail.split_once("?=")?;
    let bytes = match kind {
        "Q" | "q" => quoted_printable(data.replace('_', " ").as_bytes()),
        "B" | "b" => base64(data.as_bytes())?,
        _ => return None,
    };
    let charset = charset.split('*').next().unwrap_or_default();
    let encoding = encoding_rs::Encoding::for_label(charset.as_bytes())?;
    Some((encoding.decode(&bytes).0.into_owned(), tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_words_read_as_written() {
        assert_eq!(words(b"=?UTF-8?q?Gr=C3=BC=C3=9Fe_an?= =?iso-8859-1?B?6Q==?= x"), "Grüße ané x");
        assert_eq!(words(b"a =? b"), "a =? b");
        assert_eq!(words(b"=?nope?q?x?="), "=?nope?q?x?=");
    }

    #[test]
    fn quoted_printable_joins_soft_breaks_and_leaves_nonsense() {
        assert_eq!(quoted_printable(b"a=3Db=\nc=\r\nd=zz="), b"a=bcd=zz=");
    }

    #[test]
    fn base64_is_read_whole_or_not_at_all() {
        assert_eq!(base64(b"aGVs\r\nbG8=\r\n").as_deref(), Some(&b"hello"[..]));
        assert_eq!(base64(b"hello there!"), None);
    }
}

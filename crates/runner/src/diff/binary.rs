//! `GIT binary patch` blocks: skipped exactly, their sizes kept.

use std::io::Read as _;

use super::cursor::{Cursor, trim_cr};
use super::hunk::Fault;

/// Sizes of a binary change, as `(old, new)`.
pub(super) type Sizes = (Option<u64>, Option<u64>);

/// Reads what follows a `GIT binary patch` line: the way forward and, mostly, the way back.
pub(super) fn block(cursor: &mut Cursor<'_>) -> Result<Sizes, Fault> {
    let forward = chunk(cursor)?.ok_or_else(|| Fault::at(cursor.line(), "a binary patch without `literal` or `delta`"))?;
    let backward = chunk(cursor)?;
    let (old, new) = match forward {
        Chunk::Literal(size) => (None, Some(size)),
        Chunk::Delta(sizes) => sizes.unzip(),
    };
    Ok(match backward {
        Some(Chunk::Literal(size)) => (old.or(Some(size)), new),
        Some(Chunk::Delta(Some((from, to)))) => (old.or(Some(to)), new.or(Some(from))),
        Some(Chunk::Delta(None)) | None => (old, new),
    })
}

enum Chunk {
    /// The whole content, of this size.
    Literal(u64),
    /// A delta between contents of these sizes, when its start could be read.
    Delta(Option<(u64, u64)>),
}

fn chunk(cursor: &mut Cursor<'_>) -> Result<Option<Chunk>, Fault> {
    let literal = cursor.peek_after(b"literal ");
    let Some(digits) = literal.or_else(|| cursor.peek_after(b"delta ")) else { return Ok(None) };
    let at = cursor.line();
    let size = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<u64>().ok());
    let size = size.ok_or_else(|| Fault::at(at, "a binary patch whose size is no number"))?;
    cursor.next();
    let mut start = Vec::new();
    let mut lines = 0usize;
    loop {
        let at = cursor.line();
        let Some(line) = cursor.peek() else { return Err(Fault::at(at, "a binary patch that ends in the middle")) };
        let line = trim_cr(line);
        if line.is_empty() {
            cursor.next();
            break;
        }
        let keep = literal.is_none() && start.len() < 4096;
        // A line that does not belong may be the next file's header, and stays to be read.
        decode(line, keep.then_some(&mut start)).ok_or_else(|| Fault::at(at, "a line of a binary patch that is not in git's base 85"))?;
        cursor.next();
        lines += 1;
    }
    if lines == 0 {
        return Err(Fault::at(at, "a binary patch without data"));
    }
    Ok(Some(if literal.is_some() { Chunk::Literal(size) } else { Chunk::Delta(delta_sizes(&start)) }))
}

/// Checks one line and, when wanted, decodes it.
fn decode(line: &[u8], out: Option<&mut Vec<u8>>) -> Option<()> {
    let (&first, digits) = line.split_first()?;
    let length = match first {
        b'A'..=b'Z' => first - b'A' + 1,
        b'a'..=b'z' => first - b'a' + 27,
        _ => return None,
    };
    if digits.len() != usize::from(length).div_ceil(4) * 5 {
        return None;
    }
    let mut sink = Vec::new();
    let out = out.unwrap_or(&mut sink);
    let end = out.len() + usize::from(length);
    for group in digits.chunks(5) {
        let value = group.iter().try_fold(0u32, |sum, &digit| sum.checked_mul(85)?.checked_add(value_of(digit)?))?;
        out.extend_from_slice(&value.to_be_bytes());
    }
    out.truncate(end);
    Some(())
}

fn value_of(digit: u8) -> Option<u32> {
    const DIGITS: &[u8; 85] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
    const TABLE: [u8; 256] = {
        let mut table = [255u8; 256];
        let mut index = 0u8;
        while index < 85 {
            table[DIGITS[index as usize] as usize] = index;
            index += 1;
        }
        table
    };
    match TABLE[usize::from(digit)] {
        255 => None,
        value => Some(u32::from(value)),
    }
}

/// A delta starts with the sizes it goes from and to.
fn delta_sizes(deflated: &[u8]) -> Option<(u64, u64)> {
    let mut inflated = flate2::read::ZlibDecoder::new(deflated);
    let mut size = || {
        let mut value = 0u64;
        for shift in (0..63).step_by(7) {
            let mut byte = [0];
            inflated.read_exact(&mut byte).ok()?;
            value |= u64::from(byte[0] & 0x7f) << shift;
            if byte[0] & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    };
    Some((size()?, size()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_base_85_has_the_length_it_says_and_only_git_s_digits() {
        assert!(decode(b"HcmV?d00001", None).is_some());
        assert!(decode(b"HcmV?d0000", None).is_none());
        assert!(decode(b"HcmV?d0000\"", None).is_none());
        assert!(decode(b"1cmV?d00001", None).is_none());
        assert!(decode(b"D~~~~~", None).is_none(), "above 2^32");
    }
}

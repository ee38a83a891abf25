//! Lines of JSON over a stream, with a limit: the framing that both ends of the protocol share.

use std::io;

use serde::Serialize;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};

/// What reading a line came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A whole line is in the buffer, without its line ending.
    Whole,
    /// The other side closed after a whole line.
    End,
    /// The other side closed in the middle of a line.
    Broken,
    /// The line is longer than the limit. What follows on the stream is its rest.
    TooLong,
}

/// Reads one line into `buffer` (emptied first), holding at most `limit` bytes.
pub(crate) async fn read_line(reader: &mut (impl AsyncBufRead + Unpin), buffer: &mut Vec<u8>, limit: usize) -> io::Result<Line> {
    buffer.clear();
    loop {
        let available = reader.fill_buf().await?;
        if available.is_empty() {
            return Ok(if buffer.is_empty() { Line::End } else { Line::Broken });
        }
        let end = available.iter().position(|&byte| byte == b'\n');
        let taken = end.unwrap_or(available.len());
        if buffer.len() + taken > limit {
            return Ok(Line::TooLong);
        }
        buffer.extend_from_slice(&available[..taken]);
        let consumed = taken + usize::from(end.is_some());
        reader.consume(consumed);
        if end.is_some() {
            if buffer.last() == Some(&b'\r') {
                buffer.pop();
            }
            return Ok(Line::Whole);
        }
    }
}

/// A value as one line, line ending included.
pub(crate) fn encode(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

/// Writes one line and flushes it.
pub(crate) async fn write_line(writer: &mut (impl AsyncWrite + Unpin), line: &[u8]) -> io::Result<()> {
    writer.write_all(line).await?;
    writer.flush().await
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::io::BufReader;

    use super::*;

    fn lines(bytes: &[u8], limit: usize, chunk: usize) -> Vec<(Line, Vec<u8>)> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut reader = BufReader::with_capacity(chunk, bytes);
            let mut buffer = Vec::new();
            let mut seen = Vec::new();
            loop {
                let line = read_line(&mut reader, &mut buffer, limit).await.unwrap();
                seen.push((line, buffer.clone()));
                if line != Line::Whole {
                    return seen;
                }
            }
        })
    }

    #[test]
    fn a_line_ends_at_a_line_feed_with_or_without_carriage_return() {
        assert_eq!(lines(b"a\r\n\nb", 10, 1), vec![(Line::Whole, b"a".to_vec()), (Line::Whole, vec![]), (Line::Broken, b"b".to_vec())]);
    }

    #[test]
    fn a_line_longer_than_the_limit_is_refused_without_holding_it() {
        assert_eq!(lines(b"1234\n12345\n", 4, 3), vec![(Line::Whole, b"1234".to_vec()), (Line::TooLong, b"1234".to_vec())]);
    }

    proptest! {
        #[test]
        fn any_bytes_split_as_lines_whatever_the_chunks(bytes in proptest::collection::vec(any::<u8>(), 0..200), chunk in 1usize..50) {
            let seen = lines(&bytes, 1000, chunk);
            let mut expected: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
            let rest = expected.pop().unwrap_or_default();
            prop_assert_eq!(seen.len(), expected.len() + 1);
            for ((line, text), wanted) in seen.iter().zip(&expected) {
                prop_assert_eq!(*line, Line::Whole);
                prop_assert_eq!(text.as_slice(), wanted.strip_suffix(b"\r").unwrap_or(wanted));
            }
            prop_assert_eq!(seen.last().map(|last| last.0), Some(if rest.is_empty() { Line::End } else { Line::Broken }));
        }
    }
}

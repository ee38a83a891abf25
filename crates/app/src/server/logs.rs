//! Pages of an attempt's log file.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use st_engine::Engine;
use st_model::id::TaskRef;
use st_model::task::Task;

use crate::dto::LogPageDto;
use crate::problems::{internal, of_engine, usage};
use crate::{ErrorCode, Problem};

/// Most lines in one page.
const MOST_LINES: u32 = 5000;

/// Most bytes in one page. A line that is longer than a page is given in pieces.
const PAGE_BYTES: usize = 4 << 20;

/// A page of `attempt`'s log (the newest when unset): lines from byte offset `from`, or the last
/// `-from` lines when it is negative.
pub(super) async fn page(engine: &Engine, task: &Task, attempt: Option<u32>, from: i64, limit: u32) -> Result<LogPageDto, Problem> {
    let newest = task.state.lease().map_or(task.attempts, |lease| lease.number);
    if attempt == Some(0) {
        return Err(usage("Attempts count from 1", "Leave the attempt out for the newest."));
    }
    let number = attempt.unwrap_or(newest);
    let path = engine.log_path(TaskRef::Id(task.id), attempt).await.map_err(of_engine)?;
    let Some(path) = path else {
        return match attempt {
            Some(asked) if asked > newest => Err(Problem::no_change(
                ErrorCode::NotFound,
                format!("Task #{} has had {newest} attempts, not {asked}", task.number),
                "Leave the attempt out for the newest.",
            )),
            Some(_) | None => Ok(LogPageDto { attempt: number, from: 0, next: 0, size: 0, lines: Vec::new() }),
        };
    };
    // The last line of an attempt that still runs may still grow.
    let ended = number < newest || task.state.lease().is_none();
    tokio::task::spawn_blocking(move || {
        let read = Read { from, limit: limit.min(MOST_LINES), ended, page_bytes: PAGE_BYTES };
        match read.page(&path) {
            Ok(mut page) => {
                page.attempt = number;
                Ok(page)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(LogPageDto { attempt: number, from: 0, next: 0, size: 0, lines: Vec::new() })
            }
            Err(error) => Err(Problem::no_change(
                ErrorCode::Unreadable,
                format!("The log `{}` can't be read: {error}", path.display()),
                "Look at the rights of the data directory.",
            )),
        }
    })
    .await
    .map_err(|error| internal(format!("Reading the log failed: {error}")))?
}

struct Read {
    from: i64,
    limit: u32,
    ended: bool,
    page_bytes: usize,
}

impl Read {
    fn page(&self, path: &Path) -> io::Result<LogPageDto> {
        let mut file = File::open(path)?;
        let size = file.metadata()?.len();
        let from = match u64::try_from(self.from) {
            Ok(offset) => offset.min(size),
            Err(_) => start_of_last_lines(&mut file, size, self.from.unsigned_abs())?,
        };
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(u64::try_from(self.page_bytes).unwrap_or(u64::MAX)).read_to_end(&mut bytes)?;
        let at_end = from + length(bytes.len()) >= size;

        let mut lines = Vec::new();
        let mut taken = 0;
        while lines.len() < usize::try_from(self.limit).unwrap_or(usize::MAX) {
            let rest = &bytes[taken..];
            let end = match rest.iter().position(|&byte| byte == b'\n') {
                Some(end) => end + 1,
                // The end of a log that is finished, or a line longer than a page.
                None if !rest.is_empty() && ((at_end && self.ended) || rest.len() == self.page_bytes) => rest.len(),
                None => break,
            };
            lines.push(plain(&rest[..end]));
            taken += end;
        }
        Ok(LogPageDto { attempt: 0, from, next: from + length(taken), size, lines })
    }
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Where the last `wanted` lines begin, read backwards in blocks.
fn start_of_last_lines(file: &mut File, size: u64, wanted: u64) -> io::Result<u64> {
    const BLOCK: u64 = 64 << 10;
    let mut position = size;
    let mut found = 0;
    let mut block = Vec::new();
    while position > 0 {
        let start = position.saturating_sub(BLOCK);
        block.clear();
        file.seek(SeekFrom::Start(start))?;
        file.by_ref().take(position - start).read_to_end(&mut block)?;
        for (index, _) in block.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n') {
            let after = start + length(index) + 1;
            // The line feed that ends the file begins no line.
            if after == size {
                continue;
            }
            found += 1;
            if found == wanted {
                return Ok(after);
            }
        }
        position = start;
    }
    Ok(0)
}

/// A line as text: without its ending, escape sequences and other control characters. Bytes
/// that are not UTF-8 show as U+FFFD.
fn plain(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let mut plain = String::with_capacity(text.len());
    let mut symbols = text.chars().peekable();
    while let Some(symbol) = symbols.next() {
        match symbol {
            '\u{1b}' => match symbols.next() {
                // A control sequence ends with a byte of @ to ~.
                Some('[') => {
                    for next in symbols.by_ref() {
                        if ('@'..='~').contains(&next) {
                            break;
                        }
                    }
                }
                // A string sequence ends with BEL or with ESC \.
                Some(']' | 'P' | '_' | '^' | 'X') => {
                    while let Some(next) = symbols.next() {
                        if next == '\u{7}' || (next == '\u{1b}' && symbols.next_if_eq(&'\\').is_some()) {
                            break;
                        }
                    }
                }
                Some(_) | None => {}
            },
            '\t' => plain.push('\t'),
            symbol if symbol.is_control() => {}
            symbol => plain.push(symbol),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8], from: i64, limit: u32, ended: bool, page_bytes: usize) -> LogPageDto {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Read { from, limit, ended, page_bytes }.page(file.path()).unwrap()
    }

    #[test]
    fn pages_follow_each_other_without_loss() {
        let text: String = (0..1000).map(|number| format!("line {number}\n")).collect();
        let mut lines = Vec::new();
        let mut from = 0;
        loop {
            let page = read(text.as_bytes(), from, 7, true, 64);
            if page.lines.is_empty() {
                break;
            }
            lines.extend(page.lines);
            from = i64::try_from(page.next).unwrap();
        }
        assert_eq!(lines, text.lines().collect::<Vec<_>>());
    }

    #[test]
    fn a_line_that_may_still_grow_is_not_given() {
        assert_eq!(read(b"a\nb", 0, 10, false, 100).lines, ["a"]);
        assert_eq!(read(b"a\nb", 0, 10, true, 100).lines, ["a", "b"]);
    }

    #[test]
    fn a_line_longer_than_a_page_comes_in_pieces() {
        let page = read(b"aaaaaaaaaa\n", 0, 10, false, 4);
        assert_eq!((page.lines, page.next), (vec!["aaaa".to_owned()], 4));
    }

    #[test]
    fn a_negative_start_counts_lines_from_the_end() {
        let text: String = (0..20_000).map(|number| format!("line {number}\n")).collect();
        assert_eq!(read(text.as_bytes(), -2, 10, true, 1 << 20).lines, ["line 19998", "line 19999"]);
        assert_eq!(read(b"a\nb\nc", -2, 10, true, 100).lines, ["b", "c"]);
        assert_eq!(read(b"a\nb\n", -9, 10, true, 100).lines, ["a", "b"]);
        assert_eq!(read(b"", -9, 10, true, 100).lines, Vec::<String>::new());
    }

    #[test]
    fn escape_sequences_do_not_reach_a_terminal() {
        assert_eq!(plain(b"\x1b[31mred\x1b[0m\x1b]0;title\x07 \x1b]8;;x\x1b\\link\r\n"), "red link");
        assert_eq!(plain(b"a\x1b"), "a");
        assert_eq!(plain(b"a\x1b[3"), "a");
        assert_eq!(plain(b"\xff\tb\x00"), "\u{fffd}\tb");
    }
}

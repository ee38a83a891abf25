//! An attempt's log: a file that the worker's output and the engine's lines share.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use st_model::broker::LogLevel;

/// Largest log of one attempt, in bytes.
pub(crate) const MAX_LOG_BYTES: u64 = 64 << 20;

/// Longest line, in bytes; the rest of a longer one is counted and left out.
pub(crate) const MAX_LOG_LINE: usize = 64 << 10;

/// How much of the log's end is looked at for its last line.
const TAIL_BYTES: u64 = 8 << 10;

/// Longest quote of a last line in a message, in characters.
const TAIL_CHARS: usize = 300;

/// Writes lines at the end of an attempt's log.
#[derive(Debug)]
pub(crate) struct AttemptLog {
    /// None when it could not be opened; the attempt fails then, and has nowhere to say it.
    file: Option<File>,
    limit: u64,
    full: bool,
}

impl AttemptLog {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Self::with_limit(path, MAX_LOG_BYTES)
    }

    fn with_limit(path: &Path, limit: u64) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        Ok(Self { file: Some(file), limit, full: false })
    }

    /// A log that keeps nothing.
    pub(crate) fn nowhere() -> Self {
        Self { file: None, limit: 0, full: true }
    }

    /// A handle for the worker's stdout and stderr. They append, so that lines never overwrite each other.
    pub(crate) fn for_worker(&self) -> io::Result<File> {
        self.file.as_ref().ok_or(io::ErrorKind::NotFound)?.try_clone()
    }

    /// Adds `text`, each of its lines as `LEVEL text`. Control characters are written as escapes:
    /// what a log shows must not steer the terminal it is shown on.
    pub(crate) fn add(&mut self, level: LogLevel, text: &str) {
        let Some(file) = self.file.as_mut().filter(|_| !self.full) else { return };
        let level = match level {
            LogLevel::Debug => "DEBUG",
            LogLevel::Info => "INFO",
            LogLevel::Warn => "WARN",
            LogLevel::Error => "ERROR",
        };
        let mut lines = String::new();
        for line in text.lines() {
            push_line(&mut lines, level, line);
        }
        let size = file.metadata().map_or(self.limit, |metadata| metadata.len());
        if size.saturating_add(u64::try_from(lines.len()).unwrap_or(u64::MAX)) > self.limit {
            self.full = true;
            lines = format!("WARN this log has reached {} MiB; what follows is not kept\n", self.limit >> 20);
        }
        if let Err(error) = file.write_all(lines.as_bytes()) {
            tracing::warn!(%error, "failed to write an attempt's log");
        }
    }
}

fn push_line(lines: &mut String, level: &str, line: &str) {
    lines.push_str(level);
    lines.push(' ');
    let kept = line.floor_char_boundary(MAX_LOG_LINE);
    for character in line[..kept].chars() {
        if character.is_control() && character != '\t' {
            lines.extend(character.escape_default());
        } else {
            lines.push(character);
        }
    }
    if kept < line.len() {
        lines.push_str(&format!(" … ({} bytes of this line left out)", line.len() - kept));
    }
    lines.push('\n');
}

/// The last line that says something, shortened for a message.
pub(crate) fn last_line(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let size = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(TAIL_BYTES))).ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().filter(|character| !character.is_control()).take(TAIL_CHARS).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn lines_carry_their_level_and_no_control_character() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = AttemptLog::open(&path).unwrap();
        log.add(LogLevel::Info, "one\ntwo\u{1b}[31m");
        log.add(LogLevel::Error, &"x".repeat(MAX_LOG_LINE + 5));
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..2], ["INFO one", "INFO two\\u{1b}[31m"]);
        assert!(lines[2].starts_with("ERROR xxx") && lines[2].ends_with("x … (5 bytes of this line left out)"));
    }

    #[test]
    fn a_full_log_says_so_once_and_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = AttemptLog::with_limit(&path, 1 << 20).unwrap();
        for _ in 0..40 {
            log.add(LogLevel::Info, &"y".repeat(60_000));
        }
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.len() < (1 << 20) + 100);
        assert!(text.ends_with("\nWARN this log has reached 1 MiB; what follows is not kept\n"));
        assert_eq!(text.matches("WARN").count(), 1);
    }

    #[test]
    fn the_last_line_is_the_last_that_says_something() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        assert_eq!(last_line(&path), None);
        fs::write(&path, "INFO one\nthread 'main' panicked\n\n  \n").unwrap();
        assert_eq!(last_line(&path).as_deref(), Some("thread 'main' panicked"));
    }
}

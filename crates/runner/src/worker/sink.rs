//! Results on their way to the engine, one JSON object a line.

use std::io::{self, BufWriter, Write};
use std::os::unix::net::UnixStream;

use st_model::broker::{BrokerMessage, LogLevel, MAX_LINE_BYTES, WorkerEnd};
use st_model::coverage::{CoverageEntry, CoverageStatus};
use st_model::event::Progress;
use st_model::finding::Finding;
use st_model::problem::{ErrorCode, Problem};

use super::{EXIT_NO_ENGINE, leave};
use crate::review::Sink;

/// Longest text left in a field that had to be shortened, in bytes. Five such fields, each byte
/// escaped to six, stay well below the longest line.
const SHORT: usize = 4 << 10;

/// Longest log line sent, in bytes; the engine's log keeps no longer ones.
const LOG_LINE: usize = 32 << 10;

/// Sends a review's results over the broker's socket.
#[derive(Debug)]
pub(super) struct BrokerSink<W: Write = UnixStream> {
    out: BufWriter<W>,
    /// Files whose ledger line does not fit a line even when shortened.
    unsaid: u64,
}

impl<W: Write> BrokerSink<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out: BufWriter::new(out), unsaid: 0 }
    }

    /// Says how the review ended. Nothing may be said after it.
    ///
    /// # Errors
    /// When the engine is gone.
    pub(super) fn end(&mut self, ended: WorkerEnd) -> io::Result<()> {
        let ended = match ended {
            WorkerEnd::Done if self.unsaid > 0 => WorkerEnd::Partial { problem: self.unsaid_problem() },
            WorkerEnd::Partial { problem } => WorkerEnd::Partial { problem: short_problem(&problem) },
            WorkerEnd::Failed { class, problem } => WorkerEnd::Failed { class, problem: short_problem(&problem) },
            WorkerEnd::Done => WorkerEnd::Done,
        };
        let line = encode(&BrokerMessage::Ended { ended })?;
        self.write(&line)
    }

    fn unsaid_problem(&self) -> Problem {
        Problem::no_change(
            ErrorCode::TooLarge,
            format!("the names of {} files are too long to be reported", self.unsaid),
            "Look at those files by hand.",
        )
    }

    /// Sends a message whole, or shortened when it is longer than the engine takes; whether it went.
    fn send(&mut self, message: &BrokerMessage, shorter: impl FnOnce() -> Option<BrokerMessage>) -> bool {
        let line = encode(message).ok().filter(|line| fits(line));
        let line = line.or_else(|| shorter().and_then(|message| encode(&message).ok()).filter(|line| fits(line)));
        let Some(line) = line else { return false };
        if self.write(&line).is_err() {
            // The engine is gone. The watcher sees it too; whoever is first ends the process.
            leave(EXIT_NO_ENGINE);
        }
        true
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.out.write_all(line)?;
        self.out.write_all(b"\n")?;
        self.out.flush()
    }
}

fn encode(message: &BrokerMessage) -> io::Result<Vec<u8>> {
    Ok(serde_json::to_vec(message)?)
}

fn fits(line: &[u8]) -> bool {
    line.len() < MAX_LINE_BYTES
}

impl<W: Write> Sink for BrokerSink<W> {
    fn progress(&mut self, progress: Progress) {
        let shorter = Progress { line: shorten(&progress.line, SHORT), unit: shorten(&progress.unit, SHORT), ..progress };
        // What is too long even so is a tick nobody misses: another comes.
        let _ = self.send(&BrokerMessage::Progress { progress: shorter }, || None);
    }

    fn log(&mut self, level: LogLevel, text: &str) {
        for line in text.lines() {
            let _ = self.send(&BrokerMessage::Log { level, text: shorten(line, LOG_LINE) }, || None);
        }
    }

    fn finding(&mut self, finding: Finding) {
        let message = BrokerMessage::Finding { finding: Box::new(finding) };
        let sent = self.send(&message, || {
            let BrokerMessage::Finding { finding } = &message else { return None };
            Some(BrokerMessage::Finding { finding: Box::new(shorter(finding)) })
        });
        if !sent {
            let BrokerMessage::Finding { finding } = message else { return };
            let name = shorten(&finding.file.lossy(), SHORT);
            self.log(LogLevel::Error, &format!("a finding of rule {} in `{name}` is too long to be reported", finding.rule));
            self.unsaid += 1;
        }
    }

    fn covered(&mut self, entry: CoverageEntry) {
        let message = BrokerMessage::Covered { entry };
        let sent = self.send(&message, || {
            let BrokerMessage::Covered { entry } = &message else { return None };
            let status = match &entry.status {
                CoverageStatus::Partial(reason) => CoverageStatus::Partial(shorten(reason, SHORT)),
                CoverageStatus::Failed(reason) => CoverageStatus::Failed(shorten(reason, SHORT)),
                kept @ (CoverageStatus::Reviewed | CoverageStatus::Skipped(_)) => kept.clone(),
            };
            Some(BrokerMessage::Covered { entry: CoverageEntry { file: entry.file.clone(), status } })
        });
        if !sent {
            self.log(LogLevel::Error, "the name of a file is too long to be reported");
            self.unsaid += 1;
        }
    }
}

/// The finding with its long fields cut, and words where they were.
fn shorter(finding: &Finding) -> Finding {
    let mut finding = finding.clone();
    finding.title = shorten(&finding.title, SHORT);
    finding.quote = shorten(&finding.quote, SHORT);
    finding.body = shorten(&finding.body, SHORT);
    // Half a patch is worse than none.
    if let Some(suggestion) = &mut finding.suggestion
        && suggestion.patch.take_if(|patch| patch.len() > SHORT).is_some()
    {
        finding.body.push_str("\n\nThe suggested patch was too long to be kept.");
    }
    finding
}

fn short_problem(problem: &Problem) -> Problem {
    Problem {
        code: problem.code,
        message: shorten(&problem.message, SHORT),
        disk_effect: shorten(&problem.disk_effect, SHORT),
        fix: problem.fix.iter().take(8).map(|fix| shorten(fix, SHORT)).collect(),
    }
}

/// At most `limit` bytes of `text`, and how much was left out.
fn shorten(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let kept = text.floor_char_boundary(limit);
    format!("{} … (shortened: {} bytes left out)", &text[..kept], text.len() - kept)
}

#[cfg(test)]
mod tests {
    use st_model::finding::{Anchor, FindingStatus, Severity, Side, Suggestion};
    use st_model::path::RepoPath;
    use st_model::retry::FailureClass;

    use super::*;

    fn finding() -> Finding {
        Finding {
            id: 0,
            file: RepoPath::parse(b"src/a.rs").unwrap(),
            old_file: None,
            side: Side::New,
            start_line: 1,
            end_line: 1,
            severity: Severity::Low,
            rule: "test.rule".into(),
            title: "t".into(),
            body: "b".into(),
            quote: "q".into(),
            anchor: Anchor::Exact,
            suggestion: None,
            base: None,
            runner: "rules".into(),
            confidence: 1.0,
            cwe: None,
            fingerprint: "f".into(),
            status: FindingStatus::New,
        }
    }

    fn said(act: impl FnOnce(&mut BrokerSink<&mut Vec<u8>>)) -> Vec<BrokerMessage> {
        let mut out = Vec::new();
        act(&mut BrokerSink::new(&mut out));
        let lines = out.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        lines
            .map(|line| {
                assert!(line.len() < MAX_LINE_BYTES);
                serde_json::from_slice(line).unwrap()
            })
            .collect()
    }

    #[test]
    fn what_fits_goes_as_it_is() {
        let sent = said(|sink| {
            sink.finding(finding());
            sink.end(WorkerEnd::Done).unwrap();
        });
        assert_eq!(sent, [BrokerMessage::Finding { finding: Box::new(finding()) }, BrokerMessage::Ended { ended: WorkerEnd::Done }]);
    }

    #[test]
    fn a_finding_that_is_too_long_is_shortened_and_says_so() {
        let long = Finding {
            body: "\u{1}".repeat(200_000),
            quote: "ü".repeat(100_000),
            suggestion: Some(Suggestion { patch: Some("p".repeat(300_000)) }),
            ..finding()
        };
        let [BrokerMessage::Finding { finding }] = &said(|sink| sink.finding(long))[..] else { panic!("one finding") };
        assert!(finding.body.contains("(shortened: 195904 bytes left out)"));
        assert!(finding.body.ends_with("The suggested patch was too long to be kept."));
        assert!(finding.quote.contains("shortened"));
        assert_eq!(finding.suggestion, Some(Suggestion { patch: None }));
    }

    #[test]
    fn a_file_that_can_not_be_named_makes_the_review_partial() {
        let file = RepoPath::parse("n".repeat(MAX_LINE_BYTES).as_bytes()).unwrap();
        let sent = said(|sink| {
            sink.covered(CoverageEntry { file, status: CoverageStatus::Reviewed });
            sink.end(WorkerEnd::Done).unwrap();
        });
        let [BrokerMessage::Log { level: LogLevel::Error, .. }, BrokerMessage::Ended { ended: WorkerEnd::Partial { problem } }] = &sent[..]
        else {
            panic!("{sent:?}")
        };
        assert_eq!(problem.code, ErrorCode::TooLarge);
    }

    #[test]
    fn long_reasons_and_problems_are_shortened() {
        let file = RepoPath::parse(b"a").unwrap();
        let words = "\"".repeat(MAX_LINE_BYTES);
        let sent = said(|sink| {
            sink.covered(CoverageEntry { file, status: CoverageStatus::Failed(words.clone()) });
            sink.log(LogLevel::Info, &words);
            let problem = Problem::no_change(ErrorCode::Internal, words.clone(), words.clone());
            sink.end(WorkerEnd::Failed { class: FailureClass::Permanent, problem }).unwrap();
        });
        assert_eq!(sent.len(), 3);
    }
}

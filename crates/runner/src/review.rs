//! A review from job to findings: parse or compare, classify, run the rules file by file.

mod input;
mod lanes;
mod machine;

use std::collections::BTreeMap;
use std::path::Path;

use st_model::broker::{LogLevel, WorkerEnd};
use st_model::coverage::{CoverageEntry, CoverageStatus};
use st_model::event::Progress;
use st_model::finding::Finding;
use st_model::path::RepoPath;
use st_model::port::Clock;
use st_model::problem::{ErrorCode, Problem};
use st_model::retry::FailureClass;

use crate::rules::config::Config;
use crate::rules::pack::Pack;
use crate::rules::{self, Facts};
use input::Input;
use machine::MachineClock;

/// Where a review's results go, as they come.
pub trait Sink {
    /// How far it is.
    fn progress(&mut self, progress: Progress);
    /// A line for the log.
    fn log(&mut self, level: LogLevel, text: &str);
    /// A remark.
    fn finding(&mut self, finding: Finding);
    /// A file is finished with.
    fn covered(&mut self, entry: CoverageEntry);
}

/// Runs the review whose manifest (`job.json`, a [`st_model::review::ReviewJob`]) and blobs
/// (`blobs/ID`) lie in `dir`.
///
/// Findings of a file come before its ledger line. Every file of the change gets exactly one line.
pub fn run(dir: &Path, sink: &mut dyn Sink) -> WorkerEnd {
    run_with(dir, sink, &MachineClock::default())
}

/// [`run`] with the clock given.
pub fn run_with(dir: &Path, sink: &mut dyn Sink, clock: &dyn Clock) -> WorkerEnd {
    let started = clock.monotonic();
    let pack = match Pack::embedded() {
        Ok(pack) => pack,
        Err(error) => {
            let problem =
                Problem::no_change(ErrorCode::Internal, format!("The rules of this build are broken: {error}"), "Install Sidetrack again.");
            return WorkerEnd::Failed { class: FailureClass::Permanent, problem };
        }
    };
    let input = match Input::read(dir) {
        Ok(input) => input,
        Err((class, problem)) => return WorkerEnd::Failed { class, problem },
    };
    let config = read_config(&input, pack, sink);
    for note in &input.notes {
        sink.log(LogLevel::Info, note);
    }
    let mut review =
        Review { pack, config: &config, clock, sink, tally: Tally::default(), facts: Vec::new(), owners: Vec::new(), next_id: 1 };
    review.files(&input);
    review.across(&input);
    let seconds = (clock.monotonic() - started).as_secs_f64();
    let Review { tally, sink, .. } = review;
    sink.log(LogLevel::Info, &tally.summary(seconds));
    tally.end()
}

fn read_config(input: &Input, pack: &Pack, sink: &mut dyn Sink) -> Config {
    let bytes = match input.config() {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Config::default(),
        Err(error) => {
            sink.log(LogLevel::Warn, &format!("The repository's .sidetrack.toml could not be read ({error}); going on with the defaults"));
            return Config::default();
        }
    };
    match Config::parse(&bytes, pack) {
        Ok((config, notes)) => {
            for note in notes {
                sink.log(LogLevel::Warn, &note);
            }
            config
        }
        Err(error) => {
            let words = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
            sink.log(LogLevel::Warn, &format!("The repository's .sidetrack.toml was not understood; going on with the defaults: {words}"));
            Config::default()
        }
    }
}

struct Review<'a> {
    pack: &'static Pack,
    config: &'a Config,
    clock: &'a dyn Clock,
    sink: &'a mut dyn Sink,
    tally: Tally,
    facts: Vec<Facts>,
    /// For each of `facts`, its file's index.
    owners: Vec<usize>,
    next_id: u32,
}

impl Review<'_> {
    fn files(&mut self, input: &Input) {
        let settled = input.settled.len();
        let total = u64::try_from(input.len() + settled).ok();
        for entry in &input.settled {
            self.cover(entry.clone());
        }
        let (pack, config, clock) = (self.pack, self.config, self.clock);
        let work = |index| judge(pack, config, clock, input, index);
        lanes::in_order(input.len(), lanes::lanes(), work, |index, judged| {
            let done = u64::try_from(settled + index).unwrap_or(u64::MAX);
            self.sink.progress(Progress { done, total, unit: "files".into(), line: input.path(index).lossy() });
            self.take(index, input.path(index).clone(), judged);
        });
        self.sink.progress(Progress { done: total.unwrap_or(0), total, unit: "files".into(), line: String::new() });
    }

    /// Passes on what was found in one file, then its line of the ledger.
    fn take(&mut self, index: usize, file: RepoPath, judged: Judged) {
        for (level, note) in judged.notes {
            self.sink.log(level, &note);
        }
        for finding in judged.findings {
            self.tell(finding);
        }
        if let Some(facts) = judged.facts {
            self.facts.push(facts);
            self.owners.push(index);
        }
        self.tally.added += judged.lines.0;
        self.tally.removed += judged.lines.1;
        self.cover(CoverageEntry { file, status: judged.status });
    }

    fn across(&mut self, input: &Input) {
        let findings = {
            let owners = &self.owners;
            rules::review_across(self.pack, self.config, &self.facts, |index, take| {
                if let Some(Ok(loaded)) = owners.get(index).map(|&owner| input.load(owner)) {
                    take(loaded.input());
                }
            })
        };
        for finding in findings {
            self.tell(finding);
        }
    }

    fn tell(&mut self, mut finding: Finding) {
        finding.id = self.next_id;
        self.next_id = self.next_id.saturating_add(1);
        self.tally.findings += 1;
        self.sink.finding(finding);
    }

    fn cover(&mut self, entry: CoverageEntry) {
        self.tally.count(&entry);
        self.sink.covered(entry);
    }
}

/// What one file came to. Its bytes are let go of before this waits for its turn.
struct Judged {
    notes: Vec<(LogLevel, String)>,
    findings: Vec<Finding>,
    facts: Option<Facts>,
    /// Added and removed lines.
    lines: (u64, u64),
    status: CoverageStatus,
}

/// Reads and judges one file. Any number of these run side by side.
fn judge(pack: &Pack, config: &Config, clock: &dyn Clock, input: &Input, index: usize) -> Judged {
    match input.load(index) {
        Ok(loaded) => {
            let reviewed = rules::review_file(pack, config, clock, loaded.input());
            Judged {
                notes: reviewed.notes,
                findings: reviewed.findings,
                facts: reviewed.facts,
                lines: loaded.change().line_counts(),
                status: reviewed.status,
            }
        }
        Err(status) => Judged { notes: Vec::new(), findings: Vec::new(), facts: None, lines: (0, 0), status },
    }
}

/// What was done, counted.
#[derive(Debug, Default)]
struct Tally {
    files: usize,
    reviewed: usize,
    partial: usize,
    skipped: BTreeMap<&'static str, usize>,
    failed: Vec<(String, String)>,
    findings: usize,
    added: u64,
    removed: u64,
}

impl Tally {
    fn count(&mut self, entry: &CoverageEntry) {
        self.files += 1;
        match &entry.status {
            CoverageStatus::Reviewed => self.reviewed += 1,
            CoverageStatus::Partial(_) => self.partial += 1,
            CoverageStatus::Skipped(reason) => *self.skipped.entry(reason.words()).or_default() += 1,
            CoverageStatus::Failed(reason) => self.failed.push((entry.file.lossy(), reason.clone())),
        }
    }

    fn summary(&self, seconds: f64) -> String {
        let skipped: Vec<String> = self.skipped.iter().map(|(words, count)| format!("{count} {words}")).collect();
        let skipped = if skipped.is_empty() { "none".to_owned() } else { skipped.join(", ") };
        let peak = machine::peak_memory_kib().map_or_else(|| "unknown".to_owned(), |kib| format!("{:.1} MiB", kib / 1024.0));
        format!(
            "{} files, {} lines added and {} removed: {} reviewed, {} in part, {} failed; left out: {skipped}. {} findings in {seconds:.2} s, peak memory {peak}. {}",
            self.files,
            self.added,
            self.removed,
            self.reviewed,
            self.partial,
            self.failed.len(),
            self.findings,
            rules::DISCLAIMER,
        )
    }

    fn end(&self) -> WorkerEnd {
        let Some((file, reason)) = self.failed.first() else { return WorkerEnd::Done };
        let more = match self.failed.len() - 1 {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        let message = format!("{} of {} files could not be reviewed: {file} ({reason}){more}", self.failed.len(), self.files);
        let problem = Problem::no_change(
            ErrorCode::Unreadable,
            message,
            "Look at the coverage list for the cause of each file, then run the review again.",
        );
        if self.reviewed + self.partial + self.findings == 0 && self.skipped.is_empty() {
            WorkerEnd::Failed { class: FailureClass::Permanent, problem }
        } else {
            WorkerEnd::Partial { problem }
        }
    }
}

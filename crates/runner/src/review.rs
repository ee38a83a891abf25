//! A review from job to findings: parse or compare, classify, run the rules file by file.

use std::path::Path;

use st_model::broker::{LogLevel, WorkerEnd};
use st_model::coverage::CoverageEntry;
use st_model::event::Progress;
use st_model::finding::Finding;

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
    let _ = sink;
    todo!("{dir:?}")
}

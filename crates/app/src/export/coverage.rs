//! What a review may say about what it looked at.

use super::{Report, count};
use crate::dto::{CoverageDto, StateDto};

/// The ledger in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// One line: "No findings. All 6 files were reviewed", "7 findings (2 high) in 58 of 60 files".
    pub headline: String,
    /// Whether the review may say that nothing was found.
    pub clean: bool,
    /// Files that should have been looked at in full and were not, each with the reason.
    pub gaps: Vec<Line>,
    /// Files left out by a stated rule, with the rule.
    pub left_out: Vec<Line>,
}

/// A file and why it is mentioned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The file.
    pub file: String,
    /// Why.
    pub reason: String,
}

/// What `report` may say.
#[must_use]
pub fn statement(report: &Report<'_>) -> Statement {
    let (mut reviewed, mut gaps, mut left_out) = (0, Vec::new(), Vec::new());
    for entry in report.coverage {
        match standing(entry) {
            Standing::Reviewed => reviewed += 1,
            Standing::LeftOut(reason) => left_out.push(Line { file: entry.file.clone(), reason }),
            Standing::Gap(reason) => gaps.push(Line { file: entry.file.clone(), reason }),
        }
    }
    let finished = report.task.state == StateDto::Done;
    let clean = finished && report.task.clean && gaps.is_empty() && report.findings.is_empty();
    let files = report.coverage.len();
    let seen = match (files, gaps.len() + left_out.len()) {
        (0, _) => "no file was reviewed".to_owned(),
        // The ledger of a review that was cut off holds only what it came to.
        (_, 0) if !finished => format!("{} reviewed", count(files, "file")),
        (1, 0) => "the one file was reviewed".to_owned(),
        (_, 0) => format!("all {files} files were reviewed"),
        _ => format!("{reviewed} of {} reviewed in full", count(files, "file")),
    };
    let headline = match report.task.state {
        StateDto::Failed => format!("The review failed; {seen}"),
        StateDto::Cancelled => format!("The review was cancelled; {seen}"),
        StateDto::Partial => format!("The review stopped early; {seen}"),
        StateDto::Queued | StateDto::Retrying => "The review has not begun".to_owned(),
        StateDto::Running | StateDto::RollingBack | StateDto::NeedsRecovery => format!("The review is not finished; {seen} so far"),
        StateDto::Done if clean => format!("No findings; {seen}"),
        StateDto::Done if report.findings.is_empty() => format!("Nothing was found in what was reviewed; {seen}"),
        StateDto::Done => format!("{}; {seen}", findings_in_words(report)),
    };
    let headline = match (report.task.state, report.findings.is_empty()) {
        (StateDto::Done, _) | (_, true) => headline,
        (_, false) => format!("{headline}; {}", findings_in_words(report)),
    };
    Statement { headline, clean, gaps, left_out }
}

/// `7 findings (2 high, 1 medium, 4 low)`.
#[must_use]
pub fn findings_in_words(report: &Report<'_>) -> String {
    let of = |severity: &str| report.findings.iter().filter(|finding| finding.severity == severity).count();
    let parts: Vec<String> = ["high", "medium", "low", "info"]
        .iter()
        .map(|severity| (of(severity), severity))
        .filter(|(number, _)| *number > 0)
        .map(|(number, severity)| format!("{number} {severity}"))
        .collect();
    format!("{} ({})", count(report.findings.len(), "finding"), parts.join(", "))
}

enum Standing {
    Reviewed,
    LeftOut(String),
    Gap(String),
}

fn standing(entry: &CoverageDto) -> Standing {
    let reason = entry.reason.clone().unwrap_or_else(|| "no reason was given".to_owned());
    match entry.status.as_str() {
        "reviewed" => Standing::Reviewed,
        "skipped" if !NOT_BY_CHOICE.contains(&reason.as_str()) => Standing::LeftOut(reason),
        _ => Standing::Gap(reason),
    }
}

/// Reasons for a skipped file that are no choice of anyone, in words and as written in JSON
/// ([`st_model::coverage::SkipReason::allows_clean`] is false for them; a test compares).
const NOT_BY_CHOICE: [&str; 6] = [
    "too large to review",
    "too_large",
    "changed while reading",
    "changed_while_reading",
    "a repository of its own, not entered",
    "nested_repository",
];

#[cfg(test)]
mod tests {
    use super::*;
    use st_model::coverage::SkipReason;

    #[test]
    fn the_reasons_that_forbid_no_findings_are_the_models() {
        for reason in [
            SkipReason::Binary,
            SkipReason::Submodule,
            SkipReason::Symlink,
            SkipReason::Generated,
            SkipReason::LockFile,
            SkipReason::Excluded,
            SkipReason::NoTextChange,
            SkipReason::TooLarge,
            SkipReason::ChangedWhileReading,
            SkipReason::NestedRepository,
            SkipReason::NoGrammar,
        ] {
            let name = serde_json::to_value(&reason).unwrap();
            for word in [reason.words(), name.as_str().unwrap()] {
                assert_eq!(NOT_BY_CHOICE.contains(&word), !reason.allows_clean(), "{word}");
            }
        }
    }
}

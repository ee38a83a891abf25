//! The coverage ledger: what a review did with every file, so that silence is never mistaken
//! for approval.

use serde::{Deserialize, Serialize};

use crate::path::RepoPath;

/// What a review did with one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoverageEntry {
    /// The file.
    pub file: RepoPath,
    /// What was done.
    #[serde(flatten)]
    pub status: CoverageStatus,
}

/// What was done with a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "status", content = "reason")]
pub enum CoverageStatus {
    /// Every changed line was looked at.
    Reviewed,
    /// Some changed lines were not; the text says which and why.
    Partial(String),
    /// Left out by a stated rule.
    Skipped(SkipReason),
    /// Should have been looked at and was not; the text says why.
    Failed(String),
}

/// The stated rules by which a file is left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// Binary content.
    Binary,
    /// A submodule pointer.
    Submodule,
    /// A symbolic link; never followed.
    Symlink,
    /// Generated, minified or vendored by name, marker or attribute.
    Generated,
    /// A lock file.
    LockFile,
    /// Excluded by the repository's configuration.
    Excluded,
    /// Only its mode, name or nothing at all changed.
    NoTextChange,
    /// Larger than the review takes.
    TooLarge,
    /// Its bytes moved while they were being pinned.
    ChangedWhileReading,
    /// A repository inside the reviewed folder that is no submodule of it; not entered.
    NestedRepository,
    /// No grammar for its language; the checks that need none did run.
    NoGrammar,
}

impl SkipReason {
    /// In words, for a person.
    #[must_use]
    pub fn words(&self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Submodule => "submodule pointer",
            Self::Symlink => "symbolic link, not followed",
            Self::Generated => "generated or vendored",
            Self::LockFile => "lock file",
            Self::Excluded => "excluded by configuration",
            Self::NoTextChange => "no text changed",
            Self::TooLarge => "too large to review",
            Self::ChangedWhileReading => "changed while reading",
            Self::NestedRepository => "a repository of its own, not entered",
            Self::NoGrammar => "no grammar for its language",
        }
    }

    /// Whether leaving the file out still lets a review say that nothing was found.
    ///
    /// A file that is too large or moved under the reader was not excluded by choice, and a
    /// repository inside may hold anything.
    #[must_use]
    pub fn allows_clean(&self) -> bool {
        !matches!(self, Self::TooLarge | Self::ChangedWhileReading | Self::NestedRepository)
    }
}

/// Whether the ledger lets a review say "no findings": every file reviewed or left out by choice.
#[must_use]
pub fn allows_clean<'a>(ledger: impl IntoIterator<Item = &'a CoverageEntry>) -> bool {
    ledger.into_iter().all(|entry| match &entry.status {
        CoverageStatus::Reviewed => true,
        CoverageStatus::Skipped(reason) => reason.allows_clean(),
        CoverageStatus::Partial(_) | CoverageStatus::Failed(_) => false,
    })
}

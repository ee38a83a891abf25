//! Review remarks.

use serde::{Deserialize, Serialize};

use crate::path::RepoPath;
use crate::version::VersionPointer;

/// How much a finding matters. Ordered from least to most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Small.
    Low,
    /// Should be fixed.
    Medium,
    /// A defect or a hole.
    High,
}

/// Side of the diff a line number counts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// After the change.
    New,
    /// Before the change: for removals.
    Old,
}

/// How firmly a finding stands on its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Anchor {
    /// The quote is on those lines.
    Exact,
    /// The quote was found near by and the lines moved there.
    Snapped,
    /// The finding is about the file as a whole.
    File,
}

/// Standing of a finding against an earlier review of the same change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingStatus {
    /// Not seen before.
    #[default]
    New,
    /// Seen in an earlier review.
    Known,
    /// Seen earlier and gone now.
    Fixed,
    /// Set aside by the user.
    Dismissed,
}

/// A change that would settle a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suggestion {
    /// A unified diff against the new side that `git apply` takes; none when only words are certain.
    pub patch: Option<String>,
}

/// One review remark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Number within the task, from 1.
    pub id: u32,
    /// The file (new path; old path for a deleted file).
    pub file: RepoPath,
    /// Path before a rename.
    pub old_file: Option<RepoPath>,
    /// Side the lines count on.
    pub side: Side,
    /// First line, from 1; 0 when the anchor is the file.
    pub start_line: u32,
    /// Last line; 0 when the anchor is the file.
    pub end_line: u32,
    /// How much it matters.
    pub severity: Severity,
    /// Rule id, such as `security.sql-concat`.
    pub rule: String,
    /// One line.
    pub title: String,
    /// Why it matters and what to do; Markdown without raw HTML.
    pub body: String,
    /// The source it is about, verbatim (at most 20 lines of 400 characters).
    pub quote: String,
    /// How firmly it stands on its lines.
    pub anchor: Anchor,
    /// A change that would settle it.
    pub suggestion: Option<Suggestion>,
    /// What the reviewed file held, when known.
    pub base: Option<VersionPointer>,
    /// Who says so: `rules`, `llm`, ….
    pub runner: String,
    /// 0 to 1.
    pub confidence: f32,
    /// Weakness number of the common list, such as `CWE-89`.
    pub cwe: Option<String>,
    /// Stable over re-reviews: hash of rule, path, normalised quote and occurrence.
    pub fingerprint: String,
    /// Standing against an earlier review.
    pub status: FindingStatus,
}

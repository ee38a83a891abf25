//! The task: a self-contained row.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::claim::ClaimSet;
use crate::finding::Severity;
use crate::id::{AttemptId, TaskId, TaskNumber};
use crate::retry::RetryPolicy;
use crate::review::{ReviewSource, RunnerName};
use crate::state::{ChangeState, TaskState};
use crate::time::Timestamp;
use crate::version::BlobId;

/// How urgent a task is. Ordered from least to most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// After the others.
    Low,
    /// The default.
    #[default]
    Normal,
    /// Before the others.
    High,
}

/// What a task does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum TaskKind {
    /// Reads a change and makes findings.
    Review {
        /// What is reviewed.
        source: ReviewSource,
        /// Who does the thinking.
        runner: RunnerName,
    },
}

impl TaskKind {
    /// The kind as the contract names it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Review { .. } => "review",
        }
    }

    /// The runner's name.
    #[must_use]
    pub fn runner(&self) -> &'static str {
        match self {
            Self::Review { runner, .. } => runner.as_str(),
        }
    }
}

/// A file handed along with a task; its bytes are in the vault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// What to call it.
    pub name: String,
    /// Its bytes.
    pub blob: BlobId,
}

/// One turn of a conversation handed along with a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// `user` or `assistant`.
    pub role: String,
    /// What was said.
    pub text: String,
}

/// What a task knows beside its kind. Together with the kind it makes the row self-contained:
/// nothing of the submitting session is needed later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskContext {
    /// Files handed along.
    pub files: Vec<Attachment>,
    /// Instructions in words.
    pub instructions: Option<String>,
    /// The conversation that led here.
    pub conversation: Vec<Turn>,
    /// Settings in force at submit, by key.
    pub configuration: BTreeMap<String, String>,
}

/// Bounds on one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Longest run of one attempt.
    pub wall_timeout: Duration,
    /// Attempts and backoff.
    pub retry: RetryPolicy,
}

impl Default for Limits {
    /// 10 min an attempt, three attempts (design.md §5).
    fn default() -> Self {
        Self { wall_timeout: Duration::from_secs(600), retry: RetryPolicy::default() }
    }
}

/// A task as submitted, before it has a number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewTask {
    /// Identity, made by the caller so that a repeated submit is recognised.
    pub id: TaskId,
    /// One line for people.
    pub title: String,
    /// What it does.
    pub kind: TaskKind,
    /// What it knows.
    pub context: TaskContext,
    /// What it wants.
    pub claims: ClaimSet,
    /// How urgent it is.
    pub priority: Priority,
    /// Its bounds.
    pub limits: Limits,
    /// The finished task this one runs again, if any.
    pub rerun_of: Option<TaskId>,
}

/// Findings by severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingCounts {
    /// Defects and holes.
    pub high: u32,
    /// Should be fixed.
    pub medium: u32,
    /// Small.
    pub low: u32,
    /// Worth knowing.
    pub info: u32,
}

impl FindingCounts {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> u32 {
        self.high + self.medium + self.low + self.info
    }

    /// Those at or above `severity`.
    #[must_use]
    pub fn at_least(&self, severity: Severity) -> u32 {
        match severity {
            Severity::High => self.high,
            Severity::Medium => self.high + self.medium,
            Severity::Low => self.high + self.medium + self.low,
            Severity::Info => self.total(),
        }
    }

    /// Counts one more.
    pub fn add(&mut self, severity: Severity) {
        match severity {
            Severity::High => self.high += 1,
            Severity::Medium => self.medium += 1,
            Severity::Low => self.low += 1,
            Severity::Info => self.info += 1,
        }
    }
}

/// A task's row as it is now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Permanent identity.
    pub id: TaskId,
    /// Short number.
    pub number: TaskNumber,
    /// As submitted.
    pub submitted: NewTask,
    /// Where it is in its life.
    pub state: TaskState,
    /// Where its change is.
    pub change_state: ChangeState,
    /// Urgency now.
    pub priority: Priority,
    /// The newest attempt, if there was one.
    pub attempt: Option<AttemptId>,
    /// Attempts counted so far; one that an engine's death ended does not count.
    pub attempts: u32,
    /// Findings so far.
    pub findings: FindingCounts,
    /// Files in the coverage ledger so far.
    pub covered: u32,
    /// When it was queued.
    pub created_at: Timestamp,
    /// When its content was pinned.
    pub pinned_at: Option<Timestamp>,
    /// When its first attempt began.
    pub started_at: Option<Timestamp>,
    /// When it came to rest.
    pub finished_at: Option<Timestamp>,
}

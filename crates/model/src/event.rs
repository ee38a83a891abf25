//! Durable facts about a task, and the ticks that are not durable.

use serde::{Deserialize, Serialize};

use crate::coverage::CoverageEntry;
use crate::finding::Finding;
use crate::id::{AttemptId, EventSeq, TaskId, TaskNumber};
use crate::problem::Problem;
use crate::retry::FailureClass;
use crate::state::{Phase, StopCause};
use crate::task::Priority;
use crate::time::Timestamp;

/// A durable fact. `seq` rises in commit order over all tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Position in commit order.
    pub seq: EventSeq,
    /// The task.
    pub task: TaskId,
    /// The task's short number.
    pub number: TaskNumber,
    /// When it was committed.
    pub at: Timestamp,
    /// What happened.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "data")]
pub enum EventKind {
    /// The row is durable.
    Submitted {
        /// Title.
        title: String,
    },
    /// An attempt has the lease.
    Started {
        /// The attempt.
        attempt: AttemptId,
        /// Its number, from 1.
        number: u32,
    },
    /// The attempt entered a phase.
    PhaseEntered {
        /// The phase.
        phase: Phase,
    },
    /// The content is frozen: later edits don't move the review.
    Pinned {
        /// Files in the change; unknown until a patch is parsed.
        files: Option<u32>,
    },
    /// A review remark.
    Finding {
        /// The remark.
        finding: Box<Finding>,
    },
    /// A file's line in the coverage ledger.
    Covered {
        /// The entry.
        entry: CoverageEntry,
    },
    /// Something a person should know that changes no state.
    Note {
        /// In words.
        text: String,
    },
    /// The running attempt is being stopped.
    Stopping {
        /// Why.
        cause: StopCause,
    },
    /// An attempt ended and another will follow.
    Retrying {
        /// When, absolute.
        retry_at: Timestamp,
        /// Number of the attempt that failed.
        attempt: u32,
        /// Class of the failure.
        class: FailureClass,
        /// What went wrong.
        problem: Problem,
    },
    /// Back in the queue: without counting the attempt, or because its next one is due.
    Requeued {
        /// Why.
        reason: String,
    },
    /// Came to rest.
    Settled {
        /// `done`, `partial`, `failed` or `cancelled`.
        state: String,
        /// Why, unless done.
        problem: Option<Problem>,
    },
    /// Another urgency.
    PriorityChanged {
        /// The new one.
        priority: Priority,
    },
}

impl EventKind {
    /// The kind as the contract names it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Submitted { .. } => "submitted",
            Self::Started { .. } => "started",
            Self::PhaseEntered { .. } => "phase_entered",
            Self::Pinned { .. } => "pinned",
            Self::Finding { .. } => "finding",
            Self::Covered { .. } => "covered",
            Self::Note { .. } => "note",
            Self::Stopping { .. } => "stopping",
            Self::Retrying { .. } => "retrying",
            Self::Requeued { .. } => "requeued",
            Self::Settled { .. } => "settled",
            Self::PriorityChanged { .. } => "priority_changed",
        }
    }
}

/// How far an attempt is. Last one wins; never stored as an event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Units done.
    pub done: u64,
    /// Units in all, once known.
    pub total: Option<u64>,
    /// What is counted, such as `files`.
    pub unit: String,
    /// One line: what is being looked at.
    pub line: String,
}

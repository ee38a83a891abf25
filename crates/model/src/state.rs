//! Where a task is in its life, and the one table of where it may go.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::{AttemptId, BootId, Fence};
use crate::problem::Problem;
use crate::retry::FailureClass;
use crate::time::Timestamp;

/// The lease of the attempt that runs a task, as the row knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseRef {
    /// The attempt.
    pub attempt: AttemptId,
    /// Its number, from 1.
    pub number: u32,
    /// Fencing token; a write with an older one is refused.
    pub fence: Fence,
    /// The engine that holds it.
    pub boot: BootId,
}

/// Stations of a running attempt, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Freezing the content.
    Pin,
    /// Looking at it.
    Review,
    /// Closing the ledger and the report.
    Report,
}

/// Why a running attempt is being stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopCause {
    /// The user said so.
    Cancelled,
    /// The wall timeout.
    TimedOut,
    /// The engine is ending.
    EngineStop,
}

/// What a running attempt is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "activity")]
pub enum Activity {
    /// Working.
    Working {
        /// Where it is.
        phase: Phase,
    },
    /// Waiting for a provider inside the gateway.
    Throttled {
        /// When it goes on, absolute.
        retry_at: Timestamp,
        /// This try.
        n: u32,
        /// Of so many.
        of: u32,
        /// In words.
        cause: String,
    },
    /// Being stopped; said until the process tree was seen empty.
    Stopping {
        /// Why.
        cause: StopCause,
    },
}

/// A state in which nothing more happens by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "rest")]
pub enum RestState {
    /// All of it.
    Done,
    /// Stopped early, results kept.
    Partial {
        /// Why.
        problem: Problem,
    },
    /// No result.
    Failed {
        /// Why.
        problem: Problem,
    },
    /// Stopped by the user.
    Cancelled,
}

/// Where a task is in its life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum TaskState {
    /// Waiting for its turn.
    Queued,
    /// An attempt has the lease.
    Running {
        /// Whose.
        lease: LeaseRef,
        /// Doing what.
        activity: Activity,
    },
    /// No process; another attempt comes.
    Retrying {
        /// When, absolute.
        retry_at: Timestamp,
        /// Why the last one ended.
        class: FailureClass,
        /// In words.
        problem: Problem,
    },
    /// Undoing what was published.
    RollingBack {
        /// Where it rests afterwards.
        then: RestState,
    },
    /// The undoing needs a human.
    NeedsRecovery {
        /// Where it rests afterwards.
        then: RestState,
    },
    /// At rest.
    Resting {
        /// How.
        rest: RestState,
    },
}

/// What can happen to a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskEvent {
    /// A worker takes it.
    Claim(LeaseRef),
    /// The attempt entered a phase.
    Enter(Phase),
    /// The gateway waits for a provider.
    Throttle {
        /// When it goes on.
        retry_at: Timestamp,
        /// This try.
        n: u32,
        /// Of so many.
        of: u32,
        /// In words.
        cause: String,
    },
    /// The running attempt is to end.
    Stop(StopCause),
    /// The user wants a task that does not run to end.
    Cancel,
    /// The attempt ended and its process tree was seen empty.
    Settle(Settlement),
    /// The engine that ran the attempt is dead, and so is the attempt.
    EngineLost,
    /// A retry's time has come.
    Due,
    /// Undo what a resting task published.
    RollBack,
    /// Everything is undone.
    RolledBack,
    /// The undoing can't finish alone.
    Stuck,
    /// The user decided; go on undoing.
    Resume,
    /// The user closes the recovery.
    Finish,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// To rest.
    Rest(RestState),
    /// To be tried again.
    Retry {
        /// When.
        retry_at: Timestamp,
        /// Class of the failure.
        class: FailureClass,
        /// In words.
        problem: Problem,
    },
    /// Back in the queue, the attempt not counted.
    Requeue,
    /// What it published is undone first.
    RollBack {
        /// Where it rests afterwards.
        then: RestState,
    },
}

/// The event does not fit the state. The state is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a task that is {state} can't take `{event}`")]
pub struct IllegalTransition {
    /// The state's name.
    pub state: &'static str,
    /// The event's name.
    pub event: &'static str,
}

impl TaskState {
    /// The transition table: the state after `event`.
    ///
    /// # Errors
    /// When the event does not fit the state.
    pub fn next(&self, event: &TaskEvent) -> Result<Self, IllegalTransition> {
        use TaskEvent as E;
        let next = match (self, event) {
            (Self::Queued, E::Claim(lease)) => Self::Running { lease: *lease, activity: Activity::Working { phase: Phase::Pin } },
            (Self::Queued | Self::Retrying { .. }, E::Cancel) => Self::Resting { rest: RestState::Cancelled },
            (Self::Retrying { .. }, E::Due) => Self::Queued,

            (Self::Running { lease, activity: Activity::Working { .. } | Activity::Throttled { .. } }, E::Enter(phase)) => {
                Self::Running { lease: *lease, activity: Activity::Working { phase: *phase } }
            }
            (
                Self::Running { lease, activity: Activity::Working { .. } | Activity::Throttled { .. } },
                E::Throttle { retry_at, n, of, cause },
            ) => {
                Self::Running { lease: *lease, activity: Activity::Throttled { retry_at: *retry_at, n: *n, of: *of, cause: cause.clone() } }
            }
            // A second stop keeps the first cause, save that a user's word outranks the rest.
            (Self::Running { lease, activity: Activity::Stopping { cause: held } }, E::Stop(cause)) => {
                let cause = if *cause == StopCause::Cancelled { *cause } else { *held };
                Self::Running { lease: *lease, activity: Activity::Stopping { cause } }
            }
            (Self::Running { lease, .. }, E::Stop(cause)) => {
                Self::Running { lease: *lease, activity: Activity::Stopping { cause: *cause } }
            }
            // A running task is cancelled by stopping it; `cancelled` is said only once its tree is empty.
            (
                Self::Running { activity: Activity::Stopping { cause: StopCause::Cancelled }, .. },
                E::Settle(Settlement::Rest(RestState::Cancelled)),
            ) => Self::Resting { rest: RestState::Cancelled },
            (
                Self::Running { .. },
                E::Settle(Settlement::Rest(rest @ (RestState::Done | RestState::Partial { .. } | RestState::Failed { .. }))),
            ) => Self::Resting { rest: rest.clone() },
            (
                Self::Running { activity: Activity::Working { .. } | Activity::Throttled { .. }, .. },
                E::Settle(Settlement::Retry { retry_at, class, problem }),
            ) => Self::Retrying { retry_at: *retry_at, class: *class, problem: problem.clone() },
            (Self::Running { activity, .. }, E::Settle(Settlement::Requeue) | E::EngineLost) => match activity {
                Activity::Stopping { cause: StopCause::Cancelled } => Self::Resting { rest: RestState::Cancelled },
                Activity::Working { .. } | Activity::Throttled { .. } | Activity::Stopping { .. } => Self::Queued,
            },
            (Self::Running { .. }, E::Settle(Settlement::RollBack { then })) => Self::RollingBack { then: then.clone() },

            (Self::Resting { rest }, E::RollBack) => Self::RollingBack { then: rest.clone() },
            (Self::RollingBack { then }, E::RolledBack) | (Self::NeedsRecovery { then }, E::Finish) => Self::Resting { rest: then.clone() },
            (Self::RollingBack { then }, E::Stuck) => Self::NeedsRecovery { then: then.clone() },
            (Self::NeedsRecovery { then }, E::Resume) => Self::RollingBack { then: then.clone() },

            (
                Self::Queued
                | Self::Running { .. }
                | Self::Retrying { .. }
                | Self::RollingBack { .. }
                | Self::NeedsRecovery { .. }
                | Self::Resting { .. },
                _,
            ) => {
                return Err(IllegalTransition { state: self.name(), event: event.name() });
            }
        };
        Ok(next)
    }

    /// The state as the contract names it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running { .. } => "running",
            Self::Retrying { .. } => "retrying",
            Self::RollingBack { .. } => "rolling_back",
            Self::NeedsRecovery { .. } => "needs_recovery",
            Self::Resting { rest } => rest.name(),
        }
    }

    /// Whether nothing more happens by itself.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        matches!(self, Self::Resting { .. })
    }

    /// The lease, while an attempt runs.
    #[must_use]
    pub fn lease(&self) -> Option<&LeaseRef> {
        match self {
            Self::Running { lease, .. } => Some(lease),
            Self::Queued | Self::Retrying { .. } | Self::RollingBack { .. } | Self::NeedsRecovery { .. } | Self::Resting { .. } => None,
        }
    }
}

impl RestState {
    /// The state as the contract names it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Partial { .. } => "partial",
            Self::Failed { .. } => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Why, unless all went well or the user stopped it.
    #[must_use]
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Partial { problem } | Self::Failed { problem } => Some(problem),
            Self::Done | Self::Cancelled => None,
        }
    }
}

impl TaskEvent {
    /// A name for messages.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Claim(_) => "claim",
            Self::Enter(_) => "enter",
            Self::Throttle { .. } => "throttle",
            Self::Stop(_) => "stop",
            Self::Cancel => "cancel",
            Self::Settle(_) => "settle",
            Self::EngineLost => "engine lost",
            Self::Due => "due",
            Self::RollBack => "roll back",
            Self::RolledBack => "rolled back",
            Self::Stuck => "stuck",
            Self::Resume => "resume",
            Self::Finish => "finish",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pin => "pin",
            Self::Review => "review",
            Self::Report => "report",
        })
    }
}

/// Where a task's change is, beside its state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeState {
    /// It makes none.
    #[default]
    None,
    /// Made and not published.
    Pending,
    /// Being published.
    Publishing,
    /// In the user's files.
    Published,
    /// Undone.
    RolledBack,
    /// Undone in part.
    PartlyRolledBack,
    /// Dropped.
    Discarded,
}

impl ChangeState {
    /// As the contract names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Pending => "pending",
            Self::Publishing => "publishing",
            Self::Published => "published",
            Self::RolledBack => "rolled_back",
            Self::PartlyRolledBack => "partly_rolled_back",
            Self::Discarded => "discarded",
        }
    }
}

#[cfg(test)]
mod tests;

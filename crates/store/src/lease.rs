//! The exclusive right to run one attempt.

use st_model::coverage::CoverageEntry;
use st_model::finding::Finding;
use st_model::id::AttemptId;
use st_model::state::{LeaseRef, Phase, Settlement};
use st_model::task::Task;
use st_model::time::Timestamp;

use crate::change::{AddFacts, Enter, Holder, RecordProcess, Settle};
use crate::error::StoreError;
use crate::store::Store;

/// The exclusive right to run one attempt: minted only by a claim, consumed by [`Lease::settle`].
///
/// Every write carries the fencing token. When the token is no longer the task's, the write
/// changes nothing and says [`StoreError::LeaseLost`].
#[must_use = "a lease that is dropped leaves its task running until the engine restarts"]
#[derive(Debug)]
pub struct Lease {
    pub(crate) store: Store,
    pub(crate) task: Task,
    pub(crate) held: LeaseRef,
}

/// A fact a running attempt adds to its task.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// The content is frozen. Sets `pinned_at`.
    Pinned {
        /// Files in the change, once known.
        files: Option<u32>,
    },
    /// A remark; kept once a fingerprint, and given its number by the store.
    Finding(Box<Finding>),
    /// A line of the coverage ledger; the newest line on a path wins.
    Covered(CoverageEntry),
    /// Something a person should know.
    Note(String),
}

/// The process of an attempt, told apart from a later one that was given the same number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedProcess {
    /// The attempt it worked for.
    pub attempt: AttemptId,
    /// Process id.
    pub pid: u32,
    /// When it started, in clock ticks since the machine's boot (field 22 of `/proc/PID/stat`).
    pub start_ticks: u64,
    /// The machine's boot (`/proc/sys/kernel/random/boot_id`).
    pub machine_boot: String,
}

/// A task whose engine is gone.
#[derive(Clone, Debug, PartialEq)]
pub struct Recovered {
    /// The task after its attempt was ended; `task.attempt` is that attempt.
    pub task: Task,
    /// The attempt's process, when one was recorded. It may still be alive.
    pub process: Option<RecordedProcess>,
}

/// One execution of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptRow {
    /// Its number, from 1. An attempt that was not counted shares its number with the next.
    pub number: u32,
    /// Its identity.
    pub id: AttemptId,
    /// When it took the lease.
    pub started_at: Timestamp,
    /// When it ended; none while it runs.
    pub ended_at: Option<Timestamp>,
    /// How it ended: `done`, `partial`, `failed`, `cancelled`, `retrying`, `requeued` or
    /// `engine_lost`; none while it runs.
    pub how: Option<String>,
}

impl Lease {
    /// The task as it was when claimed.
    #[must_use]
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// What is held.
    #[must_use]
    pub fn held(&self) -> &LeaseRef {
        &self.held
    }

    /// Enters a phase. Entering the one it is in changes nothing (a claim enters `Pin`).
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`], or an illegal transition when the attempt is being stopped.
    pub async fn enter(&self, phase: Phase) -> Result<Task, StoreError> {
        self.store.writer.make(Enter { holder: self.holder(), phase }).await
    }

    /// Adds facts in one transaction.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] and then nothing was added.
    pub async fn record(&self, records: Vec<Record>) -> Result<(), StoreError> {
        self.store.writer.make(AddFacts { holder: self.holder(), records }).await
    }

    /// Ends the attempt. The caller has seen its process tree empty.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] when the attempt was already closed for it.
    pub async fn settle(self, settlement: Settlement) -> Result<Task, StoreError> {
        self.store.writer.make(Settle { holder: self.holder(), settlement }).await
    }

    /// Ends the attempt as [`Lease::settle`] does, and gives the lease back with the error: when
    /// the store itself failed (a full disk), nothing was written, and it can be tried again.
    ///
    /// # Errors
    /// As for [`Lease::settle`].
    pub async fn try_settle(self, settlement: Settlement) -> Result<Task, (Box<Self>, StoreError)> {
        let settled = self.store.writer.make(Settle { holder: self.holder(), settlement }).await;
        settled.map_err(|error| (Box::new(self), error))
    }

    /// Keeps the identity of the attempt's process, on stable storage when it returns. To be
    /// called before the process is let go, so that no process is ever unknown to the next engine.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] and then the process must not be let go.
    pub async fn record_process(&self, pid: u32, start_ticks: u64, machine_boot: &str) -> Result<(), StoreError> {
        let process = RecordedProcess { attempt: self.held.attempt, pid, start_ticks, machine_boot: machine_boot.to_owned() };
        self.store.writer.make(RecordProcess { holder: self.holder(), process }).await
    }

    fn holder(&self) -> Holder {
        Holder { task: self.task.id, held: self.held }
    }
}

//! The exclusive right to run one attempt.

use st_model::coverage::CoverageEntry;
use st_model::finding::Finding;
use st_model::state::{LeaseRef, Phase, Settlement};
use st_model::task::Task;

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

    /// Enters a phase.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`], or an illegal transition when the attempt is being stopped.
    pub async fn enter(&self, phase: Phase) -> Result<Task, StoreError> {
        todo!("{phase}")
    }

    /// Adds facts in one transaction.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] and then nothing was added.
    pub async fn record(&self, records: Vec<Record>) -> Result<(), StoreError> {
        todo!("{records:?}")
    }

    /// Ends the attempt. The caller has seen its process tree empty.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] when the attempt was already closed for it.
    pub async fn settle(self, settlement: Settlement) -> Result<Task, StoreError> {
        todo!("{settlement:?}")
    }
}

//! What can go wrong in the store.

use st_model::state::IllegalTransition;

/// What can go wrong in the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The attempt no longer holds its lease: another claim or an operation came first.
    #[error("the lease is lost")]
    LeaseLost,
    /// No such task.
    #[error("no task has that number or id")]
    UnknownTask,
    /// The event does not fit the task's state.
    #[error(transparent)]
    Illegal(#[from] IllegalTransition),
    /// The database was written by a newer version.
    #[error("the database is of schema {found}, newer than this version's {known}")]
    TooNew {
        /// What it holds.
        found: i64,
        /// The newest this version knows.
        known: i64,
    },
    /// A row does not read back as what it should be.
    #[error("a stored {what} does not read back")]
    Corrupt {
        /// Which.
        what: &'static str,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// The disk is full.
    #[error("the disk is full")]
    DiskFull,
    /// The database failed.
    #[error("the database failed while {doing}")]
    Sql {
        /// What was attempted.
        doing: &'static str,
        /// Why.
        #[source]
        source: sqlx::Error,
    },
    /// The writer has stopped.
    #[error("the store is closed")]
    Closed,
}

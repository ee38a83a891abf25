//! The durable queue, the event log and the settings, in SQLite.
//!
//! The only crate with SQL. Nothing in its public face names SQLite: another store can stand
//! behind the same [`Queue`] port. One writer actor owns one connection and commits in groups;
//! a small pool of readers serves the rest. Every change of a task's state is one transaction
//! that also appends its event, and is told to subscribers only after the commit.

mod change;
pub mod error;
pub mod lease;
mod open;
pub mod port;
mod read;
mod row;
pub mod store;
mod writer;

pub use error::StoreError;
pub use lease::{AttemptRow, Lease, Record, RecordedProcess, Recovered};
pub use port::Queue;
pub use store::{CoverageCount, Store, StoreOptions, TaskFilter, library_version};

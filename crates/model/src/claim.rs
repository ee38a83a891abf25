//! The resource inventory of a task.
//!
//! A review works on pinned blobs and claims nothing. Whether two claims overlap is decided
//! with the tasks that write, where globs are compared exactly.

use serde::{Deserialize, Serialize};

/// When a task's claims are held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimHold {
    /// From lease to settlement.
    Held,
    /// Only while its change is published.
    #[default]
    AtPublish,
}

/// Something two tasks could both want.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "name")]
pub enum Resource {
    /// A path, directory or glob, canonical.
    Path(String),
    /// An SQLite database file, canonical.
    Sqlite(String),
    /// A free name.
    Named(String),
}

/// Whether others may hold the resource too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimMode {
    /// Readers together.
    Shared,
    /// One writer alone.
    Exclusive,
}

/// One wanted resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Claim {
    /// What is wanted.
    pub resource: Resource,
    /// How.
    pub mode: ClaimMode,
}

/// All that a task wants, granted together or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimSet {
    /// The claims.
    pub claims: Vec<Claim>,
    /// When they are held.
    pub hold: ClaimHold,
}

//! The SQLite store.

use std::path::PathBuf;
use std::sync::Arc;

use st_model::port::{Clock, Random};

use crate::error::StoreError;

/// How to open a store.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// The database file; made when missing.
    pub path: PathBuf,
    /// Where times come from.
    pub clock: Arc<dyn Clock>,
    /// Where ids come from.
    pub random: Arc<dyn Random>,
}

/// Which tasks to list.
#[derive(Clone, Debug, Default)]
pub struct TaskFilter {
    /// State names of the contract; empty for all.
    pub states: Vec<String>,
    /// At most so many; `None` for all.
    pub limit: Option<u32>,
}

/// A handle on the store; cheap to clone. Implements [`crate::Queue`].
#[derive(Clone, Debug)]
pub struct Store {}

impl Store {
    /// Opens the database, migrates it and starts the writer.
    ///
    /// # Errors
    /// When it can't be opened, is damaged, or is newer than this version.
    pub async fn open(options: StoreOptions) -> Result<Self, StoreError> {
        todo!("{options:?}")
    }

    /// Stops the writer after what it was given is committed, and truncates the write-ahead log.
    pub async fn close(&self) {
        todo!()
    }
}

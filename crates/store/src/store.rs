//! The SQLite store.

use std::path::PathBuf;
use std::sync::Arc;

use sqlx::sqlite::SqlitePool;
use st_model::coverage::{CoverageEntry, CoverageStatus};
use st_model::event::Event;
use st_model::finding::Finding;
use st_model::id::{BootId, EventSeq, TaskId, TaskNumber, TaskRef};
use st_model::port::{Clock, Random};
use st_model::state::TaskEvent;
use st_model::task::{NewTask, Priority, Task};
use tokio::sync::broadcast;

use crate::change::{Apply, Claim, Enqueue, Recover, SetPriority, SetSetting};
use crate::error::StoreError;
use crate::lease::{AttemptRow, Lease, Recovered};
use crate::open::{open_readers, open_writer};
use crate::port::Queue;
use crate::read;
use crate::writer::{BACKLOG, Writer, WriterHandle};

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

/// So many files of a task's coverage ledger have this status. The words of `partial` and
/// `failed` are left out: those files count together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoverageCount {
    /// The task.
    pub task: TaskNumber,
    /// The status.
    pub status: CoverageStatus,
    /// Files with it.
    pub files: u32,
}

/// A handle on the store; cheap to clone. Implements [`crate::Queue`].
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) writer: WriterHandle,
    readers: SqlitePool,
    events: broadcast::Sender<Arc<Event>>,
}

impl Store {
    /// Opens the database, migrates it and starts the writer.
    ///
    /// The folder must exist; the file is made when missing, readable by its owner alone.
    ///
    /// # Errors
    /// When it can't be opened, is damaged, belongs to another program, or is newer than this
    /// version. The file is then as it was.
    pub async fn open(options: StoreOptions) -> Result<Self, StoreError> {
        let connection = open_writer(&options.path).await?;
        let (events, _) = broadcast::channel(BACKLOG);
        let writer = Writer::start(connection, options.clock, options.random, events.clone());
        Ok(Self { writer, readers: open_readers(&options.path), events })
    }

    /// Stops the writer after what it was given is committed, and truncates the write-ahead log.
    /// Every later call answers [`StoreError::Closed`].
    pub async fn close(&self) {
        // Readers first: one that is still open would keep the log from being truncated.
        self.readers.close().await;
        self.writer.close().await;
    }
}

/// Version of the database library that is built in.
#[must_use]
pub fn library_version() -> String {
    libsqlite3_sys::SQLITE_VERSION.to_string_lossy().into_owned()
}

impl Queue for Store {
    async fn enqueue(&self, task: NewTask) -> Result<Task, StoreError> {
        self.writer.make(Enqueue(Box::new(task))).await
    }

    async fn task(&self, task: TaskRef) -> Result<Task, StoreError> {
        read::task(&self.readers, task).await
    }

    async fn tasks(&self, filter: TaskFilter) -> Result<Vec<Task>, StoreError> {
        read::tasks(&self.readers, &filter).await
    }

    async fn open_tasks(&self) -> Result<Vec<Task>, StoreError> {
        read::open_tasks(&self.readers).await
    }

    async fn claim(&self, task: TaskId, boot: BootId) -> Result<Option<Lease>, StoreError> {
        let claimed = self.writer.make(Claim { task, boot }).await?;
        Ok(claimed.map(|(task, held)| Lease { store: self.clone(), task, held }))
    }

    async fn apply(&self, task: TaskId, event: TaskEvent) -> Result<Task, StoreError> {
        self.writer.make(Apply { task, event }).await
    }

    async fn recover(&self, boot: BootId) -> Result<Vec<Recovered>, StoreError> {
        self.writer.make(Recover(boot)).await
    }

    async fn set_priority(&self, task: TaskId, priority: Priority) -> Result<Task, StoreError> {
        self.writer.make(SetPriority { task, priority }).await
    }

    async fn events(&self, since: EventSeq, task: Option<TaskId>, limit: u32) -> Result<Vec<Event>, StoreError> {
        read::events(&self.readers, since, task, limit).await
    }

    async fn last_seq(&self) -> Result<EventSeq, StoreError> {
        read::last_seq(&self.readers).await
    }

    fn subscribe(&self) -> broadcast::Receiver<Arc<Event>> {
        self.events.subscribe()
    }

    async fn attempts(&self, task: TaskId) -> Result<Vec<AttemptRow>, StoreError> {
        read::attempts(&self.readers, task).await
    }

    async fn findings(&self, task: TaskId) -> Result<Vec<Finding>, StoreError> {
        read::findings(&self.readers, task).await
    }

    async fn coverage(&self, task: TaskId) -> Result<Vec<CoverageEntry>, StoreError> {
        read::coverage(&self.readers, task).await
    }

    async fn coverage_counts(&self, tasks: &[TaskNumber]) -> Result<Vec<CoverageCount>, StoreError> {
        read::coverage_counts(&self.readers, tasks).await
    }

    async fn setting(&self, key: &str) -> Result<Option<String>, StoreError> {
        read::setting(&self.readers, key).await
    }

    async fn set_setting(&self, key: &str, value: Option<&str>) -> Result<(), StoreError> {
        self.writer.make(SetSetting { key: key.to_owned(), value: value.map(str::to_owned) }).await
    }

    async fn settings(&self) -> Result<Vec<(String, String)>, StoreError> {
        read::settings(&self.readers).await
    }
}

//! The queue's port: what the engine needs, whatever store stands behind it.

use std::future::Future;
use std::sync::Arc;

use st_model::coverage::CoverageEntry;
use st_model::event::Event;
use st_model::finding::Finding;
use st_model::id::{BootId, EventSeq, TaskId, TaskNumber, TaskRef};
use st_model::state::TaskEvent;
use st_model::task::{NewTask, Priority, Task};
use tokio::sync::broadcast;

use crate::error::StoreError;
use crate::lease::{AttemptRow, Lease, Recovered};
use crate::store::{CoverageCount, TaskFilter};

/// A durable, ordered set of tasks with its event log.
///
/// Times come from the store's clock. Every method that changes something is one transaction
/// which also appends the events that tell of it; a reply means it is committed.
pub trait Queue: Clone + Send + Sync + 'static {
    /// Adds a task. A second enqueue of the same id returns the first one's row unchanged.
    fn enqueue(&self, task: NewTask) -> impl Future<Output = Result<Task, StoreError>> + Send;

    /// One task.
    fn task(&self, task: TaskRef) -> impl Future<Output = Result<Task, StoreError>> + Send;

    /// Tasks, newest first.
    fn tasks(&self, filter: TaskFilter) -> impl Future<Output = Result<Vec<Task>, StoreError>> + Send;

    /// Every task that is not at rest, in order of submission: what a scheduler plans from.
    fn open_tasks(&self) -> impl Future<Output = Result<Vec<Task>, StoreError>> + Send;

    /// Takes the lease of a queued task for engine `boot`; `None` when it is not queued any more.
    fn claim(&self, task: TaskId, boot: BootId) -> impl Future<Output = Result<Option<Lease>, StoreError>> + Send;

    /// Applies an event that needs no lease (`Cancel`, `Stop`, `Due`) and returns the task after
    /// it. Any other event is illegal here, whatever the state. A `Stop` that changes nothing
    /// (a second one) succeeds and tells nothing.
    fn apply(&self, task: TaskId, event: TaskEvent) -> impl Future<Output = Result<Task, StoreError>> + Send;

    /// Ends the attempts of every engine but `boot`: their tasks go back to the queue uncounted
    /// (or to rest, when they were being cancelled). Returns them, each with the process its
    /// attempt had recorded, which may still be alive and is the caller's to end.
    fn recover(&self, boot: BootId) -> impl Future<Output = Result<Vec<Recovered>, StoreError>> + Send;

    /// Another urgency for a task that is not at rest.
    fn set_priority(&self, task: TaskId, priority: Priority) -> impl Future<Output = Result<Task, StoreError>> + Send;

    /// Events after `since`, oldest first, at most `limit`; of one task or of all.
    fn events(&self, since: EventSeq, task: Option<TaskId>, limit: u32) -> impl Future<Output = Result<Vec<Event>, StoreError>> + Send;

    /// Number of the newest event; zero when there is none.
    fn last_seq(&self) -> impl Future<Output = Result<EventSeq, StoreError>> + Send;

    /// Events as they are committed. A receiver that lags reads the gap with [`Queue::events`].
    fn subscribe(&self) -> broadcast::Receiver<Arc<Event>>;

    /// A task's attempts, oldest first. One that was not counted shares its number with the next.
    fn attempts(&self, task: TaskId) -> impl Future<Output = Result<Vec<AttemptRow>, StoreError>> + Send;

    /// A task's findings by id.
    fn findings(&self, task: TaskId) -> impl Future<Output = Result<Vec<Finding>, StoreError>> + Send;

    /// A task's coverage ledger by path.
    fn coverage(&self, task: TaskId) -> impl Future<Output = Result<Vec<CoverageEntry>, StoreError>> + Send;

    /// The coverage ledgers of several tasks, counted: for a list, whose tasks may have many
    /// thousands of lines together. A task without a ledger has no count.
    fn coverage_counts(&self, tasks: &[TaskNumber]) -> impl Future<Output = Result<Vec<CoverageCount>, StoreError>> + Send;

    /// One setting.
    fn setting(&self, key: &str) -> impl Future<Output = Result<Option<String>, StoreError>> + Send;

    /// Sets or, with `None`, removes a setting.
    fn set_setting(&self, key: &str, value: Option<&str>) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// All settings by key.
    fn settings(&self) -> impl Future<Output = Result<Vec<(String, String)>, StoreError>> + Send;
}

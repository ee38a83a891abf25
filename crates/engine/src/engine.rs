//! The engine's handle.

use std::path::PathBuf;
use std::sync::Arc;

use st_model::event::Progress;
use st_model::id::{BootId, TaskId, TaskRef};
use st_model::port::{Clock, Random};
use st_model::task::{NewTask, Task};
use st_store::Store;
use st_vault::Vault;
use tokio::sync::broadcast;

use crate::error::EngineError;

/// How to start an engine.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Where everything is kept (0700).
    pub data_dir: PathBuf,
    /// The slim `sidetrack` binary, re-executed as worker.
    pub worker_program: PathBuf,
    /// Arguments that make it a worker.
    pub worker_args: Vec<String>,
    /// Worker slots; `None` for max(1, cores / 2).
    pub slots: Option<usize>,
    /// Where times come from.
    pub clock: Arc<dyn Clock>,
    /// Where ids and jitter come from.
    pub random: Arc<dyn Random>,
}

/// A task to queue, with bytes that exist nowhere else (piped or pasted text) put into the vault first.
pub type Submission = NewTask;

/// A progress tick: newest wins, never stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// The task.
    pub task: TaskId,
    /// How far it is.
    pub progress: Progress,
}

/// What the engine is doing.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineStatus {
    /// This engine's run.
    pub boot: BootId,
    /// Slots in all.
    pub slots: usize,
    /// Attempts running.
    pub running: usize,
    /// Tasks waiting (queued or retrying).
    pub waiting: usize,
    /// Whether new tasks are held.
    pub paused: bool,
    /// Whether it is draining.
    pub stopping: bool,
}

/// A running engine; cheap to clone.
#[derive(Clone, Debug)]
pub struct Engine {}

impl Engine {
    /// Locks the data directory, opens store and vault, recovers, and begins to run tasks.
    ///
    /// # Errors
    /// [`EngineError::Locked`] when another engine has the directory; store and vault errors.
    pub async fn start(config: EngineConfig) -> Result<Self, EngineError> {
        todo!("{config:?}")
    }

    /// The store, for reading.
    #[must_use]
    pub fn store(&self) -> &Store {
        todo!()
    }

    /// The vault.
    #[must_use]
    pub fn vault(&self) -> &Vault {
        todo!()
    }

    /// Queues a task; answers once its row is durable.
    ///
    /// # Errors
    /// When the engine is stopping or the store fails.
    pub async fn submit(&self, task: Submission) -> Result<Task, EngineError> {
        todo!("{task:?}")
    }

    /// Cancels: a waiting task at once, a running one once its process tree is empty. `now` skips the grace.
    /// Answers with the task as it is (it may still be `stopping`).
    ///
    /// # Errors
    /// When there is no such task, or it is already at rest.
    pub async fn cancel(&self, task: TaskRef, now: bool) -> Result<Task, EngineError> {
        todo!("{task} {now}")
    }

    /// Runs a resting task again as a new one.
    ///
    /// # Errors
    /// When there is no such task or it is not at rest.
    pub async fn retry(&self, task: TaskRef) -> Result<Task, EngineError> {
        todo!("{task}")
    }

    /// Holds or releases new tasks; survives a restart.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn set_paused(&self, paused: bool) -> Result<(), EngineError> {
        todo!("{paused}")
    }

    /// What it is doing.
    pub async fn status(&self) -> Result<EngineStatus, EngineError> {
        todo!()
    }

    /// Progress ticks of all tasks.
    #[must_use]
    pub fn ticks(&self) -> broadcast::Receiver<Tick> {
        todo!()
    }

    /// The newest tick of a running task.
    #[must_use]
    pub fn progress(&self, task: TaskId) -> Option<Progress> {
        todo!("{task}")
    }

    /// The log file of a task's attempt (the newest when `attempt` is `None`), if it has begun.
    ///
    /// # Errors
    /// When there is no such task.
    pub async fn log_path(&self, task: TaskRef, attempt: Option<u32>) -> Result<Option<PathBuf>, EngineError> {
        todo!("{task} {attempt:?}")
    }

    /// Takes nothing new and ends: lets running attempts finish, or with `now` stops them and
    /// puts their tasks back uncounted. Returns when everything is closed.
    pub async fn stop(&self, now: bool) {
        todo!("{now}")
    }
}

//! The engine's handle.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use st_model::event::Progress;
use st_model::id::{BootId, TaskId, TaskRef};
use st_model::port::{Clock, Random};
use st_model::problem::{ErrorCode, Problem};
use st_model::state::{StopCause, TaskEvent, TaskState};
use st_model::task::{NewTask, Task};
use st_sandbox::spawn::Spawner;
use st_store::{Queue as _, Store, StoreError, StoreOptions};
use st_vault::Vault;
use tokio::sync::{Notify, broadcast, watch};
use tokio_util::task::TaskTracker;

use crate::attempt::GRACE;
use crate::data_dir::DataDir;
use crate::error::EngineError;
use crate::registry::{Registry, StopRequest};
use crate::{dispatch, recover, words};

/// The setting for the number of slots, in force when whoever starts the engine names none.
const SLOTS: &str = "slots";

/// The setting that holds new tasks over a restart.
const PAUSED: &str = "paused";

/// Ticks a slow listener may be behind before it misses some; the newest tick is all it needs.
const TICKS_KEPT: usize = 256;

/// Grace of a worker when the engine ends at once.
const ENGINE_STOP_GRACE: Duration = Duration::from_secs(1);

/// How to start an engine.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Where everything is kept (0700).
    pub data_dir: PathBuf,
    /// The slim `sidetrack` binary, re-executed as worker.
    pub worker_program: PathBuf,
    /// Arguments that make it a worker.
    pub worker_args: Vec<String>,
    /// Worker slots; `None` for the setting `slots`, and without one for max(1, cores / 2).
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

/// A running engine; cheap to clone. It ends with [`Engine::stop`], not by being dropped.
#[derive(Clone, Debug)]
pub struct Engine {
    shared: Arc<Shared>,
}

/// What the engine's parts share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) boot: BootId,
    pub(crate) slots: usize,
    pub(crate) worker_program: PathBuf,
    pub(crate) worker_args: Vec<String>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) dir: Arc<DataDir>,
    pub(crate) store: Store,
    pub(crate) vault: Vault,
    pub(crate) spawner: Spawner,
    pub(crate) registry: Registry,
    pub(crate) ticks: broadcast::Sender<Tick>,
    /// Wakes the dispatch loop.
    pub(crate) wake: Notify,
    pub(crate) paused: AtomicBool,
    pub(crate) stopping: AtomicBool,
    pub(crate) tracker: TaskTracker,
    /// Tasks that are not at rest.
    pub(crate) open: watch::Sender<usize>,
    pub(crate) closed: watch::Sender<bool>,
}

impl Engine {
    /// Locks the data directory, opens store and vault, recovers, and begins to run tasks.
    ///
    /// # Errors
    /// [`EngineError::Locked`] when another engine has the directory; store and vault errors.
    pub async fn start(config: EngineConfig) -> Result<Self, EngineError> {
        let boot = BootId(config.random.uuid());
        let dir = DataDir::own(&config.data_dir, boot)?;
        let spawner = Spawner::start().map_err(|error| EngineError::Io {
            doing: "start the spawning thread for",
            path: config.data_dir.clone(),
            source: std::io::Error::other(error),
        })?;
        let options = StoreOptions { path: dir.database(), clock: config.clock.clone(), random: config.random.clone() };
        let store = Store::open(options).await?;
        let vault = Vault::open(&dir.vault())?;
        let paused = store.setting(PAUSED).await?.is_some_and(|value| value == "true");
        let slots = match config.slots {
            Some(slots) => Some(slots),
            None => store.setting(SLOTS).await?.and_then(|value| value.parse().ok()),
        };
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let shared = Arc::new(Shared {
            boot,
            slots: slots.unwrap_or(cores / 2).max(1),
            worker_program: config.worker_program,
            worker_args: config.worker_args,
            clock: config.clock,
            random: config.random,
            dir: Arc::new(dir),
            store,
            vault,
            spawner,
            registry: Registry::default(),
            ticks: broadcast::Sender::new(TICKS_KEPT),
            wake: Notify::new(),
            paused: AtomicBool::new(paused),
            stopping: AtomicBool::new(false),
            tracker: TaskTracker::new(),
            open: watch::Sender::new(0),
            closed: watch::Sender::new(false),
        });
        recover::recover(&shared).await?;
        shared.open.send_replace(shared.store.open_tasks().await?.len());
        tracing::info!(%boot, slots = shared.slots, paused, "the engine runs");
        tokio::spawn(dispatch::run(shared.clone()));
        Ok(Self { shared })
    }

    /// The store, for reading.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.shared.store
    }

    /// The vault.
    #[must_use]
    pub fn vault(&self) -> &Vault {
        &self.shared.vault
    }

    /// Queues a task; answers once its row is durable.
    ///
    /// # Errors
    /// When the engine is stopping or the store fails.
    pub async fn submit(&self, task: Submission) -> Result<Task, EngineError> {
        if self.shared.stopping.load(Ordering::SeqCst) {
            return Err(EngineError::Stopping);
        }
        let task = self.shared.store.enqueue(task).await?;
        if !task.state.is_at_rest() {
            // Exact again with the loop's next pass; until then, not idle is what matters.
            self.shared.open.send_modify(|open| *open += 1);
        }
        self.shared.wake.notify_one();
        Ok(task)
    }

    /// Cancels: a waiting task at once, a running one once its process tree is empty. `now` skips the grace.
    /// Answers with the task as it is (it may still be `stopping`); a task that came to rest
    /// before the word reached it answers with its outcome.
    ///
    /// # Errors
    /// When there is no such task, or it is already at rest.
    pub async fn cancel(&self, task: TaskRef, now: bool) -> Result<Task, EngineError> {
        // In a task of its own: a caller that goes away in the middle must not leave a stop that
        // is written down and never carried out.
        let shared = self.shared.clone();
        match self.shared.tracker.spawn(async move { cancel(&shared, task, now).await }).await {
            Ok(outcome) => outcome,
            Err(_) => Err(words::fault("cancelling").into()),
        }
    }

    /// Runs a resting task again as a new one. What it names is read afresh.
    ///
    /// # Errors
    /// When there is no such task or it is not at rest.
    pub async fn retry(&self, task: TaskRef) -> Result<Task, EngineError> {
        let task = self.shared.store.task(task).await?;
        if !task.state.is_at_rest() {
            let number = task.number;
            return Err(wrong_state(&task, "run again", format!("Wait for its end with `sidetrack watch {number}`, or cancel it.")).into());
        }
        let again = NewTask { id: TaskId(self.shared.random.uuid()), rerun_of: Some(task.id), ..task.submitted };
        self.submit(again).await
    }

    /// Holds or releases new tasks; survives a restart.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn set_paused(&self, paused: bool) -> Result<(), EngineError> {
        self.shared.store.set_setting(PAUSED, paused.then_some("true")).await?;
        self.shared.paused.store(paused, Ordering::SeqCst);
        self.shared.wake.notify_one();
        Ok(())
    }

    /// What it is doing.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn status(&self) -> Result<EngineStatus, EngineError> {
        let open = self.shared.store.open_tasks().await?;
        Ok(EngineStatus {
            boot: self.shared.boot,
            slots: self.shared.slots,
            running: self.shared.registry.len(),
            waiting: open.iter().filter(|task| matches!(task.state, TaskState::Queued | TaskState::Retrying { .. })).count(),
            paused: self.shared.paused.load(Ordering::SeqCst),
            stopping: self.shared.stopping.load(Ordering::SeqCst),
        })
    }

    /// Progress ticks of all tasks.
    #[must_use]
    pub fn ticks(&self) -> broadcast::Receiver<Tick> {
        self.shared.ticks.subscribe()
    }

    /// The newest tick of a running task.
    #[must_use]
    pub fn progress(&self, task: TaskId) -> Option<Progress> {
        self.shared.registry.get(task)?.progress()
    }

    /// The log file of a task's attempt (the newest when `attempt` is `None`), if it has begun.
    ///
    /// # Errors
    /// When there is no such task.
    pub async fn log_path(&self, task: TaskRef, attempt: Option<u32>) -> Result<Option<PathBuf>, EngineError> {
        let task = self.shared.store.task(task).await?;
        let attempts = self.shared.store.attempts(task.id).await?;
        // An attempt that was not counted shares its number with the next; the later one is meant.
        let chosen = attempts.iter().rev().find(|row| attempt.is_none_or(|number| row.number == number));
        let path = chosen.map(|row| self.shared.dir.attempt(row.id).log());
        Ok(path.filter(|path| path.exists()))
    }

    /// Whether nothing runs and nothing waits.
    #[must_use]
    pub fn idle(&self) -> bool {
        *self.shared.open.borrow() == 0 && self.shared.registry.len() == 0
    }

    /// Tasks that are not at rest, as the engine last counted them; changes are told.
    #[must_use]
    pub fn open_tasks(&self) -> watch::Receiver<usize> {
        self.shared.open.subscribe()
    }

    /// Takes nothing new and ends: lets running attempts finish, or with `now` stops them and
    /// puts their tasks back uncounted. Returns when everything is closed. May be called again,
    /// with `now` when waiting takes too long.
    pub async fn stop(&self, now: bool) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        if now {
            let shared = self.shared.clone();
            let _ = self.shared.tracker.spawn(async move { stop_running(&shared).await }).await;
        }
        self.shared.wake.notify_one();
        let _ = self.shared.closed.subscribe().wait_for(|closed| *closed).await;
    }
}

/// How often a cancel looks at a task that changes under it. Each round needs a transition of the
/// task in between, and a task can't go on for ever making those.
const CANCEL_ROUNDS: usize = 16;

async fn cancel(shared: &Shared, named: TaskRef, now: bool) -> Result<Task, EngineError> {
    let grace = if now { Duration::ZERO } else { GRACE };
    for round in 0..CANCEL_ROUNDS {
        let task = shared.store.task(named).await?;
        let outcome = match &task.state {
            TaskState::Queued | TaskState::Retrying { .. } => shared.store.apply(task.id, TaskEvent::Cancel).await,
            TaskState::Running { .. } => stop_one(shared, task.id, StopRequest { cause: StopCause::Cancelled, grace }).await,
            TaskState::Resting { .. } if round > 0 => return Ok(task),
            TaskState::Resting { .. } => {
                let number = task.number;
                return Err(wrong_state(&task, "be cancelled", format!("Look at it with `sidetrack show {number}`.")).into());
            }
            TaskState::RollingBack { .. } | TaskState::NeedsRecovery { .. } => {
                let number = task.number;
                return Err(wrong_state(&task, "be cancelled", format!("Decide with `sidetrack recover {number}`.")).into());
            }
        };
        match outcome {
            Ok(task) => {
                shared.wake.notify_one();
                return Ok(task);
            }
            // It went on meanwhile: looked at again.
            Err(StoreError::Illegal(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(shared.store.task(named).await?)
}

/// Writes a stop down and asks the attempt to carry it out.
async fn stop_one(shared: &Shared, task: TaskId, request: StopRequest) -> Result<Task, StoreError> {
    let running = shared.registry.get(task);
    let _settling = match &running {
        Some(running) => Some(running.settling.lock().await),
        None => None,
    };
    let after = shared.store.apply(task, TaskEvent::Stop(request.cause)).await?;
    if let Some(running) = &running {
        running.ask_to_stop(request);
    }
    Ok(after)
}

async fn stop_running(shared: &Shared) {
    let request = StopRequest { cause: StopCause::EngineStop, grace: ENGINE_STOP_GRACE };
    for (task, running) in shared.registry.all() {
        if let Err(error) = stop_one(shared, task, request).await {
            // Between its place and its claim, or settled: the wish alone does then.
            tracing::debug!(error = words::chain(&error), "a stop was not written down");
            running.ask_to_stop(request);
        }
    }
}

fn wrong_state(task: &Task, wish: &str, fix: String) -> Problem {
    Problem::no_change(ErrorCode::WrongState, format!("Task #{} is {} and can't {wish}", task.number, task.state.name()), fix)
}

//! What the engine's tasks look like from outside: rows with their ledger and their place in line.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use st_engine::schedule::{View, Waiting, plan_dispatch};
use st_engine::{Engine, EngineStatus};
use st_model::event::EventKind;
use st_model::id::{EventSeq, TaskId, TaskNumber, TaskRef};
use st_model::port::Clock;
use st_model::state::TaskState;
use st_model::task::Task;
use st_model::time::Timestamp;
use st_store::{Queue as _, TaskFilter};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::Problem;
use crate::convert::{Context, LedgerSummary, Place};
use crate::dto::{StatusDto, TaskDto};
use crate::problems::{of_engine, of_store};

/// How much longer than its making a line is used before it is made anew for a subscriber: a
/// twentieth of one core at most goes into it, however many tasks wait.
const REUSE_FACTOR: u32 = 20;

/// Ledgers counted in one query.
const COUNTED_AT_ONCE: usize = 500;

/// Events read at once while counting a ledger.
const TALLY_PAGE: u32 = 1000;

/// Rows in a snapshot besides the open tasks.
const SNAPSHOT_ROWS: u32 = 2000;

/// Makes rows. One for all connections.
#[derive(Debug)]
pub(super) struct Board {
    engine: Engine,
    clock: Arc<dyn Clock>,
    data_dir: PathBuf,
    settled: Mutex<HashMap<TaskId, LedgerSummary>>,
    tallies: tokio::sync::Mutex<HashMap<TaskId, Tally>>,
    numbers: Mutex<HashMap<TaskId, TaskNumber>>,
    line: tokio::sync::Mutex<Option<Arc<Line>>>,
    pokes: watch::Receiver<u64>,
}

/// An open task's ledger up to an event; the newest line on a path wins.
#[derive(Debug, Default)]
struct Tally {
    seq: EventSeq,
    lines: HashMap<Vec<u8>, LedgerSummary>,
    summary: LedgerSummary,
}

/// The queue as it stood at one moment.
#[derive(Debug)]
pub(super) struct Line {
    /// What the engine did.
    pub(super) status: StatusDto,
    places: HashMap<TaskId, Place>,
    /// Every event up to this one was seen when it was made.
    seq: EventSeq,
    /// Every poke up to this one was seen when it was made.
    poke: u64,
    /// When a subscriber may ask for a new one.
    pub(super) due: Instant,
}

impl Line {
    /// A queued task's place.
    pub(super) fn place(&self, task: TaskId) -> Option<&Place> {
        self.places.get(&task)
    }

    /// Whether it was made after an event and a poke.
    pub(super) fn is_after(&self, seq: EventSeq, poke: u64) -> bool {
        self.seq >= seq && self.poke >= poke
    }

    /// All places.
    pub(super) fn places(&self) -> impl Iterator<Item = (&TaskId, &Place)> {
        self.places.iter()
    }
}

impl Board {
    pub(super) fn new(engine: Engine, clock: Arc<dyn Clock>, data_dir: &Path, pokes: watch::Receiver<u64>) -> Self {
        Self {
            engine,
            clock,
            data_dir: data_dir.to_owned(),
            settled: Mutex::default(),
            tallies: tokio::sync::Mutex::default(),
            numbers: Mutex::default(),
            line: tokio::sync::Mutex::default(),
            pokes,
        }
    }

    /// The line as it is now.
    pub(super) async fn line(&self) -> Result<Arc<Line>, Problem> {
        let mut held = self.line.lock().await;
        let line = self.make_line().await?;
        *held = Some(Arc::clone(&line));
        Ok(line)
    }

    /// A line that may be a little older when making one takes long: see its `due`.
    pub(super) async fn recent_line(&self) -> Result<Arc<Line>, Problem> {
        let mut held = self.line.lock().await;
        if let Some(line) = held.as_ref().filter(|line| Instant::now() < line.due) {
            return Ok(Arc::clone(line));
        }
        let line = self.make_line().await?;
        *held = Some(Arc::clone(&line));
        Ok(line)
    }

    async fn make_line(&self) -> Result<Arc<Line>, Problem> {
        let began = Instant::now();
        let poke = *self.pokes.borrow();
        let seq = self.engine.store().last_seq().await.map_err(of_store)?;
        let status = self.engine.status().await.map_err(of_engine)?;
        let open = self.engine.store().open_tasks().await.map_err(of_store)?;
        let places = places(&open, &status, self.clock.now());
        let status = status_dto(&status, &open, &self.data_dir);
        Ok(Arc::new(Line { status, places, seq, poke, due: Instant::now() + began.elapsed() * REUSE_FACTOR }))
    }

    /// One task's row.
    pub(super) async fn row(&self, task: &Task, line: &Line) -> Result<TaskDto, Problem> {
        let context = Context {
            progress: task.state.lease().and_then(|_| self.engine.progress(task.id)),
            ledger: self.ledger(task).await?,
            place: line.place(task.id).cloned(),
            rerun_of: match task.submitted.rerun_of {
                Some(earlier) => self.number(earlier).await?,
                None => None,
            },
        };
        Ok(TaskDto::from_task(task, &context))
    }

    /// Several rows.
    pub(super) async fn rows(&self, tasks: &[Task], line: &Line) -> Result<Vec<TaskDto>, Problem> {
        self.count_settled(tasks).await?;
        let mut rows = Vec::with_capacity(tasks.len());
        for task in tasks {
            rows.push(self.row(task, line).await?);
        }
        Ok(rows)
    }

    /// What a snapshot shows: the newest tasks and every open one, newest first; and whether
    /// there are more.
    pub(super) async fn snapshot_tasks(&self) -> Result<(Vec<Task>, bool), Problem> {
        let store = self.engine.store();
        let mut tasks = store.tasks(TaskFilter { states: Vec::new(), limit: Some(SNAPSHOT_ROWS + 1) }).await.map_err(of_store)?;
        let limit = usize::try_from(SNAPSHOT_ROWS).unwrap_or(usize::MAX);
        let more = tasks.len() > limit;
        if more {
            tasks.truncate(limit);
            let oldest = tasks.last().map_or(TaskNumber(0), |task| task.number);
            let mut older = store.open_tasks().await.map_err(of_store)?;
            older.retain(|task| task.number < oldest);
            older.sort_by_key(|task| std::cmp::Reverse(task.number));
            tasks.extend(older);
        }
        Ok((tasks, more))
    }

    async fn ledger(&self, task: &Task) -> Result<LedgerSummary, Problem> {
        if task.covered == 0 {
            return Ok(LedgerSummary::default());
        }
        if !task.state.is_at_rest() {
            return self.tally(task.id).await;
        }
        if let Some(summary) = self.settled().get(&task.id).copied() {
            return Ok(summary);
        }
        self.count_settled(std::slice::from_ref(task)).await?;
        Ok(self.settled().get(&task.id).copied().unwrap_or_default())
    }

    fn settled(&self) -> MutexGuard<'_, HashMap<TaskId, LedgerSummary>> {
        self.settled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the ledgers of those tasks that are at rest and were not counted yet, many at once.
    async fn count_settled(&self, tasks: &[Task]) -> Result<(), Problem> {
        let uncounted: Vec<(TaskNumber, TaskId)> = {
            let settled = self.settled();
            let wanted = |task: &&Task| task.covered > 0 && task.state.is_at_rest() && !settled.contains_key(&task.id);
            tasks.iter().filter(wanted).map(|task| (task.number, task.id)).collect()
        };
        for some in uncounted.chunks(COUNTED_AT_ONCE) {
            let numbers: Vec<TaskNumber> = some.iter().map(|(number, _)| *number).collect();
            let mut ledgers: HashMap<TaskNumber, Vec<LedgerSummary>> = HashMap::new();
            for counted in self.engine.store().coverage_counts(&numbers).await.map_err(of_store)? {
                ledgers.entry(counted.task).or_default().push(LedgerSummary::of_files(&counted.status, counted.files));
            }
            let mut tallies = self.tallies.lock().await;
            let mut settled = self.settled();
            for (number, id) in some {
                settled.insert(*id, LedgerSummary::sum(ledgers.remove(number).unwrap_or_default().iter()));
                tallies.remove(id);
            }
        }
        Ok(())
    }

    /// Counts the ledger of an open task by what was added since it was last counted: a large
    /// review's row is made many times while it runs.
    async fn tally(&self, task: TaskId) -> Result<LedgerSummary, Problem> {
        let mut tallies = self.tallies.lock().await;
        let tally = tallies.entry(task).or_default();
        loop {
            let events = self.engine.store().events(tally.seq, Some(task), TALLY_PAGE).await.map_err(of_store)?;
            let Some(last) = events.last() else { break };
            tally.seq = last.seq;
            for event in events {
                if let EventKind::Covered { entry } = event.kind {
                    tally.lines.insert(entry.file.as_bytes().to_vec(), LedgerSummary::of_files(&entry.status, 1));
                }
            }
            tally.summary = LedgerSummary::sum(tally.lines.values());
        }
        Ok(tally.summary)
    }

    async fn number(&self, task: TaskId) -> Result<Option<TaskNumber>, Problem> {
        let known = self.numbers.lock().unwrap_or_else(PoisonError::into_inner).get(&task).copied();
        if known.is_some() {
            return Ok(known);
        }
        match self.engine.store().task(TaskRef::Id(task)).await {
            Ok(found) => {
                self.numbers.lock().unwrap_or_else(PoisonError::into_inner).insert(task, found.number);
                Ok(Some(found.number))
            }
            // The earlier task may have been collected.
            Err(st_store::StoreError::UnknownTask) => Ok(None),
            Err(error) => Err(of_store(error)),
        }
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The counts come from the rows and not from the engine's memory, which may be a moment ahead of
/// them or behind: a subscriber must not be left with the number of a moment.
fn status_dto(status: &EngineStatus, open: &[Task], data_dir: &Path) -> StatusDto {
    let those = |wanted: fn(&TaskState) -> bool| count(open.iter().filter(|task| wanted(&task.state)).count());
    StatusDto {
        version: env!("CARGO_PKG_VERSION").into(),
        slots: count(status.slots),
        running: those(|state| state.lease().is_some()),
        waiting: those(|state| matches!(state, TaskState::Queued | TaskState::Retrying { .. })),
        needs_you: those(|state| matches!(state, TaskState::NeedsRecovery { .. })),
        paused: status.paused,
        stopping: status.stopping,
        data_dir: data_dir.to_string_lossy().into_owned(),
    }
}

/// The order in which the scheduler takes the queued tasks if nothing else comes: its own plan,
/// with a slot for each.
fn places(open: &[Task], status: &EngineStatus, now: Timestamp) -> HashMap<TaskId, Place> {
    let holders: Vec<TaskNumber> = open.iter().filter(|task| task.state.lease().is_some()).map(|task| task.number).collect();
    let queued = open.iter().filter(|task| matches!(task.state, TaskState::Queued));
    let view = View { now, slots: usize::MAX, running: 0, held: false, waiting: queued.filter_map(Waiting::of).collect() };
    let place = |position| Place {
        position,
        slots: count(status.slots),
        holders: holders.clone(),
        paused: status.paused,
        stopping: status.stopping,
    };
    plan_dispatch(&view).start.into_iter().enumerate().map(|(index, task)| (task, place(count(index + 1)))).collect()
}

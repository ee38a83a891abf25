//! One subscriber's stream: a snapshot, then every event once, in order.
//!
//! The store is the one source of events. What it broadcasts only wakes the stream, which then
//! reads on from where it was: a receiver that lags, a slow client or a resumption are all the
//! same case, and none of them can leave a gap or say an event twice.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use st_engine::Tick;
use st_model::coverage::CoverageStatus;
use st_model::event::{Event, EventKind};
use st_model::id::{EventSeq, TaskId, TaskNumber, TaskRef};
use st_store::Queue as _;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::time::{Instant, sleep_until};

use super::Shared;
use super::board::Line;
use super::connection::Outgoing;
use crate::Problem;
use crate::convert::Place;
use crate::dto::{EventDto, ProgressDto, SnapshotDto, StatusDto, TaskDto, UpdateDto};
use crate::problems::{of_store, task_ref};
use crate::protocol::Reply;

/// Shortest time between two batches: at most twenty a second (research/ui.md §2, row 10).
const BETWEEN_BATCHES: Duration = Duration::from_millis(50);

/// Most events in one batch.
const BATCH_EVENTS: u32 = 500;

/// Bytes of text after which a batch takes no further event: escaped sixfold it still fits a line.
const BATCH_BYTES: usize = 8 << 20;

/// Places in line that are pushed when they move.
const PUSHED_PLACES: u32 = 100;

/// What a subscriber wants.
#[derive(Debug)]
pub(super) struct Wish {
    /// Resume after this.
    pub(super) since: Option<u64>,
    /// Only this task.
    pub(super) task: Option<String>,
}

/// Runs a stream until the client is gone or the engine has closed its store.
pub(super) async fn run(shared: &Shared, id: u64, wish: Wish, out: &Outgoing) -> Result<(), Problem> {
    let (mut feed, snapshot) = Feed::begin(shared, wish).await?;
    if !out.reply(id, Reply::Snapshot(snapshot)).await {
        return Ok(());
    }
    loop {
        feed.wait().await;
        let Some(update) = feed.batch().await? else { continue };
        if !out.reply(id, Reply::Update(update)).await {
            return Ok(());
        }
    }
}

struct Feed<'a> {
    shared: &'a Shared,
    only: Option<(TaskId, TaskNumber)>,
    committed: Receiver<Arc<Event>>,
    ticks: Receiver<Tick>,
    pokes: tokio::sync::watch::Receiver<u64>,
    cursor: EventSeq,
    /// More events are known to be there than the last batch held.
    backlog: bool,
    /// The newest event and poke after which the line may have moved.
    moved: (EventSeq, u64),
    line: Arc<Line>,
    /// Ticks taken and not sent yet, newest a task.
    waiting_ticks: HashMap<TaskId, Tick>,
    /// Rows of running tasks as last sent, to which ticks are added.
    running: HashMap<TaskId, TaskDto>,
    /// Places as last sent.
    places: HashMap<TaskId, Place>,
    status: StatusDto,
    next_batch: Instant,
}

impl<'a> Feed<'a> {
    async fn begin(shared: &'a Shared, wish: Wish) -> Result<(Self, SnapshotDto), Problem> {
        let store = shared.engine.store();
        // Registered before anything is read, so that nothing falls between.
        let committed = store.subscribe();
        let ticks = shared.engine.ticks();
        let mut pokes = shared.pokes.subscribe();
        pokes.mark_unchanged();
        let newest = store.last_seq().await.map_err(of_store)?;
        let cursor = wish.since.map_or(newest, |since| EventSeq(since).min(newest));
        let line = shared.board.line().await?;
        let (only, tasks, more) = match wish.task {
            Some(task) => {
                let task = store.task(task_ref(&task)?).await.map_err(of_store)?;
                (Some((task.id, task.number)), vec![task], false)
            }
            None => {
                let (tasks, more) = shared.board.snapshot_tasks().await?;
                (None, tasks, more)
            }
        };
        let rows = shared.board.rows(&tasks, &line).await?;
        let running =
            tasks.iter().zip(&rows).filter(|(task, _)| task.state.lease().is_some()).map(|(task, row)| (task.id, row.clone())).collect();
        let places = line
            .places()
            .filter(|(task, _)| only.is_none_or(|(only, _)| only == **task))
            .map(|(task, place)| (*task, place.clone()))
            .collect();
        let status = line.status.clone();
        let snapshot = SnapshotDto { seq: cursor.0, tasks: rows, status: status.clone(), more };
        let feed = Self {
            shared,
            only,
            committed,
            ticks,
            pokes,
            cursor,
            backlog: cursor < newest,
            moved: (EventSeq(0), 0),
            line,
            waiting_ticks: HashMap::new(),
            running,
            places,
            status,
            next_batch: Instant::now(),
        };
        Ok((feed, snapshot))
    }

    /// Waits for a reason to send, and until the next batch may go.
    async fn wait(&mut self) {
        if !self.backlog {
            tokio::select! {
                committed = self.committed.recv() => match committed {
                    Ok(_) | Err(RecvError::Lagged(_)) => {}
                    // The store is closed; the connection is about to be.
                    Err(RecvError::Closed) => std::future::pending().await,
                },
                tick = self.ticks.recv() => match tick {
                    Ok(tick) => self.take(tick),
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => std::future::pending().await,
                },
                changed = self.pokes.changed() => match changed {
                    Ok(()) => self.moved.1 = *self.pokes.borrow_and_update(),
                    Err(_) => std::future::pending().await,
                },
                () = sleep_until(self.line.due), if self.line_is_stale() => {}
            }
        }
        sleep_until(self.next_batch).await;
        self.next_batch = Instant::now() + BETWEEN_BATCHES;
    }

    fn line_is_stale(&self) -> bool {
        !self.line.is_after(self.moved.0, self.moved.1)
    }

    fn take(&mut self, tick: Tick) {
        if self.only.is_none_or(|(only, _)| only == tick.task) {
            self.waiting_ticks.insert(tick.task, tick);
        }
    }

    /// Empties the receivers: what they held is read from the store, or is the newest tick.
    fn drain(&mut self) {
        while let Ok(_) | Err(TryRecvError::Lagged(_)) = self.committed.try_recv() {}
        loop {
            match self.ticks.try_recv() {
                Ok(tick) => self.take(tick),
                // A later one follows, or the task's row will say how far it is.
                Err(TryRecvError::Lagged(_)) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
    }

    async fn batch(&mut self) -> Result<Option<UpdateDto>, Problem> {
        self.drain();
        let store = self.shared.engine.store();
        let mut events = store.events(self.cursor, self.only.map(|(only, _)| only), BATCH_EVENTS).await.map_err(of_store)?;
        let fitting = fitting(&events);
        self.backlog = fitting < events.len() || events.len() >= usize::try_from(BATCH_EVENTS).unwrap_or(usize::MAX);
        events.truncate(fitting);
        if let Some(mover) = events.iter().rfind(|event| moves_the_line(&event.kind)) {
            self.moved.0 = mover.seq;
        }
        if let Some(last) = events.last() {
            self.cursor = last.seq;
        }

        let touched: HashSet<TaskId> = events.iter().map(|event| event.task).collect();
        let mut rows: HashMap<TaskId, TaskDto> = HashMap::new();
        if self.line_is_stale() {
            self.refresh_line(&touched, &mut rows).await?;
        }
        for &id in &touched {
            self.add_row(id, &mut rows).await?;
        }
        let mut batch: Vec<EventDto> = events.iter().map(EventDto::from).collect();
        self.add_ticks(&mut batch, &mut rows);

        let status = (self.line.status != self.status).then(|| self.line.status.clone());
        if let Some(status) = &status {
            self.status = status.clone();
        }
        if batch.is_empty() && rows.is_empty() && status.is_none() {
            return Ok(None);
        }
        let mut tasks: Vec<TaskDto> = rows.into_values().collect();
        tasks.sort_by_key(|task| std::cmp::Reverse(task.number));
        Ok(Some(UpdateDto { seq: self.cursor.0, events: batch, tasks, status }))
    }

    /// Looks at the line again, and adds the rows of those who moved up in it.
    async fn refresh_line(&mut self, touched: &HashSet<TaskId>, rows: &mut HashMap<TaskId, TaskDto>) -> Result<(), Problem> {
        // It may still be a stale one: then there will be a newer one when it is due.
        self.line = self.shared.board.recent_line().await?;
        let moved: Vec<(TaskId, Place)> = self
            .line
            .places()
            .filter(|(task, place)| place.position <= PUSHED_PLACES && self.places.get(task) != Some(place))
            .filter(|(task, _)| self.only.is_none_or(|(only, _)| only == **task))
            .map(|(task, place)| (*task, place.clone()))
            .collect();
        for (id, place) in moved {
            if !touched.contains(&id) {
                self.add_row(id, rows).await?;
            }
            self.places.insert(id, place);
        }
        self.places.retain(|task, _| self.line.place(*task).is_some());
        Ok(())
    }

    async fn add_row(&mut self, id: TaskId, rows: &mut HashMap<TaskId, TaskDto>) -> Result<(), Problem> {
        let task = self.shared.engine.store().task(TaskRef::Id(id)).await.map_err(of_store)?;
        let row = self.shared.board.row(&task, &self.line).await?;
        if task.state.lease().is_some() {
            self.running.insert(id, row.clone());
        } else {
            self.running.remove(&id);
            self.waiting_ticks.remove(&id);
        }
        rows.insert(id, row);
        Ok(())
    }

    /// Adds the newest tick of each running task, and its row with it.
    fn add_ticks(&mut self, events: &mut Vec<EventDto>, rows: &mut HashMap<TaskId, TaskDto>) {
        let at = self.shared.clock.now();
        for (id, tick) in std::mem::take(&mut self.waiting_ticks) {
            let Some(row) = self.running.get_mut(&id) else { continue };
            let phase = std::mem::take(&mut row.progress.phase);
            row.progress = ProgressDto { phase, ..ProgressDto::from(&tick.progress) };
            events.push(EventDto::tick(TaskNumber(row.number), at, &row.progress));
            rows.insert(id, row.clone());
        }
    }
}

/// How many of the events go into one batch: at least one.
fn fitting(events: &[Event]) -> usize {
    let mut bytes = 0;
    let full = |event: &Event| {
        bytes += text_bytes(&event.kind);
        bytes > BATCH_BYTES
    };
    events.iter().position(full).map_or(events.len(), |index| index.max(1))
}

/// Bytes of the texts in an event that may be long.
fn text_bytes(kind: &EventKind) -> usize {
    match kind {
        EventKind::Finding { finding } => {
            let patch = finding.suggestion.as_ref().and_then(|suggestion| suggestion.patch.as_ref()).map_or(0, String::len);
            finding.title.len() + finding.body.len() + finding.quote.len() + patch
        }
        EventKind::Note { text } => text.len(),
        EventKind::Covered { entry } => {
            let why = match &entry.status {
                CoverageStatus::Partial(why) | CoverageStatus::Failed(why) => why.len(),
                CoverageStatus::Reviewed | CoverageStatus::Skipped(_) => 0,
            };
            entry.file.as_bytes().len() + why
        }
        EventKind::Submitted { .. }
        | EventKind::Started { .. }
        | EventKind::PhaseEntered { .. }
        | EventKind::Pinned { .. }
        | EventKind::Stopping { .. }
        | EventKind::Retrying { .. }
        | EventKind::Requeued { .. }
        | EventKind::Settled { .. }
        | EventKind::PriorityChanged { .. } => 0,
    }
}

/// Whether an event can change who stands where in line, or what the engine's status says.
fn moves_the_line(kind: &EventKind) -> bool {
    match kind {
        EventKind::Submitted { .. }
        | EventKind::Started { .. }
        | EventKind::Retrying { .. }
        | EventKind::Requeued { .. }
        | EventKind::Settled { .. }
        | EventKind::PriorityChanged { .. } => true,
        EventKind::PhaseEntered { .. }
        | EventKind::Pinned { .. }
        | EventKind::Finding { .. }
        | EventKind::Covered { .. }
        | EventKind::Note { .. }
        | EventKind::Stopping { .. } => false,
    }
}

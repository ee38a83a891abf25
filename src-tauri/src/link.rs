//! The window's line to the engine: one connection for calls, one stream for all that moves.
//!
//! The stream feeds the UI's channel, the tray and the notifications. When the engine goes, the
//! UI is told, and the line is laid anew (which starts an engine).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use st_app::client::{Client, ConnectOptions};
use st_app::dto::{SnapshotDto, StatusDto, TaskDto, UpdateDto};
use st_app::protocol::{Call, Reply};
use st_app::{ErrorCode, Problem};
use tauri::ipc::Channel;

/// First wait before the line is laid anew; doubles up to [`LONGEST_WAIT`].
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// Longest wait between two tries.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// What goes down the UI's channel.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "body")]
pub(crate) enum Frame {
    /// Everything, at a sequence number.
    Snapshot(SnapshotDto),
    /// What changed since.
    Update(UpdateDto),
    /// The engine is gone; a snapshot follows when it is back.
    Gone(Problem),
}

/// Who else wants to know of changes.
pub(crate) trait Watcher: Send + Sync + 'static {
    /// Tasks changed: each with what it was before.
    fn changed(&self, changes: &[(Option<TaskDto>, TaskDto)]);
    /// Counts may have changed.
    fn status(&self, status: &StatusDto);
}

/// The line. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Link {
    options: Arc<ConnectOptions>,
    client: Arc<tokio::sync::Mutex<Option<Client>>>,
    view: Arc<Mutex<View>>,
}

#[derive(Default)]
struct View {
    seq: u64,
    tasks: BTreeMap<u64, TaskDto>,
    status: Option<StatusDto>,
    /// Whether the engine has older tasks than the snapshot gave.
    more: bool,
    gone: Option<Problem>,
    channel: Option<Channel<Frame>>,
}

impl View {
    fn snapshot(&self) -> Option<SnapshotDto> {
        let status = self.status.clone()?;
        Some(SnapshotDto { seq: self.seq, tasks: self.tasks.values().rev().cloned().collect(), status, more: self.more })
    }

    fn send(&mut self, frame: Frame) {
        if let Some(channel) = &self.channel
            && channel.send(frame).is_err()
        {
            self.channel = None;
        }
    }
}

impl Link {
    pub(crate) fn new(options: ConnectOptions) -> Self {
        Self { options: Arc::new(options), client: Arc::default(), view: Arc::default() }
    }

    fn view(&self) -> MutexGuard<'_, View> {
        // A panic elsewhere leaves the view as whole as it was: each change to it is one assignment.
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the UI's channel in place of the one before and gives it the state as it is.
    pub(crate) fn attach(&self, channel: Channel<Frame>) {
        let mut view = self.view();
        view.channel = Some(channel);
        if let Some(problem) = view.gone.clone() {
            view.send(Frame::Gone(problem));
        } else if let Some(snapshot) = view.snapshot() {
            view.send(Frame::Snapshot(snapshot));
        }
    }

    /// Drops the UI's channel, which frees it on both sides.
    pub(crate) fn detach(&self) {
        self.view().channel = None;
    }

    /// A task as last heard of.
    pub(crate) fn task(&self, number: u64) -> Option<TaskDto> {
        self.view().tasks.get(&number).cloned()
    }

    /// One request. A connection that broke is laid anew for the next one; this one is not
    /// repeated, since a submit may have been taken.
    pub(crate) async fn call(&self, call: Call) -> Result<Reply, Problem> {
        let client = self.client().await?;
        let reply = client.call(call).await;
        if matches!(&reply, Err(problem) if problem.code == ErrorCode::NoEngine) {
            *self.client.lock().await = None;
        }
        reply
    }

    async fn client(&self) -> Result<Client, Problem> {
        let mut slot = self.client.lock().await;
        if let Some(client) = &*slot {
            return Ok(client.clone());
        }
        let client = Client::connect(&self.options, &|notice| tracing::info!(notice)).await?;
        *slot = Some(client.clone());
        Ok(client)
    }

    /// Follows the engine for as long as the window lives.
    pub(crate) async fn follow(self, watcher: Arc<dyn Watcher>) {
        let mut wait = FIRST_WAIT;
        loop {
            match self.follow_once(&*watcher).await {
                Ok(()) => wait = FIRST_WAIT,
                Err(problem) => {
                    tracing::warn!(%problem, "no line to the engine");
                    let mut view = self.view();
                    view.gone = Some(problem.clone());
                    view.send(Frame::Gone(problem));
                }
            }
            *self.client.lock().await = None;
            tokio::time::sleep_until(tokio::time::Instant::now() + wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    /// One stream, until it ends. `Ok` when it stood at least once.
    async fn follow_once(&self, watcher: &dyn Watcher) -> Result<(), Problem> {
        let client = self.client().await?;
        let mut stream = client.subscribe(None, None, true).await?;
        self.start(stream.snapshot.clone(), watcher);
        while let Some(update) = stream.updates.recv().await {
            self.advance(update, watcher);
        }
        let mut view = self.view();
        let problem =
            Problem::no_change(ErrorCode::NoEngine, "The engine has ended", "It is being started again; queued tasks go on by themselves");
        view.gone = Some(problem.clone());
        view.send(Frame::Gone(problem));
        Ok(())
    }

    fn start(&self, snapshot: SnapshotDto, watcher: &dyn Watcher) {
        let mut view = self.view();
        // Tasks that ended while the line was down are told like any other change; the first
        // snapshot of a window is the past and tells nothing.
        let knew = view.status.is_some();
        let changes: Vec<_> = snapshot
            .tasks
            .iter()
            .filter_map(|task| {
                let before = view.tasks.get(&task.number);
                (knew && before.is_some_and(|before| before.state != task.state)).then(|| (before.cloned(), task.clone()))
            })
            .collect();
        view.seq = snapshot.seq;
        view.more = snapshot.more;
        view.tasks = snapshot.tasks.iter().map(|task| (task.number, task.clone())).collect();
        view.status = Some(snapshot.status.clone());
        view.gone = None;
        let status = snapshot.status.clone();
        view.send(Frame::Snapshot(snapshot));
        drop(view);
        watcher.changed(&changes);
        watcher.status(&status);
    }

    fn advance(&self, update: UpdateDto, watcher: &dyn Watcher) {
        let mut view = self.view();
        let mut changes = Vec::with_capacity(update.tasks.len());
        for task in &update.tasks {
            let before = view.tasks.insert(task.number, task.clone());
            changes.push((before, task.clone()));
        }
        view.seq = update.seq;
        if let Some(status) = &update.status {
            view.status = Some(status.clone());
        }
        let status = update.status.clone();
        view.send(Frame::Update(update));
        drop(view);
        watcher.changed(&changes);
        if let Some(status) = status {
            watcher.status(&status);
        }
    }
}

//! The engine's own notifications, raised while no window has taken that role.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use st_model::event::EventKind;
use st_model::id::{EventSeq, TaskRef};
use st_store::Queue as _;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use super::Shared;
use crate::Problem;
use crate::notify::{Outcome, Raiser, notice_for};
use crate::problems::of_store;

/// The desktop binary, looked for beside the slim one.
const DESKTOP_BINARY: &str = "sidetrack-desktop";

/// Events read at once after a lag.
const PAGE: u32 = 500;

/// Raises a notice for each task that comes to rest, until `ending` is cancelled.
pub(super) async fn run(shared: Arc<Shared>, ending: CancellationToken) {
    let program = shared.options.program.clone();
    let raiser = Raiser::new(Arc::new(move |task| open_window(&program, task)));
    let watching = watch(&shared, &raiser);
    let watched = tokio::select! {
        biased;
        () = ending.cancelled() => Ok(()),
        watched = watching => watched,
    };
    if let Err(problem) = watched {
        tracing::error!(%problem, "notifications ended");
    }
}

async fn watch(shared: &Shared, raiser: &Raiser) -> Result<(), Problem> {
    let store = shared.engine.store();
    let mut committed = store.subscribe();
    let mut cursor = store.last_seq().await.map_err(of_store)?;
    loop {
        match committed.recv().await {
            // Most events tell of no rest; those need no reading.
            Ok(event) if !matches!(event.kind, EventKind::Settled { .. }) => continue,
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return Ok(()),
        }
        cursor = catch_up(shared, raiser, cursor).await?;
    }
}

/// Looks at every event after `cursor`, and returns the number of the last.
async fn catch_up(shared: &Shared, raiser: &Raiser, mut cursor: EventSeq) -> Result<EventSeq, Problem> {
    loop {
        let events = shared.engine.store().events(cursor, None, PAGE).await.map_err(of_store)?;
        let Some(last) = events.last() else { return Ok(cursor) };
        cursor = last.seq;
        for event in &events {
            if matches!(event.kind, EventKind::Settled { .. }) {
                settled(shared, raiser, TaskRef::Id(event.task)).await?;
            }
        }
    }
}

async fn settled(shared: &Shared, raiser: &Raiser, task: TaskRef) -> Result<(), Problem> {
    if *shared.notifiers.borrow() > 0 {
        return Ok(());
    }
    let config = shared.config().await?;
    if !config.notifications_enabled() {
        return Ok(());
    }
    let task = shared.engine.store().task(task).await.map_err(of_store)?;
    let line = shared.board.recent_line().await?;
    let row = shared.board.row(&task, &line).await?;
    let Some(notice) = notice_for(None, &row) else { return Ok(()) };
    let done = matches!(notice.outcome, Outcome::Findings | Outcome::Clean | Outcome::Unseen);
    if !done || config.notifications_done() {
        raiser.raise(notice).await;
    }
    Ok(())
}

/// Opens the desktop window at a task, if there is a desktop binary.
fn open_window(program: &Path, task: u64) {
    let desktop = program.with_file_name(DESKTOP_BINARY);
    if !desktop.is_file() {
        tracing::info!(task, "a notification was clicked; no desktop window is installed");
        return;
    }
    let started = tokio::process::Command::new(&desktop)
        .arg("--task")
        .arg(task.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    match started {
        // The runtime reaps it when it ends.
        Ok(_) => tracing::info!(task, "the window was opened from a notification"),
        Err(error) => tracing::warn!(%error, desktop = %desktop.display(), "the window could not be opened"),
    }
}

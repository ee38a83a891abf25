//! What an earlier engine left behind: attempts that nobody runs, processes, folders.
//!
//! The lock on the data directory says that no other engine lives; so every attempt of another
//! boot is dead, and every folder of an attempt is nobody's.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use st_model::id::{AttemptId, TaskId};
use st_model::state::{RestState, Settlement, TaskState};
use st_model::task::Task;
use st_sandbox::spawn::{ProcessIdentity, kill_leftover};
use st_store::{Queue as _, Recovered};

use crate::data_dir::{DataDir, gone, io_error};
use crate::engine::Shared;
use crate::error::EngineError;
use crate::words;

/// Engines that may die under a task in a row before it is not tried again by itself.
const MAX_LOST: usize = 5;

/// How the store calls an attempt that ended with its engine.
const LOST: &str = "engine_lost";

/// Ends what is dead and sweeps what it left. Nothing runs yet.
pub(crate) async fn recover(shared: &Shared) -> Result<(), EngineError> {
    let recovered = shared.store.recover(shared.boot).await?;
    for Recovered { task, process } in &recovered {
        if let Some(process) = process {
            let identity =
                ProcessIdentity { pid: process.pid, start_ticks: process.start_ticks, machine_boot: process.machine_boot.clone() };
            let was_alive = tokio::task::spawn_blocking(move || kill_leftover(&identity)).await.unwrap_or(false);
            tracing::info!(task = task.number.0, pid = process.pid, was_alive, "an earlier engine's worker");
        }
        tracing::info!(task = task.number.0, state = task.state.name(), "recovered a task from an engine that is gone");
        give_up_if_hopeless(shared, task).await?;
    }
    let open: HashSet<TaskId> = shared.store.open_tasks().await?.iter().map(|task| task.id).collect();
    let (attempts, pins) = (shared.dir.attempts(), shared.dir.pins());
    let dir = shared.dir.clone();
    let swept = tokio::task::spawn_blocking(move || {
        sweep_attempts(&dir, &attempts)?;
        sweep_pins(&pins, &open)
    });
    match swept.await {
        Ok(outcome) => outcome,
        Err(error) => {
            tracing::error!(%error, "sweeping broke off");
            Ok(())
        }
    }
}

/// A task whose engine dies under it time and again is likely what kills it.
async fn give_up_if_hopeless(shared: &Shared, task: &Task) -> Result<(), EngineError> {
    if task.state != TaskState::Queued {
        return Ok(());
    }
    let attempts = shared.store.attempts(task.id).await?;
    let lost = attempts.iter().rev().take_while(|attempt| attempt.how.as_deref() == Some(LOST)).count();
    if lost < MAX_LOST {
        return Ok(());
    }
    if let Some(lease) = shared.store.claim(task.id, shared.boot).await? {
        let problem = words::engine_lost(task.number, lost);
        lease.settle(Settlement::Rest(RestState::Failed { problem })).await?;
    }
    Ok(())
}

fn sweep_attempts(dir: &DataDir, folder: &Path) -> Result<(), EngineError> {
    for entry in fs::read_dir(folder).map_err(io_error("list", folder))? {
        let entry = entry.map_err(io_error("list", folder))?;
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<AttemptId>().ok()) else {
            tracing::warn!(path = %entry.path().display(), "not an attempt's folder; left alone");
            continue;
        };
        let attempt = dir.attempt(id);
        if let Err(error) = attempt.clear() {
            tracing::warn!(%error, path = %attempt.root().display(), "failed to sweep what a dead attempt left");
        }
    }
    Ok(())
}

/// Forgets what was frozen for tasks that rest, and what was half-written.
fn sweep_pins(folder: &Path, open: &HashSet<TaskId>) -> Result<(), EngineError> {
    for entry in fs::read_dir(folder).map_err(io_error("list", folder))? {
        let path = entry.map_err(io_error("list", folder))?.path();
        let task = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse::<TaskId>().ok());
        let whole = path.extension().is_some_and(|extension| extension == "json");
        match task {
            Some(task) if whole && open.contains(&task) => {}
            Some(_) => gone(fs::remove_file(&path)).map_err(io_error("remove", &path))?,
            None => tracing::warn!(path = %path.display(), "not a task's pinned content; left alone"),
        }
    }
    Ok(())
}

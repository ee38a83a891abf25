//! The loop that carries plans out: woken by what happens, or by the nearest retry; it never polls.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use st_model::id::TaskId;
use st_model::state::TaskEvent;
use st_model::time::Timestamp;
use st_store::{Queue as _, StoreError};
use tracing::Instrument as _;

use crate::engine::Shared;
use crate::schedule::{View, Waiting, plan_dispatch};
use crate::{attempt, words};

/// How soon to look again after the store failed.
const AFTER_A_FAILURE: Duration = Duration::from_secs(5);

/// Runs tasks until the engine is told to stop and nothing runs any more.
pub(crate) async fn run(shared: Arc<Shared>) {
    loop {
        let next = match pass(&shared).await {
            Ok(next_wake) => next_wake,
            Err(StoreError::Closed) => break,
            Err(error) => {
                tracing::error!(error = words::chain(&error), "failed to plan; trying again soon");
                Some(shared.clock.now().plus(AFTER_A_FAILURE))
            }
        };
        if shared.stopping.load(Ordering::SeqCst) && shared.registry.len() == 0 {
            break;
        }
        match next {
            None => shared.wake.notified().await,
            Some(at) => {
                let wait = at.since(shared.clock.now());
                let _ = tokio::time::timeout(wait, shared.wake.notified()).await;
            }
        }
    }
    shared.tracker.close();
    shared.tracker.wait().await;
    shared.store.close().await;
    shared.dir.release();
    shared.closed.send_replace(true);
}

/// Plans once and does what the plan says; returns when to plan again though nothing happened.
async fn pass(shared: &Arc<Shared>) -> Result<Option<Timestamp>, StoreError> {
    let open = shared.store.open_tasks().await?;
    // What has a place in the registry runs, or has just settled and is about to leave.
    let waiting = open.iter().filter(|task| !shared.registry.contains(task.id)).filter_map(Waiting::of).collect();
    let view = View {
        now: shared.clock.now(),
        slots: shared.slots,
        running: shared.registry.len(),
        held: shared.paused.load(Ordering::SeqCst) || shared.stopping.load(Ordering::SeqCst),
        waiting,
    };
    shared.open.send_replace(open.len());
    let plan = plan_dispatch(&view);
    for task in plan.due {
        match shared.store.apply(task, TaskEvent::Due).await {
            // It was cancelled meanwhile.
            Ok(_) | Err(StoreError::Illegal(_)) => {}
            Err(error) => return Err(error),
        }
    }
    for task in plan.start {
        start(shared, task).await?;
    }
    Ok(plan.next_wake)
}

async fn start(shared: &Arc<Shared>, task: TaskId) -> Result<(), StoreError> {
    let running = shared.registry.enter(task);
    let lease = match shared.store.claim(task, shared.boot).await {
        Ok(Some(lease)) => lease,
        Ok(None) => {
            shared.registry.leave(task);
            return Ok(());
        }
        Err(error) => {
            shared.registry.leave(task);
            return Err(error);
        }
    };
    let span = tracing::info_span!("attempt", task = lease.task().number.0, attempt = lease.held().number);
    let place = Place { shared: shared.clone(), task };
    shared.tracker.spawn(
        async move {
            attempt::run(place.shared.clone(), lease, running).await;
            drop(place);
        }
        .instrument(span),
    );
    Ok(())
}

/// An attempt's place in the registry: given up, and the loop woken, however the attempt ends.
struct Place {
    shared: Arc<Shared>,
    task: TaskId,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.shared.registry.leave(self.task);
        self.shared.wake.notify_one();
    }
}

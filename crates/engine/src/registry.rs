//! The attempts that run now: how to stop them and how far they are.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use st_model::event::Progress;
use st_model::id::TaskId;
use st_model::state::StopCause;
use tokio::sync::watch;

/// A wish that an attempt end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StopRequest {
    pub(crate) cause: StopCause,
    /// Time between asking the worker to end and ending it.
    pub(crate) grace: Duration,
}

/// A running attempt, seen from outside.
#[derive(Debug, Default)]
pub(crate) struct Running {
    stop: watch::Sender<Option<StopRequest>>,
    progress: Mutex<Option<Progress>>,
    /// Held while a stop is written to the store and while the attempt settles, so that a
    /// settlement is always chosen knowing every stop that the store knows.
    pub(crate) settling: tokio::sync::Mutex<()>,
}

impl Running {
    /// Asks the attempt to end. Like the store's own rule, a user's word outranks other causes;
    /// the shorter grace holds.
    pub(crate) fn ask_to_stop(&self, request: StopRequest) {
        self.stop.send_modify(|held| {
            *held = Some(match *held {
                None => request,
                Some(earlier) => StopRequest {
                    cause: if request.cause == StopCause::Cancelled { request.cause } else { earlier.cause },
                    grace: earlier.grace.min(request.grace),
                },
            });
        });
    }

    pub(crate) fn stop_request(&self) -> Option<StopRequest> {
        *self.stop.borrow()
    }

    pub(crate) fn stop_requests(&self) -> watch::Receiver<Option<StopRequest>> {
        self.stop.subscribe()
    }

    pub(crate) fn progress(&self) -> Option<Progress> {
        lock(&self.progress).clone()
    }

    pub(crate) fn set_progress(&self, progress: Progress) {
        *lock(&self.progress) = Some(progress);
    }
}

/// All attempts that run now.
#[derive(Debug, Default)]
pub(crate) struct Registry(Mutex<HashMap<TaskId, Arc<Running>>>);

impl Registry {
    /// Takes a place for a task. Done before the claim, so that from the moment its lease exists
    /// a task can be told to stop.
    pub(crate) fn enter(&self, task: TaskId) -> Arc<Running> {
        lock(&self.0).entry(task).or_default().clone()
    }

    pub(crate) fn leave(&self, task: TaskId) {
        lock(&self.0).remove(&task);
    }

    pub(crate) fn get(&self, task: TaskId) -> Option<Arc<Running>> {
        lock(&self.0).get(&task).cloned()
    }

    pub(crate) fn contains(&self, task: TaskId) -> bool {
        lock(&self.0).contains_key(&task)
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.0).len()
    }

    pub(crate) fn all(&self) -> Vec<(TaskId, Arc<Running>)> {
        lock(&self.0).iter().map(|(task, running)| (*task, running.clone())).collect()
    }
}

/// Plain data stays whole whatever thread panicked over it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_word_outranks_other_causes_and_the_shorter_grace_holds() {
        let running = Running::default();
        let ask = |cause, seconds| running.ask_to_stop(StopRequest { cause, grace: Duration::from_secs(seconds) });
        ask(StopCause::TimedOut, 5);
        ask(StopCause::Cancelled, 9);
        assert_eq!(running.stop_request(), Some(StopRequest { cause: StopCause::Cancelled, grace: Duration::from_secs(5) }));
        ask(StopCause::EngineStop, 0);
        assert_eq!(running.stop_request(), Some(StopRequest { cause: StopCause::Cancelled, grace: Duration::ZERO }));
    }
}

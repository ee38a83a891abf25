//! A shown notice's handle, kept alive and waited on.

use notify_rust::{Notification, NotificationHandle, NotificationResponse};
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::AbortOnDropHandle;

use super::RaiseError;

/// The task that keeps a handle; dropping this ends it and closes the handle's connection.
#[derive(Debug)]
pub(super) struct Held {
    id: u32,
    replacements: mpsc::Sender<Replacement>,
    _task: AbortOnDropHandle<()>,
}

/// Another notice for the place of one that is shown, and where the answer goes.
pub(super) struct Replacement {
    notification: Notification,
    answer: oneshot::Sender<Result<u32, RaiseError>>,
}

impl Held {
    /// Keeps `handle` and calls `on_answer` when its notice was answered: with `true` for a click
    /// that opens, with `false` for anything else.
    pub(super) fn new(handle: NotificationHandle, on_answer: impl Fn(bool) + Send + Sync + 'static) -> Self {
        let (replacements, asked) = mpsc::channel(1);
        let id = handle.id();
        // The library panics where it can't ask the bus for signals. That ends this task and
        // nothing else; the listener is told of the same end of the bus.
        Self { id, replacements, _task: AbortOnDropHandle::new(tokio::spawn(hold(handle, asked, on_answer))) }
    }

    pub(super) fn id(&self) -> u32 {
        self.id
    }

    /// Where its notice can be replaced, over the connection that showed it.
    pub(super) fn replacements(&self) -> mpsc::Sender<Replacement> {
        self.replacements.clone()
    }
}

/// Shows `notification` in the place of the one that `replacements` leads to; returns its id.
pub(super) async fn replace(replacements: &mpsc::Sender<Replacement>, notification: Notification) -> Result<u32, RaiseError> {
    let (answer, answered) = oneshot::channel();
    replacements.send(Replacement { notification, answer }).await.map_err(|_| RaiseError::Ended)?;
    answered.await.map_err(|_| RaiseError::Ended)?
}

async fn hold(mut handle: NotificationHandle, mut asked: mpsc::Receiver<Replacement>, on_answer: impl Fn(bool)) {
    let mut answered = false;
    loop {
        let replacement = tokio::select! {
            () = handle.wait_for_action_async(|response| on_answer(matches!(response, NotificationResponse::Default))), if !answered => {
                // The connection stays: desktops withdraw a program's notices with it.
                answered = true;
                continue;
            }
            replacement = asked.recv() => replacement,
        };
        let Some(Replacement { notification, answer }) = replacement else { return };
        *handle = notification;
        let Ok((back, result)) = update(handle).await else { return };
        handle = back;
        // Whoever asked may have given up waiting.
        let _given_up = answer.send(result);
        answered = false;
    }
}

/// Sends the handle's notice anew. The library has that in a blocking form alone; a thread of its
/// own, unlike one of the runtime's, keeps nobody from ending when the service does not answer.
async fn update(mut handle: NotificationHandle) -> Result<(NotificationHandle, Result<u32, RaiseError>), RaiseError> {
    let (done, waited) = oneshot::channel();
    std::thread::Builder::new()
        .name("notice".into())
        .spawn(move || {
            let result = handle.update().map(|()| handle.id()).map_err(RaiseError::from);
            let _given_up = done.send((handle, result));
        })
        .map_err(RaiseError::Thread)?;
    waited.await.map_err(|_| RaiseError::Ended)
}

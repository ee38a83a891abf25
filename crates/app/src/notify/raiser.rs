//! Raising notices through the desktop's notification service (Desktop Notifications 1.2).
//!
//! `notify-rust` shows them; a click is listened for with two ears, and the first to hear one
//! takes it ([`Live::take`]):
//!
//! - The handle that the library gives for a shown notice is kept and waited on ([`held`]), over
//!   the connection that showed it. Its wait begins a new stream of signals after each signal, by
//!   which those that arrive together are lost: an activation token and the click behind it, or
//!   two clicks. And only so many connections are kept.
//! - One connection of ours, one stream for all notices, misses nothing and costs the same for any
//!   number of them. GNOME and dunst tell the sender alone, so that it is a monitor of the bus,
//!   for answers to notices and for nothing else; where the bus refuses that, it hears what is
//!   told to everybody (KDE, mako, xfce), and the handles hear the rest.
//!
//! A notice is replaced over the connection that showed it: GNOME refuses it from another one.

mod held;
mod live;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use notify_rust::{Hint, Notification, Urgency};
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::{Instant, timeout};
use tokio_util::task::AbortOnDropHandle;
use zbus::export::ordered_stream::OrderedStreamExt as _;
use zbus::{Connection, MatchRule, MessageStream};

use self::held::{Held, replace};
use self::live::{Live, Place, Shows};
use super::{Folding, Notice, Outcome, Shown};

/// What is done when a notice is clicked; gets the task's number. Called on a runtime thread.
pub type OnOpen = Arc<dyn Fn(u64) + Send + Sync>;

/// Longest wait for the service.
const SERVICE_TIMEOUT: Duration = Duration::from_secs(5);

/// Answers that wait to be looked at: more than there are live notices, each of which gives at
/// most a click and a close.
const SIGNALS: std::num::NonZeroUsize = std::num::NonZeroUsize::new(256).unwrap();

/// Name of the desktop entry, by which desktops find our icon and settings.
const DESKTOP_ENTRY: &str = "sidetrack";

const INTERFACE: &str = "org.freedesktop.Notifications";
const PATH: &str = "/org/freedesktop/Notifications";

/// Why a notice was not shown.
#[derive(Debug, thiserror::Error)]
enum RaiseError {
    #[error(transparent)]
    Bus(#[from] zbus::Error),
    #[error(transparent)]
    Show(#[from] notify_rust::error::Error),
    #[error("no thread can be started: {0}")]
    Thread(#[source] std::io::Error),
    #[error("the connection that showed the notice has ended")]
    Ended,
}

/// Raises notices. Cheap to clone; engine and window use the same.
#[derive(Clone)]
pub struct Raiser {
    inner: Arc<Inner>,
}

impl std::fmt::Debug for Raiser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Raiser").finish_non_exhaustive()
    }
}

struct Inner {
    on_open: OnOpen,
    began: Instant,
    session: AsyncMutex<Session>,
}

#[derive(Default)]
struct Session {
    folding: Folding,
    service: Option<Service>,
    warned: bool,
}

struct Service {
    capabilities: HashSet<String>,
    live: Arc<Mutex<Live>>,
    /// Held while a notice is being shown: an answer that comes before its notice is known waits.
    showing: Arc<AsyncMutex<()>>,
    on_open: OnOpen,
    listener: AbortOnDropHandle<()>,
}

impl Raiser {
    /// A raiser whose notices call `on_open` when they are clicked.
    #[must_use]
    pub fn new(on_open: OnOpen) -> Self {
        Self { inner: Arc::new(Inner { on_open, began: Instant::now(), session: AsyncMutex::default() }) }
    }

    /// Raises a notice: replaces an earlier one of the same task, and folds a burst into one
    /// summary. Does nothing but warn once when there is no session bus or no service on it.
    pub async fn raise(&self, notice: Notice) {
        let mut session = self.inner.session.lock().await;
        let shown = session.folding.take(notice, self.inner.began.elapsed());
        // The service may have been started anew since, or ended: one more try.
        for _ in 0..2 {
            match timeout(SERVICE_TIMEOUT, self.show(&mut session, &shown)).await {
                Ok(Ok(())) => {
                    session.warned = false;
                    return;
                }
                Ok(Err(error)) => session.warn(&error.to_string()),
                Err(_) => session.warn("the service does not answer"),
            }
            session.service = None;
        }
    }

    async fn show(&self, session: &mut Session, shown: &Shown) -> Result<(), RaiseError> {
        if session.service.as_ref().is_none_or(|service| service.listener.is_finished()) {
            session.service = Some(Service::connect(Arc::clone(&self.inner.on_open)).await?);
        }
        let Some(service) = &session.service else { return Ok(()) };
        service.show(shown).await
    }
}

impl Session {
    fn warn(&mut self, why: &str) {
        if !std::mem::replace(&mut self.warned, true) {
            tracing::warn!(why, "notifications can't be shown; results are in the list");
        }
    }
}

impl Service {
    async fn connect(on_open: OnOpen) -> Result<Self, RaiseError> {
        let connection = Connection::session().await?;
        let signals = answers(&connection).await?;
        // The library asks this in a blocking form alone.
        let capabilities = connection.call_method(Some(INTERFACE), PATH, Some(INTERFACE), "GetCapabilities", &()).await;
        let capabilities = capabilities.and_then(|answer| answer.body().deserialize::<Vec<String>>()).unwrap_or_default();
        let (live, showing) = (Arc::new(Mutex::new(Live::default())), Arc::default());
        let listener = listen(signals, Arc::clone(&live), Arc::clone(&showing), Arc::clone(&on_open));
        let listener = AbortOnDropHandle::new(tokio::spawn(listener));
        Ok(Self { capabilities: capabilities.into_iter().collect(), live, showing, on_open, listener })
    }

    async fn show(&self, shown: &Shown) -> Result<(), RaiseError> {
        let (notice, place) = match shown {
            Shown::Alone(notice) => (notice, Place::Task(notice.task)),
            Shown::Folded(notice) => (notice, Place::Burst),
        };
        let mut notification = self.notification(notice);
        let _showing = self.showing.lock().await;
        let (replaces, held) = {
            let live = lock(&self.live);
            let replaces = live.replaces(place);
            (replaces, replaces.and_then(|id| live.held(id)).map(Held::replacements))
        };
        let (id, handle) = if let Some(held) = held {
            (replace(&held, notification).await?, None)
        } else {
            if let Some(id) = replaces {
                notification.id(id);
            }
            let handle = notification.show_async().await?;
            (handle.id(), Some(handle))
        };
        let mut live = lock(&self.live);
        live.keep(Shows { id, place, opens: notice.task, since: Instant::now() });
        if let Some(handle) = handle {
            let (shown, on_open) = (Arc::clone(&self.live), Arc::clone(&self.on_open));
            live.hold(Held::new(handle, move |opens| answered(&shown, &on_open, id, opens)));
        }
        Ok(())
    }

    fn notification(&self, notice: &Notice) -> Notification {
        let (urgency, category) = match notice.outcome {
            Outcome::Clean => (Urgency::Low, "transfer.complete"),
            Outcome::Findings | Outcome::Unseen => (Urgency::Normal, "transfer.complete"),
            Outcome::Partial | Outcome::Failed => (Urgency::Normal, "transfer.error"),
            Outcome::NeedsYou => (Urgency::Critical, "transfer.error"),
        };
        let is_markup = self.capabilities.contains("body-markup");
        let body = if is_markup { escape(&notice.body) } else { notice.body.clone() };
        Notification::new()
            .appname("Sidetrack")
            .icon(DESKTOP_ENTRY)
            .summary(&notice.title)
            .body(&body)
            // A service without actions ignores them.
            .action("default", "Open")
            .hint(Hint::DesktopEntry(DESKTOP_ENTRY.into()))
            .hint(Hint::Category(category.into()))
            .urgency(urgency)
            .finalize()
    }
}

fn lock(live: &Mutex<Live>) -> std::sync::MutexGuard<'_, Live> {
    live.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A notice was clicked (`opens`) or closed.
fn answered(live: &Mutex<Live>, on_open: &OnOpen, id: u32, opens: bool) {
    let shows = lock(live).take(id);
    if let Some(shows) = shows
        && opens
    {
        on_open(shows.opens);
    }
}

/// Text as the service's markup.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Every answer to a notice, no matter whom the service tells it.
async fn answers(connection: &Connection) -> zbus::Result<MessageStream> {
    let rule = MatchRule::builder().msg_type(zbus::message::Type::Signal).interface(INTERFACE).path(PATH).build()?;
    match monitor(&rule).await {
        Ok(signals) => Ok(signals),
        Err(error) => {
            tracing::debug!(%error, "the bus lets nobody monitor it; a click that its sender alone is told of may be lost");
            MessageStream::for_match_rule(rule, connection, Some(SIGNALS)).await
        }
    }
}

/// A monitor may send nothing, so it has a connection of its own, and no proxy, which would.
async fn monitor(rule: &MatchRule<'_>) -> zbus::Result<MessageStream> {
    const BUS: &str = "org.freedesktop.DBus";
    let connection = Connection::session().await?;
    let signals = MessageStream::from(&connection);
    let asked = (vec![rule.to_string()], 0u32);
    connection.call_method(Some(BUS), "/org/freedesktop/DBus", Some("org.freedesktop.DBus.Monitoring"), "BecomeMonitor", &asked).await?;
    Ok(signals)
}

async fn listen(mut signals: MessageStream, live: Arc<Mutex<Live>>, showing: Arc<AsyncMutex<()>>, on_open: OnOpen) {
    while let Some(message) = signals.next().await {
        let Ok(message) = message else { return };
        let header = message.header();
        let (id, opens) = match header.member().map(|member| member.as_str()) {
            Some("ActionInvoked") => match message.body().deserialize::<(u32, String)>() {
                Ok((id, action)) if action == "default" => (id, true),
                Ok(_) | Err(_) => continue,
            },
            Some("NotificationClosed") => match message.body().deserialize::<(u32, u32)>() {
                Ok((id, _reason)) => (id, false),
                Err(_) => continue,
            },
            Some(_) | None => continue,
        };
        drop(showing.lock().await);
        answered(&live, &on_open, id, opens);
    }
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn a_body_is_no_markup() {
        assert_eq!(escape("<b>a & b</b>"), "&lt;b&gt;a &amp; b&lt;/b&gt;");
    }
}

//! Raising notices through the desktop's notification service (Desktop Notifications 1.2).
//!
//! One connection for all notices and one stream for all answers. The usual library opens a
//! connection a notice and rebuilds its stream of signals on each turn, by which answers that
//! arrive together are lost (research/ui.md §2, row 2).

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Mutex as AsyncMutex;
use tokio::time::{Instant, timeout};
use zbus::export::ordered_stream::OrderedStreamExt as _;

use zbus::{Connection, MatchRule, MessageStream, Variant};

use super::{Folding, Notice, Outcome, Shown};

/// What is done when a notice is clicked; gets the task's number. Called on a runtime thread.
pub type OnOpen = Arc<dyn Fn(u64) + Send + Sync>;

/// Longest wait for the service.
const SERVICE_TIMEOUT: Duration = Duration::from_secs(5);

/// Shown notices whose click is waited for; an older one's click opens nothing any more, and
/// its task stays marked in the list.
const MOST_LIVE: usize = 64;

/// Answers that wait to be looked at: more than there are live notices, each of which gives at
/// most a click and a close.
const SIGNALS: std::num::NonZeroUsize = std::num::NonZeroUsize::new(256).unwrap();

/// How long a click is waited for.
const LIVE: Duration = Duration::from_secs(24 * 3600);

/// Name of the desktop entry, by which desktops find our icon and settings.
const DESKTOP_ENTRY: &str = "sidetrack";

#[zbus::proxy(
    interface = "org.freedesktop.Notifications",
    default_service = "org.freedesktop.Notifications",
    default_path = "/org/freedesktop/Notifications"
)]
trait Notifications {
    /// Shows a notification and returns its id.
    #[expect(clippy::too_many_arguments, reason = "the specification's own signature")]
    fn notify(
        &self,
        app_name: &str,
        replaces_id: u32,
        app_icon: &str,
        summary: &str,
        body: &str,
        actions: &[&str],
        hints: HashMap<&str, Variant<'_>>,
        expire_timeout: i32,
    ) -> zbus::Result<u32>;

    /// What the service can do.
    fn get_capabilities(&self) -> zbus::Result<Vec<String>>;
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
    proxy: NotificationsProxy<'static>,
    capabilities: HashSet<String>,
    live: Arc<Mutex<Live>>,
    listener: tokio::task::JoinHandle<()>,
}

impl Drop for Service {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

/// What a shown notice stands for: one place a task, and one for the summary of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    Task(u64),
    Burst,
}

#[derive(Clone, Copy, Debug)]
struct Shows {
    id: u32,
    place: Place,
    opens: u64,
    since: Instant,
}

/// Notices that are shown and were neither clicked nor closed.
#[derive(Debug, Default)]
struct Live {
    shown: VecDeque<Shows>,
}

impl Live {
    /// The id that a notice at `place` replaces; 0 for none.
    fn replaces(&self, place: Place) -> u32 {
        self.shown.iter().find(|shows| shows.place == place).map_or(0, |shows| shows.id)
    }

    fn keep(&mut self, shows: Shows) {
        let (id, place, now) = (shows.id, shows.place, shows.since);
        self.shown.retain(|shows| shows.id != id && shows.place != place && now.duration_since(shows.since) < LIVE);
        self.shown.push_back(shows);
        while self.shown.len() > MOST_LIVE {
            self.shown.pop_front();
        }
    }

    fn take(&mut self, id: u32) -> Option<Shows> {
        let index = self.shown.iter().position(|shows| shows.id == id)?;
        self.shown.remove(index)
    }
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

    async fn show(&self, session: &mut Session, shown: &Shown) -> zbus::Result<()> {
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
    async fn connect(on_open: OnOpen) -> zbus::Result<Self> {
        let connection = Connection::session().await?;
        let proxy = NotificationsProxy::new(&connection).await?;
        let rule = MatchRule::builder()
            .msg_type(zbus::message::Type::Signal)
            .interface("org.freedesktop.Notifications")
            .path("/org/freedesktop/Notifications")
            .build()?;
        let signals = MessageStream::for_match_rule(rule, &connection, Some(SIGNALS)).await?;
        let capabilities = proxy.get_capabilities().await.unwrap_or_default().into_iter().collect();
        let live = Arc::new(Mutex::new(Live::default()));
        let listener = tokio::spawn(listen(signals, Arc::clone(&live), on_open));
        Ok(Self { proxy, capabilities, live, listener })
    }

    async fn show(&self, shown: &Shown) -> zbus::Result<()> {
        let (notice, place) = match shown {
            Shown::Alone(notice) => (notice, Place::Task(notice.task)),
            Shown::Folded(notice) => (notice, Place::Burst),
        };
        let live = || self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let replaces = live().replaces(place);
        let body = if self.capabilities.contains("body-markup") { escape(&notice.body) } else { notice.body.clone() };
        // A service without actions ignores them.
        let actions = ["default", "Open"];
        let id = self.proxy.notify("Sidetrack", replaces, DESKTOP_ENTRY, &notice.title, &body, &actions, hints(notice), -1).await?;
        live().keep(Shows { id, place, opens: notice.task, since: Instant::now() });
        Ok(())
    }
}

fn hints(notice: &Notice) -> HashMap<&'static str, Variant<'static>> {
    let (urgency, category): (u8, _) = match notice.outcome {
        Outcome::Clean => (0, "transfer.complete"),
        Outcome::Findings | Outcome::Unseen => (1, "transfer.complete"),
        Outcome::Partial | Outcome::Failed => (1, "transfer.error"),
        Outcome::NeedsYou => (2, "transfer.error"),
    };
    HashMap::from([
        ("desktop-entry", Variant::from(DESKTOP_ENTRY)),
        ("urgency", Variant::from(urgency)),
        ("category", Variant::from(category)),
    ])
}

/// Text as the service's markup.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

async fn listen(mut signals: MessageStream, live: Arc<Mutex<Live>>, on_open: OnOpen) {
    while let Some(message) = signals.next().await {
        let Ok(message) = message else { return };
        let header = message.header();
        let take = |id| live.lock().unwrap_or_else(PoisonError::into_inner).take(id);
        match header.member().map(|member| member.as_str()) {
            Some("ActionInvoked") => {
                if let Ok((id, action)) = message.body().deserialize::<(u32, String)>()
                    && action == "default"
                    && let Some(shows) = take(id)
                {
                    on_open(shows.opens);
                }
            }
            Some("NotificationClosed") => {
                if let Ok((id, _reason)) = message.body().deserialize::<(u32, u32)>() {
                    take(id);
                }
            }
            Some(_) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shows(id: u32, task: u64, since: Instant) -> Shows {
        Shows { id, place: Place::Task(task), opens: task, since }
    }

    #[test]
    fn a_later_notice_of_a_task_replaces_the_earlier_one() {
        let mut live = Live::default();
        let now = Instant::now();
        live.keep(shows(7, 42, now));
        assert_eq!(live.replaces(Place::Task(42)), 7);
        assert_eq!(live.replaces(Place::Burst), 0);
        live.keep(shows(7, 42, now));
        assert_eq!(live.shown.len(), 1);
        assert_eq!(live.take(7).unwrap().opens, 42);
        assert!(live.take(7).is_none());
    }

    #[test]
    fn clicks_are_waited_for_a_bounded_number_and_time() {
        let mut live = Live::default();
        let now = Instant::now();
        for number in 0..100 {
            live.keep(shows(number, u64::from(number), now));
        }
        assert_eq!(live.shown.len(), MOST_LIVE);
        assert!(live.take(0).is_none());
        live.keep(shows(200, 200, now + LIVE));
        assert_eq!(live.shown.len(), 1);
    }

    #[test]
    fn a_body_is_no_markup() {
        assert_eq!(escape("<b>a & b</b>"), "&lt;b&gt;a &amp; b&lt;/b&gt;");
    }
}

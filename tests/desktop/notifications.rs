//! A notification server that records what it is told and answers as a user would.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use zbus::object_server::SignalEmitter;
use zbus::zvariant::OwnedValue;
use zbus::{Connection, interface};

use super::rig::until;

/// One `Notify` call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) id: u32,
    pub(crate) replaces: u32,
    pub(crate) summary: String,
    pub(crate) body: String,
    pub(crate) actions: Vec<String>,
}

struct Server {
    shown: Arc<Mutex<Vec<Shown>>>,
}

#[interface(name = "org.freedesktop.Notifications")]
impl Server {
    #[expect(clippy::too_many_arguments, reason = "the interface is the desktop's")]
    fn notify(
        &self,
        _app: &str,
        replaces: u32,
        _icon: &str,
        summary: &str,
        body: &str,
        actions: Vec<String>,
        _hints: HashMap<String, OwnedValue>,
        _timeout: i32,
    ) -> u32 {
        let mut shown = self.shown.lock().unwrap();
        let id = if replaces == 0 { u32::try_from(shown.len()).unwrap() + 1 } else { replaces };
        shown.push(Shown { id, replaces, summary: summary.to_owned(), body: body.to_owned(), actions });
        id
    }

    fn get_capabilities(&self) -> Vec<String> {
        ["actions", "body", "body-markup", "persistence"].map(str::to_owned).to_vec()
    }

    fn get_server_information(&self) -> (String, String, String, String) {
        ("recorder".into(), "sidetrack".into(), "1".into(), "1.2".into())
    }

    fn close_notification(&self, _id: u32) {}

    #[zbus(signal)]
    async fn action_invoked(emitter: &SignalEmitter<'_>, id: u32, action: &str) -> zbus::Result<()>;

    #[zbus(signal)]
    async fn notification_closed(emitter: &SignalEmitter<'_>, id: u32, reason: u32) -> zbus::Result<()>;
}

/// The recorder. It owns the well-known name as long as it lives.
pub(crate) struct Recorder {
    connection: Connection,
    shown: Arc<Mutex<Vec<Shown>>>,
}

const PATH: &str = "/org/freedesktop/Notifications";

impl Recorder {
    /// Takes the name on `bus`.
    pub(crate) async fn start(bus: &str) -> Self {
        let shown = Arc::new(Mutex::new(Vec::new()));
        let connection = zbus::connection::Builder::address(bus)
            .unwrap()
            .name("org.freedesktop.Notifications")
            .unwrap()
            .serve_at(PATH, Server { shown: shown.clone() })
            .unwrap()
            .build()
            .await
            .unwrap();
        Self { connection, shown }
    }

    /// All that was shown so far.
    pub(crate) fn shown(&self) -> Vec<Shown> {
        self.shown.lock().unwrap().clone()
    }

    /// The first one, once it is there.
    pub(crate) async fn first(&self) -> Shown {
        until("a notification is shown", || async { self.shown().into_iter().next() }).await
    }

    /// Does what a click on the notification does.
    pub(crate) async fn click(&self, id: u32) {
        let emitter = SignalEmitter::new(&self.connection, PATH).unwrap();
        Server::action_invoked(&emitter, id, "default").await.unwrap();
        Server::notification_closed(&emitter, id, 2).await.unwrap();
    }
}

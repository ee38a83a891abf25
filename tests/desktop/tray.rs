//! A panel with room for tray icons, and a hand that clicks in their menus.

use std::sync::{Arc, Mutex};

use zbus::message::Header;
use zbus::zvariant::{OwnedValue, Value};
use zbus::{Connection, interface};

use super::rig::until;

/// An icon that was put up: the connection and object it lives at.
#[derive(Clone, Debug)]
struct Icon {
    owner: String,
    path: String,
}

struct Watcher {
    icons: Arc<Mutex<Vec<Icon>>>,
}

#[interface(name = "org.kde.StatusNotifierWatcher")]
impl Watcher {
    #[expect(clippy::needless_pass_by_value, reason = "the interface hands it over so")]
    fn register_status_notifier_item(&self, service: &str, #[zbus(header)] header: Header<'_>) {
        let sender = header.sender().map(ToString::to_string).unwrap_or_default();
        // A service is a bus name, or a path on the sender's own connection.
        let (owner, path) =
            if service.starts_with('/') { (sender, service.to_owned()) } else { (service.to_owned(), "/StatusNotifierItem".to_owned()) };
        self.icons.lock().unwrap().push(Icon { owner, path });
    }

    fn register_status_notifier_host(&self, _service: &str) {}

    #[zbus(property)]
    fn is_status_notifier_host_registered(&self) -> bool {
        true
    }

    #[zbus(property)]
    fn protocol_version(&self) -> i32 {
        0
    }

    #[zbus(property)]
    fn registered_status_notifier_items(&self) -> Vec<String> {
        self.icons.lock().unwrap().iter().map(|icon| format!("{}{}", icon.owner, icon.path)).collect()
    }
}

/// The panel. It owns the well-known name as long as it lives.
pub(crate) struct Panel {
    connection: Connection,
    icons: Arc<Mutex<Vec<Icon>>>,
}

/// A node of a menu: id, properties, children.
type Node = (i32, std::collections::HashMap<String, OwnedValue>, Vec<OwnedValue>);

impl Panel {
    /// Takes the panel's name on `bus`.
    pub(crate) async fn start(bus: &str) -> Self {
        let icons = Arc::new(Mutex::new(Vec::new()));
        let connection = zbus::connection::Builder::address(bus)
            .unwrap()
            .name("org.kde.StatusNotifierWatcher")
            .unwrap()
            .serve_at("/StatusNotifierWatcher", Watcher { icons: icons.clone() })
            .unwrap()
            .build()
            .await
            .unwrap();
        Self { connection, icons }
    }

    async fn icon(&self) -> Icon {
        until("an icon is put up", || async { self.icons.lock().unwrap().last().cloned() }).await
    }

    async fn property<T: TryFrom<OwnedValue>>(&self, name: &str) -> Option<T> {
        let icon = self.icon().await;
        let reply = self
            .connection
            .call_method(
                Some(icon.owner.as_str()),
                icon.path.as_str(),
                Some("org.freedesktop.DBus.Properties"),
                "Get",
                &("org.kde.StatusNotifierItem", name),
            )
            .await
            .ok()?;
        let value: OwnedValue = reply.body().deserialize().ok()?;
        T::try_from(value).ok()
    }

    /// Labels of the menu with their ids.
    async fn entries(&self) -> Option<Vec<(i32, String)>> {
        let icon = self.icon().await;
        let menu: zbus::zvariant::OwnedObjectPath = self.property("Menu").await?;
        let reply = self
            .connection
            .call_method(
                Some(icon.owner.as_str()),
                menu.as_str(),
                Some("com.canonical.dbusmenu"),
                "GetLayout",
                &(0, -1, Vec::<String>::new()),
            )
            .await
            .ok()?;
        let (_, root): (u32, Node) = reply.body().deserialize().ok()?;
        let entries = root.2.into_iter().filter_map(|child| {
            let node = Node::try_from(child).ok()?;
            let label = String::try_from(node.1.get("label")?.try_clone().ok()?).ok()?;
            Some((node.0, label))
        });
        Some(entries.collect())
    }

    /// Waits until the menu has an entry that `fits`.
    pub(crate) async fn wait_for_entry(&self, what: &str, fits: impl Fn(&str) -> bool) -> String {
        until(what, || async { self.entries().await?.into_iter().map(|(_, label)| label).find(|label| fits(label)) }).await
    }

    /// Clicks an entry of the menu, once it is there.
    pub(crate) async fn click(&self, label: &str) {
        until("the menu has the entry", || async { self.click_if_there(label).await.then_some(()) }).await;
    }

    /// Clicks an entry of the menu; `false` when there is none, or nobody answers.
    pub(crate) async fn click_if_there(&self, label: &str) -> bool {
        let Some(id) = self.entries().await.and_then(|entries| entries.into_iter().find(|(_, found)| found == label)).map(|(id, _)| id)
        else {
            return false;
        };
        let icon = self.icon().await;
        let Some(menu) = self.property::<zbus::zvariant::OwnedObjectPath>("Menu").await else { return false };
        let event = (id, "clicked", Value::from(""), 0u32);
        // A program that ends on the click may be gone before it answers.
        let _ =
            self.connection.call_method(Some(icon.owner.as_str()), menu.as_str(), Some("com.canonical.dbusmenu"), "Event", &event).await;
        true
    }
}

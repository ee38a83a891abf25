//! Notifications of an engine, seen by a notification service on a session bus of its own.

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use st_app::client::{Client, stop_engine};
use st_app::protocol::Call;
use st_testkit::engine::submit;
use st_testkit::until;
use st_testkit::worker::{Gate, Step, script};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use zbus::export::ordered_stream::OrderedStreamExt as _;
use zbus::message::Type;
use zbus::{Connection, MessageStream};

use crate::lifecycle::Program;
use crate::watch;

const INTERFACE: &str = "org.freedesktop.Notifications";
const PATH: &str = "/org/freedesktop/Notifications";

/// A session bus of its own.
struct Bus {
    address: String,
    _daemon: Child,
}

impl Bus {
    /// `None` where no bus daemon is installed.
    async fn start() -> Option<Self> {
        let mut daemon = Command::new("dbus-daemon")
            .args(["--session", "--nofork", "--print-address"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .ok()?;
        let mut address = String::new();
        BufReader::new(daemon.stdout.take().unwrap()).read_line(&mut address).await.unwrap();
        Some(Self { address: address.trim().to_owned(), _daemon: daemon })
    }
}

/// What an engine asked to be shown.
#[derive(Clone, Debug, PartialEq)]
struct Shown {
    replaces: u32,
    title: String,
    body: String,
    actions: Vec<String>,
    hints: Vec<String>,
}

/// Who hears of an answer.
#[derive(Clone, Copy, PartialEq)]
enum Tells {
    Everybody,
    /// Whoever showed the notification, who alone can replace it.
    Sender,
}

/// A notification service that records.
struct Recorder {
    connection: Connection,
    tells: Tells,
    shown: Arc<Mutex<Vec<Shown>>>,
    /// Who showed the notification with that id.
    senders: Arc<Mutex<HashMap<u32, String>>>,
}

type NotifyArguments = (String, u32, String, String, String, Vec<String>, HashMap<String, zbus::OwnedVariant>, i32);

impl Recorder {
    async fn start(bus: &Bus) -> Self {
        Self::start_telling(bus, Tells::Everybody).await
    }

    async fn start_telling(bus: &Bus, tells: Tells) -> Self {
        let connection = zbus::connection::Builder::address(bus.address.as_str()).build().await.unwrap();
        let shown = Arc::new(Mutex::new(Vec::new()));
        let senders = Arc::new(Mutex::new(HashMap::new()));
        let mut calls = MessageStream::from(&connection);
        connection.request_name(INTERFACE).await.unwrap();
        let (answering, record, known) = (connection.clone(), Arc::clone(&shown), Arc::clone(&senders));
        tokio::spawn(async move {
            while let Some(Ok(message)) = calls.next().await {
                let header = message.header();
                if header.message_type() != Type::MethodCall {
                    continue;
                }
                match header.member().map(|member| member.as_str()) {
                    Some("GetCapabilities") => answering.reply(&header, &vec!["actions", "body", "body-markup"]).await.unwrap(),
                    Some("Notify") => {
                        let (_, replaces, _, title, body, actions, hints, _) = message.body().deserialize::<NotifyArguments>().unwrap();
                        let mut hints: Vec<String> = hints.into_keys().collect();
                        hints.sort();
                        let sender = header.sender().unwrap().to_string();
                        let owner = known.lock().unwrap().get(&replaces).cloned();
                        if tells == Tells::Sender && owner.is_some_and(|owner| owner != sender) {
                            let name = "org.freedesktop.DBus.Error.InvalidArgs";
                            answering.reply_error(&header, name, &"Invalid notification ID").await.unwrap();
                            continue;
                        }
                        let id = {
                            let mut record = record.lock().unwrap();
                            record.push(Shown { replaces, title, body, actions, hints });
                            if replaces == 0 { u32::try_from(record.len()).unwrap() } else { replaces }
                        };
                        known.lock().unwrap().insert(id, sender);
                        answering.reply(&header, &id).await.unwrap();
                    }
                    _ => {}
                }
            }
        });
        Self { connection, tells, shown, senders }
    }

    fn shown(&self) -> Vec<Shown> {
        self.shown.lock().unwrap().clone()
    }

    async fn until_shown(&self, count: usize) -> Vec<Shown> {
        until(&format!("{count} notifications are shown"), async || self.shown().len() >= count).await;
        self.shown()
    }

    async fn click(&self, id: u32) {
        self.emit(id, "ActivationToken", &(id, "token")).await;
        self.emit(id, "ActionInvoked", &(id, "default")).await;
        self.emit(id, "NotificationClosed", &(id, 2u32)).await;
    }

    async fn emit<B: serde::Serialize + zbus::DynamicType>(&self, id: u32, signal: &str, body: &B) {
        let sender = (self.tells == Tells::Sender).then(|| self.senders.lock().unwrap()[&id].clone());
        self.connection.emit_signal(sender.as_deref(), PATH, INTERFACE, signal, body).await.unwrap();
    }
}

/// A desktop binary that writes down how it was started.
fn desktop_double(folder: &Path) -> PathBuf {
    let (path, record) = (folder.join("sidetrack-desktop"), folder.join("opened"));
    std::fs::write(&path, format!("#!/bin/sh\necho \"$@\" >> '{}'\n", record.display())).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    record
}

fn opened(record: &Path) -> Vec<String> {
    let mut lines: Vec<String> = std::fs::read_to_string(record).unwrap_or_default().lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[tokio::test]
async fn a_finished_task_is_one_notification_whose_click_opens_it() {
    let Some(bus) = Bus::start().await else { return };
    let recorder = Recorder::start(&bus).await;
    let program = Program::with_environment(&format!("DBUS_SESSION_BUS_ADDRESS='{}'", bus.address));
    let record = desktop_double(program.folder());
    let client = Client::connect(&program.options(), &|_| {}).await.unwrap();
    let mut watcher = watch(&client, None).await;
    submit(&client, &script(&[Step::Findings(3), Step::Covered("a".into()), Step::Done])).await;
    watcher.rest(1).await;
    let shown = recorder.until_shown(1).await;
    let expected = Shown {
        replaces: 0,
        title: "Review finished: 3 findings (2 high)".into(),
        body: "Review test.patch".into(),
        actions: vec!["default".into(), "Open".into()],
        hints: vec!["category".into(), "desktop-entry".into(), "urgency".into()],
    };
    assert_eq!(shown, [expected]);
    recorder.click(1).await;
    until("the window is opened", async || opened(&record) == ["--task 1"]).await;
    // A second click on what is gone opens nothing.
    recorder.click(1).await;

    // A failure says its cause; what the user cancelled says nothing.
    let gate = Gate::new(program.folder(), "gate");
    submit(&client, &script(&[Step::Covered("a".into()), gate.step(), Step::Done])).await;
    watcher.event(2, "covered").await;
    client.call(Call::Cancel { task: "2".into(), now: true }).await.unwrap();
    watcher.rest(2).await;
    submit(&client, &script(&[Step::Fail])).await;
    watcher.rest(3).await;
    let shown = recorder.until_shown(2).await;
    assert_eq!(
        (shown[1].title.as_str(), shown[1].body.as_str()),
        ("Review failed", "Review test.patch · The script says so. No file was changed.")
    );
    assert!(stop_engine(&program.data_dir(), "test", true).await.unwrap());
    assert_eq!(recorder.shown().len(), 2);
    assert_eq!(opened(&record), ["--task 1"]);
}

#[tokio::test]
async fn while_a_window_has_the_role_or_the_user_wants_none_the_engine_is_silent() {
    let Some(bus) = Bus::start().await else { return };
    let recorder = Recorder::start(&bus).await;
    let program = Program::with_environment(&format!("DBUS_SESSION_BUS_ADDRESS='{}'", bus.address));
    let client = Client::connect(&program.options(), &|_| {}).await.unwrap();
    let mut watcher = watch(&client, None).await;
    let window = client.subscribe(None, None, true).await.unwrap();
    submit(&client, &script(&[Step::Done])).await;
    watcher.rest(1).await;
    drop(window);

    let set = |value: &str| Call::ConfigSet { key: "notifications.enabled".into(), value: Some(value.into()) };
    client.call(set("false")).await.unwrap();
    submit(&client, &script(&[Step::Fail])).await;
    watcher.rest(2).await;
    client.call(set("true")).await.unwrap();

    submit(&client, &script(&[Step::Fail])).await;
    watcher.rest(3).await;
    let shown = recorder.until_shown(1).await;
    assert_eq!(shown.iter().map(|shown| shown.title.as_str()).collect::<Vec<_>>(), ["Review failed"]);
    assert!(stop_engine(&program.data_dir(), "test", true).await.unwrap());
    assert_eq!(recorder.shown().len(), 1);
}

#[tokio::test]
async fn a_burst_is_folded_and_clicks_that_come_together_all_count() {
    let Some(bus) = Bus::start().await else { return };
    let recorder = Recorder::start(&bus).await;
    let program = Program::with_environment(&format!("DBUS_SESSION_BUS_ADDRESS='{}'", bus.address));
    let record = desktop_double(program.folder());
    let client = Client::connect(&program.options(), &|_| {}).await.unwrap();
    for _ in 0..6 {
        submit(&client, &script(&[Step::Fail])).await;
    }
    let shown = recorder.until_shown(6).await;
    let titles: Vec<&str> = shown.iter().map(|shown| shown.title.as_str()).collect();
    assert_eq!(
        titles,
        ["Review failed", "Review failed", "Review failed", "4 reviews finished", "5 reviews finished", "6 reviews finished"]
    );
    assert_eq!(shown.iter().map(|shown| shown.replaces).collect::<Vec<_>>(), [0, 0, 0, 0, 4, 4]);
    assert_eq!(shown[5].body, "6 failed");
    for id in 1..=4 {
        recorder.click(id).await;
    }
    until("four windows are opened", async || opened(&record).len() == 4).await;
    assert!(stop_engine(&program.data_dir(), "test", true).await.unwrap());
}

#[tokio::test]
async fn a_service_that_answers_the_sender_alone_is_heard_and_replaces_for_it() {
    let Some(bus) = Bus::start().await else { return };
    let recorder = Recorder::start_telling(&bus, Tells::Sender).await;
    let program = Program::with_environment(&format!("DBUS_SESSION_BUS_ADDRESS='{}'", bus.address));
    let record = desktop_double(program.folder());
    let client = Client::connect(&program.options(), &|_| {}).await.unwrap();
    for _ in 0..6 {
        submit(&client, &script(&[Step::Fail])).await;
    }
    let shown = recorder.until_shown(6).await;
    assert_eq!(shown.iter().map(|shown| shown.replaces).collect::<Vec<_>>(), [0, 0, 0, 0, 4, 4]);
    assert_eq!(shown[5].title, "6 reviews finished");
    for id in 1..=4 {
        recorder.click(id).await;
    }
    until("four windows are opened", async || opened(&record).len() == 4).await;
    assert!(stop_engine(&program.data_dir(), "test", true).await.unwrap());
}

//! The real window under a virtual display: real drag and drop, real notifications, a real engine.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a failure here is a failed test"
)]

mod notifications;
mod rig;
mod tray;

use std::path::Path;

use fantoccini::Client;
use fantoccini::Locator::Css;
use notifications::Recorder;
use rig::{Desktop, picture, until};
use tray::Panel;

fn sample() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("samples/login-rate-limit.patch");
    path.to_str().unwrap().to_owned()
}

/// Text of the first element that matches, cut off on the screen or not.
async fn text(client: &Client, selector: &str) -> Option<String> {
    client.find(Css(selector)).await.ok()?.prop("textContent").await.ok()?
}

async fn count(client: &Client, selector: &str) -> usize {
    client.find_all(Css(selector)).await.map_or(0, |all| all.len())
}

/// The row of a task, once it shows `state`.
async fn row_in_state(client: &Client, state: &str) {
    until(&format!("a row says {state}"), || async {
        let row = client.find(Css("[data-task]")).await.ok()?;
        row.attr("aria-label").await.ok()??.contains(state).then_some(())
    })
    .await;
}

/// Gives the keyboard to another window, as a person who works on does.
fn look_away(desktop: &Desktop) {
    desktop.run("wmctrl", &["-a", "drag source"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_patch_is_reviewed_and_told_once() {
    let desktop = Desktop::start().await;
    let recorder = Recorder::start(&desktop.bus).await;
    let client = desktop.open(&[]).await;
    let window = desktop.window_id().await;
    until("the empty state offers the sample", || async {
        text(&client, "body").await.filter(|said| said.contains("sample") && said.contains("free space"))
    })
    .await;
    picture(&client, "1-empty").await;

    let patch = format!("file://{}", sample());
    let source = desktop.drag_source("uri", &[&patch]);
    desktop.drag_into_window();
    until("the drop overlay names the patch", || async {
        text(&client, "body").await.filter(|said| said.contains("Drop to review") && said.contains("7 files"))
    })
    .await;
    picture(&client, "2-drop").await;
    desktop.release();
    look_away(&desktop);

    until("a row stands", || async { (count(&client, "[data-task]").await == 1).then_some(()) }).await;
    row_in_state(&client, ", Done, ").await;
    picture(&client, "3-row").await;
    until("findings stand in the detail", || async { (count(&client, "[data-finding]").await > 2).then_some(()) }).await;
    let notice = recorder.first().await;
    assert!(notice.summary.starts_with("Review finished: "), "{notice:?}");
    assert!(notice.body.contains("login-rate-limit.patch"), "{notice:?}");
    assert!(notice.actions.contains(&"default".to_owned()), "{notice:?}");
    picture(&client, "3-done").await;

    // Clicking it brings the window up, with the task open in it.
    desktop.run("xdotool", &["windowminimize", "--sync", &window]);
    assert_eq!(desktop.output("xdotool", &["search", "--onlyvisible", "--name", "^Sidetrack$"]), None);
    recorder.click(notice.id).await;
    until("the window is back", || async { desktop.output("xdotool", &["search", "--onlyvisible", "--name", "^Sidetrack$"]) }).await;
    picture(&client, "4-back").await;
    until("the task is open", || async { text(&client, "main h1").await.filter(|title| title.contains("login-rate-limit.patch")) }).await;
    assert_eq!(recorder.shown().len(), 1, "{:?}", recorder.shown());
    std::mem::drop(source);
    client.close().await.unwrap();
    desktop.sidetrack(&["stop", "--now"]);
}

/// State names of all tasks, newest first, as the command line sees them.
fn states(desktop: &Desktop) -> Vec<String> {
    let listed = desktop.sidetrack(&["list"]);
    let tasks = listed[0]["tasks"].as_array().unwrap();
    tasks.iter().map(|task| task["state"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_hides_behind_the_tray_and_the_tray_brings_it_back() {
    let desktop = Desktop::start().await;
    let panel = Panel::start(&desktop.bus).await;
    let mut window = desktop.launch(&[]);
    desktop.window_id().await;
    panel.wait_for_entry("the tray says that nothing runs", |label| label == "Nothing running").await;

    desktop.run("wmctrl", &["-c", "Sidetrack"]);
    until("the window is hidden", || async { (!desktop.is_visible()).then_some(()) }).await;
    assert_eq!(window.ended(), None, "closing only hides it");
    // A menu that is just being rebuilt forgets the click, as under a hand; a hand clicks again.
    until("the window is back", || async {
        panel.click("Show Sidetrack").await;
        desktop.is_visible().then_some(())
    })
    .await;

    // Held tasks show in the counts.
    desktop.sidetrack(&["pause"]);
    desktop.sidetrack(&["review", &sample()]);
    panel.wait_for_entry("the tray counts the waiting task", |label| label.starts_with("1 waiting")).await;
    let status = until("the window has ended", || {
        let ended = window.ended();
        let panel = &panel;
        async move {
            if ended.is_none() {
                panel.click_if_there("Quit window").await;
            }
            ended
        }
    })
    .await;
    assert!(status.success(), "{status:?}");
    assert_eq!(states(&desktop), ["queued"], "the task is the engine's");
    desktop.sidetrack(&["stop", "--now"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crashed_window_ends_no_task_and_the_engine_tells_the_result_itself() {
    let desktop = Desktop::start().await;
    let recorder = Recorder::start(&desktop.bus).await;
    let window = desktop.launch(&[]);
    desktop.window_id().await;
    desktop.sidetrack(&["pause"]);
    desktop.sidetrack(&["review", &sample()]);
    window.crash();
    desktop.sidetrack(&["resume"]);

    let notice = recorder.first().await;
    assert!(notice.summary.starts_with("Review finished: "), "{notice:?}");
    assert_eq!(states(&desktop), ["done"]);

    // Its click opens a new window, with the task in it.
    assert!(!desktop.is_visible());
    recorder.click(notice.id).await;
    desktop.window_id().await;
    assert_eq!(recorder.shown().len(), 1, "{:?}", recorder.shown());
    desktop.run("wmctrl", &["-c", "Sidetrack"]);
    until("without a tray, closing ends the window", || async { (!desktop.is_visible()).then_some(()) }).await;
    desktop.sidetrack(&["stop", "--now"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_launch_hands_over_what_it_was_given() {
    let desktop = Desktop::start().await;
    let client = desktop.open(&[]).await;
    desktop.window_id().await;
    let folder = desktop.home.path().join("a folder, é");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("x.py"), "def f(a=[]):\n    return a\n").unwrap();

    let mut later = desktop.launch(&[folder.to_str().unwrap()]);
    let status = until("the later launch has ended", || std::future::ready(later.ended())).await;
    assert!(status.success(), "{status:?}");
    row_in_state(&client, ", Done, ").await;
    until("the task is open", || async { text(&client, "main h1").await.filter(|title| title.contains("a folder, é")) }).await;
    client.close().await.unwrap();
    desktop.sidetrack(&["stop", "--now"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_and_what_cannot_be_reviewed_are_told_apart_while_they_hover() {
    let desktop = Desktop::start().await;
    let client = desktop.open(&[]).await;
    desktop.window_id().await;
    let archive = desktop.home.path().join("change.zip");
    std::fs::write(&archive, b"PK\x03\x04 and more").unwrap();
    let source = desktop.drag_source("uri", &[&format!("file://{}", archive.display())]);
    desktop.drag_into_window();
    until("the overlay says that it can't", || async {
        text(&client, "body").await.filter(|said| said.to_lowercase().contains("zip") && said.contains("review"))
    })
    .await;
    desktop.release();
    until("the refusal is said", || async { text(&client, "body").await.filter(|said| said.contains("change.zip")) }).await;
    assert_eq!(count(&client, "[data-task]").await, 0, "nothing was queued");
    picture(&client, "5-refused").await;
    std::mem::drop(source);
    client.close().await.unwrap();
    desktop.sidetrack(&["stop", "--now"]);
}

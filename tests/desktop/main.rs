//! The real window under a virtual display: real drag and drop, real notifications, a real engine.

mod notifications;
mod rig;

use std::path::Path;

use fantoccini::Client;
use fantoccini::Locator::Css;
use notifications::Recorder;
use rig::{Desktop, until};

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
    desktop.screenshot("1-empty", None).await;

    let patch = format!("file://{}", sample());
    let source = desktop.drag_source("uri", &[&patch]);
    desktop.drag_into_window();
    until("the drop overlay names the patch", || async {
        text(&client, "body").await.filter(|said| said.contains("Drop to review") && said.contains("7 files"))
    })
    .await;
    desktop.screenshot("2-drop", Some("1-empty")).await;
    desktop.release();
    look_away(&desktop);

    until("a row stands", || async { (count(&client, "[data-task]").await == 1).then_some(()) }).await;
    row_in_state(&client, ", Done, ").await;
    desktop.screenshot("3-row", Some("2-drop")).await;
    until("findings stand in the detail", || async { (count(&client, "[data-finding]").await > 2).then_some(()) }).await;
    let notice = recorder.first().await;
    assert!(notice.summary.starts_with("Review finished: "), "{notice:?}");
    assert!(notice.body.contains("login-rate-limit.patch"), "{notice:?}");
    assert!(notice.actions.contains(&"default".to_owned()), "{notice:?}");
    desktop.screenshot("3-done", Some("2-drop")).await;

    // Clicking it brings the window up, with the task open in it.
    desktop.run("xdotool", &["windowminimize", "--sync", &window]);
    assert_eq!(desktop.output("xdotool", &["search", "--onlyvisible", "--name", "^Sidetrack$"]), None);
    recorder.click(notice.id).await;
    until("the window is back", || async { desktop.output("xdotool", &["search", "--onlyvisible", "--name", "^Sidetrack$"]) }).await;
    desktop.screenshot("4-back", Some("2-drop")).await;
    until("the task is open", || async { text(&client, "main h1").await.filter(|title| title.contains("login-rate-limit.patch")) }).await;
    assert_eq!(recorder.shown().len(), 1, "{:?}", recorder.shown());
    std::mem::drop(source);
    client.close().await.unwrap();
}

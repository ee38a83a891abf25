//! The server and its clients, against a real engine with scripted workers.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::exit,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test's helpers are tests"
)]

mod hostile;
mod lifecycle;
mod notices;
mod requests;
mod streams;

use std::path::PathBuf;

use st_app::client::Client;
use st_testkit::engine::{EngineSetup, TestEngine};
use st_testkit::stream::Watcher;

/// This test binary becomes the engine's worker here: see [`st_testkit::worker`].
#[test]
#[expect(non_snake_case, reason = "the name holds the worker argument, by which the harness finds it")]
fn scripted__worker() {
    st_testkit::worker::main_if_worker();
}

/// This test binary as a program.
fn this_program() -> PathBuf {
    std::env::current_exe().unwrap()
}

fn setup() -> EngineSetup {
    EngineSetup::with_program(this_program())
}

async fn start() -> (TestEngine, Client) {
    let engine = TestEngine::start(setup()).await;
    let client = engine.client().await;
    (engine, client)
}

async fn watch(client: &Client, since: Option<u64>) -> Watcher {
    Watcher::new(client.subscribe(since, None, false).await.unwrap())
}

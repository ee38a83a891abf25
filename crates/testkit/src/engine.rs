//! A real engine behind its socket, on a data directory of its own.

use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use st_app::Problem;
use st_app::client::{Client, ConnectOptions, stop_engine};
use st_app::dto::TaskDto;
use st_app::protocol::{Call, PatchText, Reply};
use st_app::server::{ServeOptions, serve};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::{PATIENCE, until};

/// How a test's engine is started.
#[derive(Clone, Debug)]
pub struct EngineSetup {
    /// Worker slots; the setting when unset.
    pub slots: Option<usize>,
    /// End after so long without a client and without an open task.
    pub idle_exit: Option<Duration>,
    /// What is executed as worker: the `sidetrack` binary, or a test binary with a scripted worker.
    pub program: PathBuf,
    /// The data directory; a fresh one when unset.
    pub data_dir: Option<PathBuf>,
}

impl EngineSetup {
    /// Two slots, no idle exit, a fresh data directory.
    #[must_use]
    pub fn with_program(program: impl Into<PathBuf>) -> Self {
        Self { slots: Some(2), idle_exit: None, program: program.into(), data_dir: None }
    }
}

/// An engine in this process. It has to be stopped with [`TestEngine::stop`], which also shows
/// that it ends.
#[derive(Debug)]
pub struct TestEngine {
    data_dir: PathBuf,
    _folder: Option<TempDir>,
    serving: JoinHandle<Result<(), Problem>>,
}

impl TestEngine {
    /// Starts an engine and waits until it answers.
    ///
    /// # Panics
    /// When it does not.
    pub async fn start(setup: EngineSetup) -> Self {
        let folder = setup.data_dir.is_none().then(|| tempfile::tempdir().unwrap());
        let data_dir = setup.data_dir.unwrap_or_else(|| folder.as_ref().map(|folder| folder.path().join("data")).unwrap_or_default());
        let options = ServeOptions { data_dir: data_dir.clone(), slots: setup.slots, idle_exit: setup.idle_exit, program: setup.program };
        let mut serving = tokio::spawn(serve(options));
        let connecting = until("the engine answers", async || try_client(&data_dir, "start").await.is_ok());
        tokio::select! {
            () = connecting => {}
            ended = &mut serving => panic!("the engine ended: {ended:?}"),
        }
        Self { data_dir, _folder: folder, serving }
    }

    /// Its data directory.
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// A new connection.
    ///
    /// # Panics
    /// When the engine does not take it.
    pub async fn client(&self) -> Client {
        try_client(&self.data_dir, "test").await.expect("the engine takes a client")
    }

    /// Whether it has ended by itself.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.serving.is_finished()
    }

    /// Waits for its end, without asking for it.
    ///
    /// # Panics
    /// When it does not end, or ends with an error.
    pub async fn ended(self) {
        tokio::time::timeout(PATIENCE, self.serving)
            .await
            .expect("the engine ends")
            .expect("the engine does not panic")
            .expect("the engine ends well");
    }

    /// Ends it, running tasks at once.
    ///
    /// # Panics
    /// When it does not end, or ends with an error.
    pub async fn stop(self) {
        stop_engine(&self.data_dir, "test", true).await.expect("the engine stops");
        self.ended().await;
    }
}

/// A connection to whatever engine runs on `data_dir`; starts none.
///
/// # Errors
/// What the client says.
pub async fn try_client(data_dir: &Path, name: &str) -> Result<Client, Problem> {
    let options = ConnectOptions { data_dir: data_dir.to_owned(), start: None, client: name.to_owned() };
    Client::connect(&options, &|_| {}).await
}

/// Submits patch text for review.
///
/// # Panics
/// When the engine refuses it.
pub async fn submit(client: &Client, patch: &[u8]) -> TaskDto {
    let text = PatchText { b64: STANDARD.encode(patch), label: "test.patch".into() };
    let call = Call::Review { what: None, text: Some(text), cwd: None, base: None, runner: None, priority: None };
    one(client.call(call).await.expect("the engine takes the review"))
}

/// One task with its ledger.
///
/// # Panics
/// When there is none.
pub async fn show(client: &Client, task: u64) -> TaskDto {
    one(client.call(Call::Show { task: task.to_string() }).await.expect("the task is there"))
}

fn one(reply: Reply) -> TaskDto {
    match reply {
        Reply::Task(task) => *task,
        other => panic!("not a task: {other:?}"),
    }
}

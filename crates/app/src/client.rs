//! A client's end of the protocol.

use std::path::{Path, PathBuf};

use tokio::sync::mpsc;

use crate::Problem;
use crate::dto::{SnapshotDto, UpdateDto};
use crate::protocol::{Call, Reply};

/// How to reach, and if need be start, an engine.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// The data directory.
    pub data_dir: PathBuf,
    /// The slim binary to start as `serve --detach` when no engine runs; `None` never starts one.
    pub start: Option<PathBuf>,
    /// Who we are: `cli`, `window`.
    pub client: String,
}

/// A connection; cheap to clone, requests may overlap.
#[derive(Clone, Debug)]
pub struct Client {}

/// A running stream. Dropping it ends it.
#[derive(Debug)]
pub struct Subscription {
    /// The state at the start.
    pub snapshot: SnapshotDto,
    /// What follows; `None` when the engine is gone.
    pub updates: mpsc::Receiver<UpdateDto>,
}

impl Client {
    /// Connects. Starts an engine when none runs and `start` is set, and waits for it. An engine
    /// of another version is asked to finish its attempts and go, and ours takes over; the
    /// hand-over is told through `notice`.
    ///
    /// # Errors
    /// `no_engine`, `version_mismatch`, or what the start said.
    pub async fn connect(options: &ConnectOptions, notice: &(dyn Fn(&str) + Sync)) -> Result<Self, Problem> {
        let _ = notice;
        todo!("{options:?}")
    }

    /// One request, one reply. An error reply comes back as `Err`.
    ///
    /// # Errors
    /// What the engine said, or that it is gone.
    pub async fn call(&self, call: Call) -> Result<Reply, Problem> {
        todo!("{call:?}")
    }

    /// Subscribes on a connection of its own.
    ///
    /// # Errors
    /// What the engine said, or that it is gone.
    pub async fn subscribe(&self, since: Option<u64>, task: Option<String>, notifier: bool) -> Result<Subscription, Problem> {
        todo!("{since:?} {task:?} {notifier}")
    }
}

/// The platform's data directory: `$SIDETRACK_DATA_DIR`, else `$XDG_DATA_HOME/sidetrack`, else `~/.local/share/sidetrack`.
///
/// # Errors
/// When neither says anything.
pub fn default_data_dir(env: &dyn Fn(&str) -> Option<std::ffi::OsString>) -> Result<PathBuf, Problem> {
    let _ = env;
    let _: Option<&Path> = None;
    todo!()
}

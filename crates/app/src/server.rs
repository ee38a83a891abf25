//! `sidetrack serve`: the engine behind its socket.

use std::path::PathBuf;
use std::time::Duration;

use crate::Problem;

/// How to serve.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The data directory.
    pub data_dir: PathBuf,
    /// Worker slots.
    pub slots: Option<usize>,
    /// End after so long without a client and without an open task; `None` never.
    pub idle_exit: Option<Duration>,
    /// The slim binary, re-executed as worker.
    pub program: PathBuf,
}

/// Serves until stopped by a client, by SIGTERM or SIGINT (drain; a second one: now), or by idleness.
///
/// # Errors
/// When another engine has the directory, or it can't be used.
pub async fn serve(options: ServeOptions) -> Result<(), Problem> {
    todo!("{options:?}")
}

/// Starts `program serve --detach` in a session of its own and returns once its socket answers,
/// or with what it said on stderr.
///
/// # Errors
/// `no_engine` with the reason.
pub async fn start_detached(program: &std::path::Path, data_dir: &std::path::Path) -> Result<(), Problem> {
    todo!("{program:?} {data_dir:?}")
}

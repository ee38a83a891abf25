//! Starting a worker and killing all of it.

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

/// A worker to start.
#[derive(Debug)]
pub struct WorkerCommand {
    /// Program, absolute.
    pub program: PathBuf,
    /// Arguments after the program's name.
    pub args: Vec<String>,
    /// Working directory: the attempt's own.
    pub dir: PathBuf,
    /// The whole environment; nothing is inherited.
    pub env: Vec<(String, String)>,
    /// Where stdout and stderr go.
    pub output: File,
    /// Address space limit in bytes.
    pub memory_bytes: u64,
}

/// What is needed to recognise a process later without mistaking a reused pid for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// Process id; also its process group's.
    pub pid: u32,
    /// Start time in clock ticks since boot (`/proc/PID/stat` field 22).
    pub start_ticks: u64,
    /// `/proc/sys/kernel/random/boot_id`.
    pub machine_boot: String,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// With a code.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

/// Starts workers from one thread that never ends, since a child's parent-death signal fires
/// when the *thread* that made it ends (research/engine.md §0.4).
#[derive(Debug)]
pub struct Spawner {}

/// A running worker. Dropping it kills its group.
#[derive(Debug)]
pub struct WorkerProcess {}

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The program did not start.
    #[error("failed to start `{}`", program.display())]
    Start {
        /// Which.
        program: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The spawning thread is gone.
    #[error("the spawning thread has ended")]
    Gone,
}

impl Spawner {
    /// Starts the spawning thread.
    ///
    /// # Errors
    /// When no thread can be made.
    pub fn start() -> Result<Self, SpawnError> {
        todo!()
    }

    /// Starts a worker that waits for one byte before it does anything; [`WorkerProcess::release`]
    /// sends it. End of file instead of the byte makes the worker exit.
    ///
    /// # Errors
    /// When the program does not start.
    pub async fn spawn(&self, command: WorkerCommand) -> Result<WorkerProcess, SpawnError> {
        todo!("{command:?}")
    }
}

impl WorkerProcess {
    /// Who it is.
    #[must_use]
    pub fn identity(&self) -> &ProcessIdentity {
        todo!()
    }

    /// Lets it begin.
    ///
    /// # Errors
    /// When it is already gone.
    pub fn release(&mut self) -> std::io::Result<()> {
        todo!()
    }

    /// Waits for its end.
    pub async fn exited(&mut self) -> Exit {
        todo!()
    }

    /// Ends the whole group: SIGTERM, `grace`, SIGKILL; returns once no process of it is left.
    pub async fn stop(&mut self, grace: Duration) -> Exit {
        todo!("{grace:?}")
    }
}

/// Kills what an earlier engine left behind, if it is still the same process; returns whether it was.
pub fn kill_leftover(identity: &ProcessIdentity) -> bool {
    todo!("{identity:?}")
}

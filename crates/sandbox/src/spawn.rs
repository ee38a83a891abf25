//! Starting a worker and killing all of it.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, PidfdFlags};
use tokio::sync::oneshot;

use crate::harden::{self, Bounds};
pub use crate::process::WorkerProcess;
use crate::process::{Leader, try_reap};
use crate::session;

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
    /// Most private memory in bytes (`RLIMIT_DATA`; the address space is bounded to eight times that).
    pub memory_bytes: u64,
    /// Largest file it may write, in bytes (`RLIMIT_FSIZE`).
    pub file_bytes: u64,
}

/// What is needed to recognise a process later without mistaking a reused pid for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// Process id; also its process group's and its session's.
    pub pid: u32,
    /// Start time in clock ticks since boot (`/proc/PID/stat` field 22).
    pub start_ticks: u64,
    /// `/proc/sys/kernel/random/boot_id`.
    pub machine_boot: String,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// With a code; -1 when the status was lost.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

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
        source: io::Error,
    },
    /// No thread could be made.
    #[error("failed to make the spawning thread")]
    Thread(#[source] io::Error),
    /// The spawning thread is gone.
    #[error("the spawning thread has ended")]
    Gone,
}

/// Starts workers from one thread that never ends, since a child's parent-death signal fires
/// when the *thread* that made it ends (research/engine.md §0.4).
///
/// All spawners of a process share that thread.
#[derive(Clone, Debug)]
pub struct Spawner {
    orders: mpsc::Sender<Order>,
}

enum Order {
    Spawn(Box<WorkerCommand>, oneshot::Sender<Result<Started, SpawnError>>),
    Reap(OwnedFd),
}

struct Started {
    leader: Leader,
    gate: OwnedFd,
}

/// The way to the spawning thread. Held here for as long as the process lives, so the thread's
/// queue never closes and the thread never ends.
static ORDERS: Mutex<Option<mpsc::Sender<Order>>> = Mutex::new(None);

fn orders() -> MutexGuard<'static, Option<mpsc::Sender<Order>>> {
    ORDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Spawner {
    /// Starts the spawning thread, or joins the one that runs.
    ///
    /// # Errors
    /// When no thread can be made.
    pub fn start() -> Result<Self, SpawnError> {
        let mut held = orders();
        if let Some(orders) = held.as_ref() {
            return Ok(Self { orders: orders.clone() });
        }
        harden::keep_exit_statuses();
        let (sender, receiver) = mpsc::channel();
        std::thread::Builder::new().name("spawner".to_owned()).spawn(move || serve(&receiver)).map_err(SpawnError::Thread)?;
        *held = Some(sender.clone());
        Ok(Self { orders: sender })
    }

    /// Starts a worker that waits for one byte before it does anything; [`WorkerProcess::release`]
    /// sends it. End of file instead of the byte makes the worker exit. Dropping the returned
    /// future kills what was started.
    ///
    /// # Errors
    /// When the program does not start.
    pub async fn spawn(&self, command: WorkerCommand) -> Result<WorkerProcess, SpawnError> {
        let program = command.program.clone();
        let (reply, answer) = oneshot::channel();
        self.orders.send(Order::Spawn(Box::new(command), reply)).map_err(|_| SpawnError::Gone)?;
        let started = answer.await.map_err(|_| SpawnError::Gone)??;
        WorkerProcess::watch(started.leader, started.gate).map_err(|source| SpawnError::Start { program, source })
    }
}

/// How often the thread looks at children that nobody waits for, while there are any.
const REAP_EVERY: Duration = Duration::from_millis(20);

/// The spawning thread.
fn serve(orders: &mpsc::Receiver<Order>) {
    let mut unreaped: Vec<OwnedFd> = Vec::new();
    loop {
        let order =
            if unreaped.is_empty() { orders.recv().map_err(|_| RecvTimeoutError::Disconnected) } else { orders.recv_timeout(REAP_EVERY) };
        match order {
            Ok(Order::Spawn(command, reply)) => {
                let program = command.program.clone();
                let started = start(*command).map_err(|source| SpawnError::Start { program, source });
                // A caller that went away drops what was started, and that kills it.
                let _ = reply.send(started);
            }
            Ok(Order::Reap(pidfd)) => unreaped.push(pidfd),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        unreaped.retain(|pidfd| try_reap(pidfd).is_none());
    }
}

/// Leaves a killed child to the spawning thread.
pub(crate) fn reap_later(pidfd: OwnedFd) {
    if let Some(orders) = orders().as_ref() {
        let _ = orders.send(Order::Reap(pidfd));
    }
}

fn start(command: WorkerCommand) -> io::Result<Started> {
    let (gate_end, gate) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let machine_boot = session::machine_boot()?;
    let mut child = Command::new(&command.program);
    child.args(&command.args).env_clear().envs(command.env).current_dir(&command.dir);
    child.stdin(Stdio::from(gate_end)).stdout(Stdio::from(command.output.try_clone()?)).stderr(Stdio::from(command.output));
    harden::harden(&mut child, Bounds { memory_bytes: command.memory_bytes, file_bytes: command.file_bytes });
    // Never waited for through this handle: the pidfd does it.
    let child = child.spawn()?;
    let pid = Pid::from_child(&child);
    let pidfd = match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
        Ok(pidfd) => pidfd,
        Err(errno) => {
            // Without a descriptor it could be watched only by number; it has not passed its gate.
            let mut child = child;
            let _ = child.kill();
            let _ = child.wait();
            return Err(errno.into());
        }
    };
    let identity = ProcessIdentity { pid: child.id(), start_ticks: 0, machine_boot };
    let mut leader = Leader::new(pid, identity, pidfd);
    leader.identity.start_ticks = session::stat(pid)?.start_ticks;
    Ok(Started { leader, gate })
}

/// How long a killed process may take to go; longer only in the kernel's own waits.
const LEFTOVER_WAIT: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// Kills the session of what an earlier engine left behind, if it is still the same process;
/// returns whether it was. Waits for its end; blocks.
///
/// Nothing is sent when the machine was booted since, or the pid has another start time: then
/// the number may belong to a stranger.
#[must_use]
pub fn kill_leftover(identity: &ProcessIdentity) -> bool {
    let same_boot = session::machine_boot().is_ok_and(|boot| boot == identity.machine_boot);
    let Some(pid) = i32::try_from(identity.pid).ok().and_then(Pid::from_raw) else { return false };
    if !same_boot || pid == rustix::process::getpid() {
        return false;
    }
    let Ok(pidfd) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else { return false };
    // Read after the descriptor is held: a match means the descriptor is of the recorded process.
    if !session::stat(pid).is_ok_and(|stat| stat.start_ticks == identity.start_ticks && stat.is_alive()) {
        return false;
    }
    session::kill_session(pid);
    let _ = rustix::process::pidfd_send_signal(&pidfd, rustix::process::Signal::KILL);
    let mut watched = [PollFd::new(&pidfd, PollFlags::IN)];
    while rustix::event::poll(&mut watched, Some(&LEFTOVER_WAIT)) == Err(Errno::INTR) {}
    true
}

#[cfg(test)]
mod tests;

//! A running worker and the end of it.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus};
use tokio::io::unix::AsyncFd;

use crate::session;
use crate::spawn::{Exit, ProcessIdentity, reap_later};

/// Processes that are waited for at once; more are taken in rounds.
const HELD_AT_ONCE: usize = 64;

/// A child that has not been reaped. Dropping it kills its session and leaves the reaping to
/// the spawning thread.
#[derive(Debug)]
pub(crate) struct Leader {
    pub(crate) pid: Pid,
    pub(crate) identity: ProcessIdentity,
    /// Gone once reaped.
    pidfd: Option<OwnedFd>,
}

impl Leader {
    pub(crate) fn new(pid: Pid, identity: ProcessIdentity, pidfd: OwnedFd) -> Self {
        Self { pid, identity, pidfd: Some(pidfd) }
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        if let Some(pidfd) = self.pidfd.take() {
            session::kill_session(self.pid);
            reap_later(pidfd);
        }
    }
}

/// Takes a child's status if it has ended. `Some(None)` when someone else took it.
pub(crate) fn try_reap(pidfd: &OwnedFd) -> Option<Option<Exit>> {
    loop {
        match rustix::process::waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
            Ok(status) => return status.as_ref().map(exit_of),
            Err(Errno::INTR) => {}
            Err(_) => return Some(None),
        }
    }
}

fn exit_of(status: &WaitIdStatus) -> Option<Exit> {
    status.exit_status().map(Exit::Code).or_else(|| status.terminating_signal().map(Exit::Signal))
}

/// A running worker. Dropping it kills all of it.
#[derive(Debug)]
pub struct WorkerProcess {
    leader: Leader,
    /// Readable once the leader has ended.
    ended: AsyncFd<OwnedFd>,
    gate: Option<OwnedFd>,
    exit: Option<Exit>,
}

impl WorkerProcess {
    /// # Errors
    /// When the descriptor can't be watched; the process is killed then.
    pub(crate) fn watch(leader: Leader, gate: OwnedFd) -> io::Result<Self> {
        let Some(pidfd) = &leader.pidfd else { return Err(io::ErrorKind::NotFound.into()) };
        let ended = watch(pidfd.try_clone()?)?;
        Ok(Self { leader, ended, gate: Some(gate), exit: None })
    }

    /// Who it is.
    #[must_use]
    pub fn identity(&self) -> &ProcessIdentity {
        &self.leader.identity
    }

    /// Lets it begin.
    ///
    /// # Errors
    /// When it is already gone, or was let go before.
    pub fn release(&mut self) -> io::Result<()> {
        let gate = self.gate.take().ok_or(io::ErrorKind::BrokenPipe)?;
        loop {
            match rustix::io::write(&gate, b"\n") {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Closes the gate for good: one that still waits at it ends.
    pub fn close_gate(&mut self) {
        self.gate = None;
    }

    #[cfg(test)]
    pub(crate) fn leader_pid(&self) -> Pid {
        self.leader.pid
    }

    /// Waits for its end. What it left running in its session is killed; returns once no process
    /// of it is left. May be dropped and called again.
    pub async fn exited(&mut self) -> Exit {
        if self.exit.is_none() {
            self.leader_ended().await;
        }
        self.finish().await
    }

    /// Ends all of it: SIGTERM to the group, `grace`, SIGKILL to the session; returns once no
    /// process of it is left. May be dropped and called again, with another grace.
    pub async fn stop(&mut self, grace: Duration) -> Exit {
        if self.exit.is_none() && !grace.is_zero() {
            let _ = rustix::process::kill_process_group(self.leader.pid, Signal::TERM);
            // One that was stopped can't take the signal until it goes on.
            let _ = rustix::process::kill_process_group(self.leader.pid, Signal::CONT);
            let _ = tokio::time::timeout(grace, self.quiet()).await;
        }
        self.finish().await
    }

    async fn leader_ended(&self) {
        gone(&self.ended).await;
    }

    /// Waits until the session is empty by itself.
    async fn quiet(&self) {
        self.leader_ended().await;
        while let Ok(members) = session::members(self.leader.pid, HELD_AT_ONCE)
            && !members.is_empty()
        {
            wait_all(members).await;
        }
    }

    /// Kills what is left, sees that nothing is, and reaps. The leader is reaped last: until then
    /// its number names this session and no other.
    async fn finish(&mut self) -> Exit {
        if let Some(exit) = self.exit {
            return exit;
        }
        let _ = rustix::process::kill_process_group(self.leader.pid, Signal::KILL);
        // A process that forks while the list is read may show in neither place; so it has to be
        // empty twice.
        let mut empty_in_a_row = 0;
        while empty_in_a_row < 2 {
            match session::members(self.leader.pid, HELD_AT_ONCE) {
                Ok(members) if members.is_empty() => empty_in_a_row += 1,
                Ok(members) => {
                    empty_in_a_row = 0;
                    members.iter().for_each(|member| member.signal(Signal::KILL));
                    wait_all(members).await;
                }
                Err(error) => {
                    tracing::warn!(%error, "failed to list processes; the worker's group was killed, the rest is unknown");
                    break;
                }
            }
        }
        self.leader_ended().await;
        let status = self.leader.pidfd.as_ref().and_then(try_reap).flatten();
        self.leader.pidfd = None;
        self.gate = None;
        // Only when someone else in this process took the status is it unknown.
        *self.exit.insert(status.unwrap_or(Exit::Code(-1)))
    }
}

/// Waits until each of them is gone.
async fn wait_all(members: Vec<session::Member>) {
    for member in members {
        match watch(member.pidfd) {
            Ok(pidfd) => gone(&pidfd).await,
            // Out of descriptors or memory: the list is read again, after others had a turn.
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

/// Tells the runtime to look at a pidfd.
#[expect(unsafe_code, reason = "registering a descriptor with the runtime")]
fn watch(pidfd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is a valid, open descriptor, always names the same one, and is moved
    // into the `AsyncFd`, of which we only ever take a shared reference, so nobody can close or
    // exchange it before the `AsyncFd` is dropped.
    unsafe { AsyncFd::register_with_interest(pidfd, tokio::io::Interest::READABLE) }.map_err(io::Error::from)
}

async fn gone(pidfd: &AsyncFd<OwnedFd>) {
    if let Ok(mut guard) = pidfd.readable().await {
        guard.retain_ready();
    }
}

//! Seeing and ending every process of a session.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, Signal};

/// What `/proc/PID/stat` says about a process, as far as we need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    /// `R`, `S`, `Z`, ….
    state: u8,
    /// Session id.
    session: i32,
    /// Threads that are left.
    threads: u32,
    /// Start time in clock ticks since boot.
    pub(crate) start_ticks: u64,
}

impl Stat {
    /// Whether the process still runs code. A zombie whose other threads go on does.
    pub(crate) fn is_alive(&self) -> bool {
        !matches!(self.state, b'Z' | b'X' | b'x') || self.threads > 1
    }

    /// Reads the line. The name in parentheses may hold anything, so fields count from the last `)`.
    fn parse(line: &[u8]) -> Option<Self> {
        let end_of_name = line.iter().rposition(|&byte| byte == b')')?;
        let rest = std::str::from_utf8(line.get(end_of_name + 1..)?).ok()?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        Some(Self {
            state: *fields.first()?.as_bytes().first()?,
            session: fields.get(3)?.parse().ok()?,
            threads: fields.get(17)?.parse().ok()?,
            start_ticks: fields.get(19)?.parse().ok()?,
        })
    }
}

/// What is known of a process now.
///
/// # Errors
/// When there is no such process or `/proc` can't be read.
pub(crate) fn stat(pid: Pid) -> io::Result<Stat> {
    let line = fs::read(format!("/proc/{pid}/stat"))?;
    Stat::parse(&line).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "/proc/PID/stat does not read back"))
}

/// This boot of the machine, as the kernel names it.
///
/// # Errors
/// When `/proc` can't be read.
pub(crate) fn machine_boot() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// A living process of a session, held so that its pid can't be mistaken.
#[derive(Debug)]
pub(crate) struct Member {
    /// Readable once the process is gone.
    pub(crate) pidfd: OwnedFd,
}

impl Member {
    /// Sends a signal; one that is gone needs none.
    pub(crate) fn signal(&self, signal: Signal) {
        let _ = rustix::process::pidfd_send_signal(&self.pidfd, signal);
    }
}

/// A process's session, or -1. Threads of the kernel are in session 0, which `rustix` takes for a
/// fault of the kernel's.
#[expect(unsafe_code, reason = "a session number that may be 0")]
fn session_of(pid: Pid) -> i32 {
    // SAFETY: takes a number, returns a number, touches no memory.
    unsafe { libc::getsid(pid.as_raw_nonzero().get()) }
}

/// The living processes of session `leader`, at most `limit`.
///
/// The leader must not have been reaped: until then its number can't be given to anyone else.
///
/// # Errors
/// When `/proc` can't be listed.
pub(crate) fn members(leader: Pid, limit: usize) -> io::Result<Vec<Member>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Ok(entry) = entry else { continue };
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw) else { continue };
        // One system call tells most apart; only a match is looked at closely.
        if session_of(pid) != leader.as_raw_nonzero().get() {
            continue;
        }
        let Ok(pidfd) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else { continue };
        // Looked at again after the descriptor is held: the pid may have changed hands between.
        if stat(pid).is_ok_and(|stat| stat.session == leader.as_raw_nonzero().get() && stat.is_alive()) {
            found.push(Member { pidfd });
            if found.len() >= limit {
                break;
            }
        }
    }
    Ok(found)
}

/// Sends SIGKILL to every process of the session that can be seen now; returns how many there were.
pub(crate) fn kill_session(leader: Pid) -> usize {
    // The group first: the kernel does that in one step, so no fork slips through.
    let _ = rustix::process::kill_process_group(leader, Signal::KILL);
    match members(leader, usize::MAX) {
        Ok(members) => {
            members.iter().for_each(|member| member.signal(Signal::KILL));
            members.len()
        }
        Err(error) => {
            tracing::warn!(%error, "failed to list processes; only the worker's group was killed");
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
        let line = b"42 (a) b ) c) S 1 7 8 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 3 0 991122 1 1\n";
        assert_eq!(Stat::parse(line), Some(Stat { state: b'S', session: 8, threads: 3, start_ticks: 991_122 }));
        assert_eq!(Stat::parse(b"42 (cut"), None);
    }

    #[test]
    fn a_zombie_is_alive_only_while_other_threads_run() {
        let zombie = Stat { state: b'Z', session: 1, threads: 1, start_ticks: 1 };
        assert!(!zombie.is_alive());
        assert!(Stat { threads: 2, ..zombie }.is_alive());
        assert!(stat(rustix::process::getpid()).unwrap().is_alive());
    }
}

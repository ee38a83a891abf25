//! What happens in the child between fork and exec.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::{Pid, Resource, Rlimit, Signal};

/// Bounds the child sets on itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Private writable memory in bytes.
    pub(crate) memory_bytes: u64,
    /// Largest file it may write.
    pub(crate) file_bytes: u64,
}

/// Address space allowed for one byte of private memory: mapped programs, stacks and reserved
/// ranges count there and hold no memory.
const ADDRESS_SPACE_FACTOR: u64 = 8;

/// Makes `command` start its child in a session of its own, dying with this process, bounded,
/// without new privileges and with no descriptor but 0, 1 and 2.
#[expect(unsafe_code, reason = "code between fork and exec")]
pub(crate) fn harden(command: &mut Command, bounds: Bounds) {
    let parent = rustix::process::getpid();
    // SAFETY: the closure runs in the forked child of a process with many threads, where only
    // async-signal-safe work is allowed. It makes plain system calls and takes no lock and no
    // memory: `Bounds` and `Pid` are plain numbers, and an `io::Error` of an errno does not allocate.
    unsafe {
        command.pre_exec(move || prepare(parent, bounds));
    }
}

/// Async-signal-safe: see [`harden`].
fn prepare(parent: Pid, bounds: Bounds) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before the line above; then no signal will ever come.
    if rustix::process::getppid() != Some(parent) {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    rustix::process::setsid()?;
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    limit(Resource::Core, 0)?;
    limit(Resource::Fsize, bounds.file_bytes)?;
    limit(Resource::Data, bounds.memory_bytes)?;
    limit(Resource::As, bounds.memory_bytes.saturating_mul(ADDRESS_SPACE_FACTOR))?;
    rustix::thread::set_no_new_privs(true)?;
    close_others_on_exec()
}

/// Sets a hard and soft limit, never above the one in force.
fn limit(resource: Resource, bytes: u64) -> io::Result<()> {
    let held = rustix::process::getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let bytes = Some(bytes.min(held));
    Ok(rustix::process::setrlimit(resource, Rlimit { current: bytes, maximum: bytes })?)
}

/// Marks every descriptor above 2 to be closed by exec; they are not closed at once because the
/// standard library still reports a failed exec through one of them.
#[expect(unsafe_code, reason = "no safe wrapper of close_range")]
fn close_others_on_exec() -> io::Result<()> {
    // SAFETY: takes three numbers, touches no memory of ours, and with this flag closes nothing now.
    let outcome = unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Undoes an inherited "ignore" of SIGCHLD, under which the kernel would throw away how a child ended.
#[expect(unsafe_code, reason = "signal disposition")]
pub(crate) fn keep_exit_statuses() {
    // SAFETY: `sigaction` is plain data for which all zeroes are valid; the first call only reads
    // the disposition into it, the second sets the default one and is made only when the signal
    // was ignored, so no handler of anyone is replaced.
    unsafe {
        let mut held: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGCHLD, std::ptr::null(), &raw mut held) == 0 && held.sa_sigaction == libc::SIG_IGN {
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        }
    }
}

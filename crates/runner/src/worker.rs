//! The worker process's main: gate, broker connection, review.

use std::io::{self, BufRead as _, BufReader};
use std::os::unix::net::UnixStream;
use std::path::Path;

use st_model::broker::{BrokerRefusal, LogLevel, WorkerEnd};

mod sink;

use crate::review::{self, Sink as _};
use sink::BrokerSink;

/// Names the broker's socket in a worker's environment.
pub const SOCKET_VARIABLE: &str = "SIDETRACK_SOCKET";

/// Exit code after a review that said how it ended.
pub const EXIT_ENDED: i32 = 0;

/// Exit code when the gate was closed, or the broker can't be reached or hung up
/// (`EX_TEMPFAIL` of `sysexits.h`).
pub const EXIT_NO_ENGINE: i32 = 75;

/// Exit code after a panic, the standard library's own.
pub const EXIT_PANIC: i32 = 101;

/// Runs one attempt in this process and returns its exit code: waits for the gate byte on
/// stdin (end of file: exit), connects to `$SIDETRACK_SOCKET`, reviews the current folder's
/// `job.json`, and exits when the engine hangs up.
///
/// SIGTERM is left to the system's default: it ends the process at once, and nothing has to be
/// put away.
#[must_use]
pub fn main() -> i32 {
    if !pass_gate(&mut io::stdin().lock()) {
        return EXIT_NO_ENGINE;
    }
    let Some(socket) = std::env::var_os(SOCKET_VARIABLE) else {
        tracing::error!("{SOCKET_VARIABLE} is not set: a worker is started by its engine");
        return EXIT_NO_ENGINE;
    };
    let stream = match connect(Path::new(&socket)) {
        Ok(stream) => stream,
        Err(error) => return stranded(&error),
    };
    let mut sink = BrokerSink::new(stream);
    // A panic has been told to stderr by the standard library's hook when this returns.
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| review::run(Path::new("."), &mut sink)));
    match ended {
        Ok(ended) => conclude(&mut sink, ended),
        Err(_) => EXIT_PANIC,
    }
}

/// Waits at the gate; whether it opened.
fn pass_gate(gate: &mut dyn io::Read) -> bool {
    gate.read_exact(&mut [0]).is_ok()
}

fn connect(socket: &Path) -> io::Result<UnixStream> {
    let stream = UnixStream::connect(socket)?;
    let answers = stream.try_clone()?;
    std::thread::Builder::new().name("watcher".to_owned()).spawn(move || watch(answers))?;
    Ok(stream)
}

/// Reads the engine's answers until it hangs up, then ends the process: nobody is left to work for.
#[expect(clippy::print_stderr, reason = "stderr is the attempt's log")]
fn watch(answers: UnixStream) {
    for line in BufReader::new(answers).lines() {
        let Ok(line) = line else { break };
        match serde_json::from_str::<BrokerRefusal>(&line) {
            Ok(refusal) => eprintln!("WARN the engine did not take a line: {}", refusal.refused),
            Err(_) => eprintln!("WARN the engine answered what this worker does not understand"),
        }
    }
    leave(EXIT_NO_ENGINE);
}

/// Ends the process at once.
#[expect(clippy::exit, reason = "the worker's whole purpose is gone")]
fn leave(code: i32) -> ! {
    std::process::exit(code)
}

#[expect(clippy::print_stderr, reason = "stderr is the attempt's log")]
fn stranded(error: &io::Error) -> i32 {
    eprintln!("ERROR the engine can't be reached: {error}");
    EXIT_NO_ENGINE
}

fn conclude(sink: &mut BrokerSink, ended: WorkerEnd) -> i32 {
    if let Some(kib) = peak_memory_kib() {
        sink.log(LogLevel::Info, &format!("peak memory {} MiB", kib.div_ceil(1024)));
    }
    match sink.end(ended) {
        Ok(()) => EXIT_ENDED,
        Err(error) => stranded(&error),
    }
}

/// Most memory this process held at once, in KiB, as the kernel counts it.
fn peak_memory_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.trim().trim_end_matches("kB").trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gate_opens_for_a_byte_and_not_for_the_end_of_the_file() {
        assert!(pass_gate(&mut &b"\n"[..]));
        assert!(!pass_gate(&mut &b""[..]));
    }

    #[test]
    fn peak_memory_is_known() {
        assert!(peak_memory_kib().is_some_and(|kib| kib > 100));
    }
}

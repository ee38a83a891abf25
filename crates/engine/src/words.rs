//! What goes wrong in the engine, in words for a person.

use std::error::Error;
use std::time::Duration;

use st_model::id::TaskNumber;
use st_model::problem::{ErrorCode, Problem};
use st_model::retry::FailureClass;
use st_model::state::{Phase, StopCause};

use st_sandbox::spawn::Exit;
use st_store::StoreError;

use crate::error::EngineError;

/// An error with all its causes, on one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let words = cause.to_string();
        if !text.ends_with(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        next = cause.source();
    }
    text
}

/// Whether another attempt can end better than one that failed with `problem` before its worker ran.
pub(crate) fn class_of(problem: &Problem) -> FailureClass {
    match problem.code {
        ErrorCode::Unreachable | ErrorCode::BadResponse => FailureClass::Transient,
        ErrorCode::DiskFull | ErrorCode::Storage | ErrorCode::Internal | ErrorCode::WorkerDied | ErrorCode::EngineStopped => {
            FailureClass::Infrastructure
        }
        ErrorCode::Usage
        | ErrorCode::UnknownTask
        | ErrorCode::NotFound
        | ErrorCode::Unreadable
        | ErrorCode::UnsupportedInput
        | ErrorCode::MalformedPatch
        | ErrorCode::CombinedDiff
        | ErrorCode::TooLarge
        | ErrorCode::NothingToReview
        | ErrorCode::UnknownRevision
        | ErrorCode::NotARepository
        | ErrorCode::RefusedRoot
        | ErrorCode::WrongState
        | ErrorCode::TimedOut
        | ErrorCode::NoEngine
        | ErrorCode::VersionMismatch
        | ErrorCode::NotBuilt
        | ErrorCode::Refused => FailureClass::Permanent,
    }
}

/// The store failed under a running attempt.
pub(crate) fn of_store(error: &StoreError) -> Problem {
    match error {
        StoreError::DiskFull => disk_full("the database can't be written"),
        error => Problem::no_change(ErrorCode::Storage, chain(error), "Run `sidetrack doctor`, then run the task again."),
    }
}

/// The data directory failed under a running attempt.
pub(crate) fn of_engine(error: &EngineError) -> Problem {
    match error {
        EngineError::Refused(problem) => problem.clone(),
        EngineError::Store(error) => of_store(error),
        EngineError::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull => disk_full(&chain(error)),
        EngineError::Vault(vault) if vault.is_disk_full() => disk_full(&chain(vault)),
        error @ (EngineError::Locked { .. } | EngineError::Vault(_) | EngineError::Io { .. } | EngineError::Stopping) => {
            Problem::no_change(ErrorCode::Storage, chain(error), "Look at the rights of the data directory, then run the task again.")
        }
    }
}

fn disk_full(what: &str) -> Problem {
    Problem::no_change(
        ErrorCode::DiskFull,
        format!("the disk that holds the data directory is full: {what}"),
        "Free some space, then run the task again.",
    )
}

/// A part of the engine broke.
pub(crate) fn fault(part: &str) -> Problem {
    Problem::no_change(ErrorCode::Internal, format!("{part} broke off by a fault of Sidetrack"), "Report this with the engine's log.")
}

/// The worker could not be started.
pub(crate) fn not_started(error: &dyn Error) -> Problem {
    Problem::no_change(ErrorCode::WorkerDied, format!("the worker did not start: {}", chain(error)), "Run `sidetrack doctor`.")
        .or("Reinstall Sidetrack if its program was moved or replaced.")
}

/// The worker ended without saying how.
pub(crate) fn worker_died(number: TaskNumber, exit: Exit, memory_bytes: u64, last_line: Option<&str>) -> Problem {
    let how = match exit {
        Exit::Code(code) => format!("with exit code {code}"),
        Exit::Signal(signal) => format!("by signal {signal}{}", signal_words(signal, memory_bytes)),
    };
    let said = last_line.map_or_else(|| "; its log is empty".to_owned(), |line| format!("; its log ends with: {line}"));
    Problem::no_change(
        ErrorCode::WorkerDied,
        format!("the worker ended {how} before it said how the review ended{said}"),
        format!("Read `sidetrack logs {number}`."),
    )
    .or(format!("Run `sidetrack retry {number}`."))
}

fn signal_words(signal: i32, memory_bytes: u64) -> String {
    match signal {
        6 => format!(" (abort: it gave up, which it also does when it needs more than its {} MiB of memory)", memory_bytes >> 20),
        9 => " (kill: something else ended it, such as the system when memory ran out)".to_owned(),
        11 => " (segmentation fault)".to_owned(),
        15 => " (termination: something else ended it)".to_owned(),
        25 => " (its output file reached its limit)".to_owned(),
        _ => String::new(),
    }
}

/// The worker's talk made no sense.
pub(crate) fn nonsense(lines: u64) -> Problem {
    Problem::no_change(
        ErrorCode::WorkerDied,
        format!("the worker was ended after {lines} lines that are no messages"),
        "Reinstall Sidetrack: its worker and its engine do not fit together.",
    )
}

/// The wall timeout was reached.
pub(crate) fn timed_out(number: TaskNumber, limit: Duration, phase: Phase, has_results: bool) -> Problem {
    let mut problem = Problem::no_change(
        ErrorCode::TimedOut,
        format!("the attempt reached its time limit of {} in phase `{phase}`", span(limit)),
        format!("Give it more time with `sidetrack config set review.timeout 30m`, then run `sidetrack retry {number}`."),
    )
    .or("Review a smaller change.");
    if has_results {
        problem.disk_effect = "No file was changed; what was found until then is kept.".to_owned();
    }
    problem
}

/// The task's engine died under it again and again.
pub(crate) fn engine_lost(number: TaskNumber, times: usize) -> Problem {
    Problem::no_change(
        ErrorCode::EngineStopped,
        format!("the engine ended {times} times in a row while this task ran; it is not tried again by itself"),
        "Look into the engine's log for what ended it, such as the system running out of memory.",
    )
    .or(format!("Run `sidetrack retry {number}`."))
}

/// Why a file of the change has no result.
pub(crate) fn not_reached(cause: Option<StopCause>) -> &'static str {
    match cause {
        Some(StopCause::Cancelled) => "not reached: the review was cancelled",
        Some(StopCause::TimedOut) => "not reached: the time limit came first",
        Some(StopCause::EngineStop) => "not reached: the engine ended",
        None => "not reached: the review stopped early",
    }
}

/// The worker said it was done and left files out.
pub(crate) fn ledger_open(files: usize) -> Problem {
    Problem::no_change(
        ErrorCode::Internal,
        format!("the review said it was done, and {files} files of the change have no line in its ledger"),
        "Run the task again; if it stays so, report it with the log.",
    )
}

/// A length of time for people.
fn span(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match (seconds / 60, seconds % 60) {
        (0, 0) => format!("{} ms", duration.as_millis()),
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_worker_is_told_with_its_cause_and_its_last_words() {
        let number = TaskNumber(42);
        let problem = worker_died(number, Exit::Signal(6), 2 << 30, Some("memory allocation of 9 bytes failed"));
        assert_eq!(
            problem.message,
            "the worker ended by signal 6 (abort: it gave up, which it also does when it needs more than its 2048 MiB of memory) \
             before it said how the review ended; its log ends with: memory allocation of 9 bytes failed"
        );
        assert_eq!(problem.fix, ["Read `sidetrack logs 42`.", "Run `sidetrack retry 42`."]);
        assert!(worker_died(number, Exit::Code(3), 1, None).message.contains("with exit code 3 before"));
    }

    #[test]
    fn lengths_of_time_read_as_people_say_them() {
        assert_eq!(span(Duration::from_millis(50)), "50 ms");
        assert_eq!(span(Duration::from_secs(45)), "45 s");
        assert_eq!(span(Duration::from_secs(600)), "10 min");
        assert_eq!(span(Duration::from_secs(90)), "1 min 30 s");
    }
}

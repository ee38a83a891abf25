//! Exit codes of the contract.

use std::process::ExitCode;

use st_app::dto::{StateDto, TaskDto};
use st_app::export::gravity;
use st_app::{ErrorCode, Problem};

use crate::args::Severity;

/// Durably queued, or done.
pub(crate) const DONE: u8 = 0;
/// The task failed.
pub(crate) const FAILED: u8 = 1;
/// Wrong usage, unknown id or unreadable input.
pub(crate) const USAGE: u8 = 2;
/// Cancelled.
pub(crate) const CANCELLED: u8 = 3;
/// Stopped early, results kept.
pub(crate) const PARTIAL: u8 = 4;
/// Items that need a decision.
pub(crate) const OPEN_ITEMS: u8 = 5;
/// Refused.
pub(crate) const REFUSED: u8 = 6;
/// No engine and none could start.
pub(crate) const NO_ENGINE: u8 = 7;
/// Findings at or above `--fail-on`.
pub(crate) const FINDINGS: u8 = 8;

/// The process's exit code.
pub(crate) fn code(code: u8) -> ExitCode {
    ExitCode::from(code)
}

/// The code for an error.
pub(crate) fn of_problem(problem: &Problem) -> u8 {
    match problem.code {
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
        | ErrorCode::NotARepository => USAGE,
        ErrorCode::RefusedRoot | ErrorCode::WrongState | ErrorCode::NotBuilt | ErrorCode::Refused => REFUSED,
        ErrorCode::NoEngine | ErrorCode::VersionMismatch | ErrorCode::EngineStopped => NO_ENGINE,
        ErrorCode::Unreachable
        | ErrorCode::BadResponse
        | ErrorCode::WorkerDied
        | ErrorCode::TimedOut
        | ErrorCode::Storage
        | ErrorCode::DiskFull
        | ErrorCode::Internal => FAILED,
    }
}

/// The code for a task that came to rest under `--wait`. Findings at or above the threshold win
/// over "done" and "partial": they are there in either case.
pub(crate) fn of_task(task: &TaskDto, fail_on: Severity) -> u8 {
    match task.state {
        StateDto::Done | StateDto::Partial if reaches(task, fail_on) => FINDINGS,
        StateDto::Done | StateDto::Queued | StateDto::Running | StateDto::Retrying => DONE,
        StateDto::Partial => PARTIAL,
        StateDto::Failed => FAILED,
        StateDto::Cancelled => CANCELLED,
        StateDto::RollingBack | StateDto::NeedsRecovery => OPEN_ITEMS,
    }
}

fn reaches(task: &TaskDto, fail_on: Severity) -> bool {
    let counts = [("high", task.findings.high), ("medium", task.findings.medium), ("low", task.findings.low), ("info", task.findings.info)];
    let Some(threshold) = fail_on.word().map(gravity) else { return false };
    counts.iter().any(|(severity, number)| *number > 0 && gravity(severity) >= threshold)
}

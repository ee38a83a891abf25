//! What went wrong below, in the words a user meets.

use st_engine::EngineError;
use st_model::id::TaskRef;
use st_store::StoreError;

use crate::{ErrorCode, Problem};

/// Words for an engine's error.
pub(crate) fn of_engine(error: EngineError) -> Problem {
    match error {
        EngineError::Locked { data_dir } => {
            // The lock file begins with its holder's process id, for people.
            let lock = std::fs::read_to_string(data_dir.join("engine.lock")).unwrap_or_default();
            let who = lock.split_whitespace().next().map_or_else(String::new, |pid| format!(" (process {pid})"));
            Problem::refused(
                ErrorCode::NoEngine,
                format!("Another engine{who} runs on `{}`", data_dir.display()),
                "Use the running engine, or end it with `sidetrack stop`.",
            )
        }
        EngineError::Store(error) => of_store(error),
        EngineError::Vault(error) => {
            Problem::refused(ErrorCode::Storage, with_causes(&error), "Look at the free space and the rights of the data directory.")
                .or("Run `sidetrack doctor`.")
        }
        EngineError::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull => disk_full(),
        error @ EngineError::Io { .. } => {
            Problem::refused(ErrorCode::Storage, with_causes(&error), "Look at the rights of the data directory.")
        }
        EngineError::Refused(problem) => problem,
        EngineError::Stopping => Problem::refused(
            ErrorCode::EngineStopped,
            "The engine is ending and takes nothing new",
            "Try again when its running tasks have ended.",
        )
        .or("Run `sidetrack stop --now`, then try again: running tasks go back to the queue."),
    }
}

/// Words for a store's error.
pub(crate) fn of_store(error: StoreError) -> Problem {
    match error {
        StoreError::UnknownTask => unknown_task("There is no task with that number or id"),
        StoreError::Illegal(illegal) => Problem::no_change(
            ErrorCode::WrongState,
            format!("The task is {} and can't take that", illegal.state),
            "Look at the task with `sidetrack show ID`.",
        ),
        StoreError::LeaseLost => Problem::no_change(ErrorCode::WrongState, "The attempt was already closed", "Look at the task again."),
        error @ StoreError::TooNew { .. } => {
            Problem::refused(ErrorCode::Storage, with_causes(&error), "Update Sidetrack: this database was written by a newer version.")
        }
        error @ (StoreError::Corrupt { .. } | StoreError::Damaged { .. }) => Problem::refused(
            ErrorCode::Storage,
            with_causes(&error),
            "Move `sidetrack.db` out of the data directory and keep it: Sidetrack begins with an empty one.",
        )
        .or("Run `sidetrack doctor`."),
        error @ StoreError::NotOurs { .. } => {
            Problem::refused(ErrorCode::Storage, with_causes(&error), "Name another data directory with --data-dir DIR.")
        }
        error @ StoreError::UnsafeLibrary { .. } => {
            Problem::refused(ErrorCode::Storage, with_causes(&error), "Use a build with the bundled database library.")
        }
        error @ StoreError::NotStorable { .. } => Problem::refused(
            ErrorCode::UnsupportedInput,
            with_causes(&error),
            "Rename the file or folder so that its name is UTF-8, or pipe the patch: `git diff | sidetrack review -`.",
        ),
        StoreError::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull => disk_full(),
        error @ (StoreError::Io { .. } | StoreError::Migrate(_) | StoreError::Sql { .. }) => {
            Problem::refused(ErrorCode::Storage, with_causes(&error), "Run `sidetrack doctor`, then try again.")
        }
        StoreError::DiskFull => disk_full(),
        StoreError::Closed => Problem::refused(ErrorCode::EngineStopped, "The engine has ended", "Try again: a new engine starts."),
    }
}

/// Parses how a user names a task.
pub(crate) fn task_ref(text: &str) -> Result<TaskRef, Problem> {
    text.parse().map_err(|error: st_model::id::ParseTaskRefError| unknown_task(&error.to_string()))
}

/// A fault in what a client sent.
pub(crate) fn usage(message: impl Into<String>, fix: impl Into<String>) -> Problem {
    Problem::refused(ErrorCode::Usage, message, fix)
}

/// A fault of ours.
pub(crate) fn internal(message: impl Into<String>) -> Problem {
    Problem::no_change(ErrorCode::Internal, message, "Look into `logs/engine.log` of the data directory and report it.")
}

fn unknown_task(message: &str) -> Problem {
    Problem::no_change(ErrorCode::UnknownTask, message, "List the tasks with `sidetrack list`.")
}

fn disk_full() -> Problem {
    Problem::refused(ErrorCode::DiskFull, "The disk that holds the data directory is full", "Free some space, then try again.")
}

/// An error with what caused it, in one line.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let words = next.to_string();
        if !text.ends_with(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        cause = next.source();
    }
    text
}

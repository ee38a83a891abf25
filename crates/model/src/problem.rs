//! The errors a user can meet: a code, what was wrong, what is on disk now, what to do.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! error_codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal),+ $(,)?) => {
        /// What kind of thing went wrong; stable, for scripts and for the window.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum ErrorCode {
            $($(#[$doc])* #[serde(rename = $text)] $name),+
        }

        impl ErrorCode {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The code as it is written in JSON.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text),+ }
            }
        }
    };
}

error_codes! {
    /// The command line or request is malformed.
    Usage = "usage",
    /// No task has that number or id.
    UnknownTask = "unknown_task",
    /// The input is not there.
    NotFound = "not_found",
    /// The input is there and can't be read.
    Unreadable = "unreadable",
    /// The kind of input can't be reviewed (an archive, a device, a socket).
    UnsupportedInput = "unsupported_input",
    /// A patch breaks its own format.
    MalformedPatch = "malformed_patch",
    /// A merge's combined diff.
    CombinedDiff = "combined_diff",
    /// A limit on size or number was passed.
    TooLarge = "too_large",
    /// The patch or folder changes nothing.
    NothingToReview = "nothing_to_review",
    /// A revision or branch does not exist.
    UnknownRevision = "unknown_revision",
    /// A folder is no git repository where one is needed.
    NotARepository = "not_a_repository",
    /// A place that is never taken as a root: the home folder, `/`, above the data directory.
    RefusedRoot = "refused_root",
    /// A host could not be reached.
    Unreachable = "unreachable",
    /// A host answered with an error or with something that is not what it claims.
    BadResponse = "bad_response",
    /// The operation does not fit the task's state.
    WrongState = "wrong_state",
    /// The worker ended without saying how.
    WorkerDied = "worker_died",
    /// The wall timeout was reached.
    TimedOut = "timed_out",
    /// The engine stopped while the task ran.
    EngineStopped = "engine_stopped",
    /// No engine runs and none could start.
    NoEngine = "no_engine",
    /// Client and engine are of different versions.
    VersionMismatch = "version_mismatch",
    /// The database is damaged or newer than this version.
    Storage = "storage",
    /// The disk is full or a quota is reached.
    DiskFull = "disk_full",
    /// Something is known and not yet built.
    NotBuilt = "not_built",
    /// The task was refused by a policy.
    Refused = "refused",
    /// A fault of ours.
    Internal = "internal",
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An error as a user meets it. Displays as its message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    /// Kind of the error.
    pub code: ErrorCode,
    /// What was wrong: one sentence, no trailing period needed.
    pub message: String,
    /// What is on disk now: "Nothing was queued and no file was changed."
    pub disk_effect: String,
    /// What to do, as imperative sentences, best first. Never empty.
    pub fix: Vec<String>,
}

impl Problem {
    /// An error that left nothing behind: nothing queued, no file changed.
    pub fn refused(code: ErrorCode, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { code, message: message.into(), disk_effect: "Nothing was queued and no file was changed.".into(), fix: vec![fix.into()] }
    }

    /// An error of a queued task that changed no file of the user's.
    pub fn no_change(code: ErrorCode, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { code, message: message.into(), disk_effect: "No file was changed.".into(), fix: vec![fix.into()] }
    }

    /// Adds another thing to do.
    #[must_use]
    pub fn or(mut self, fix: impl Into<String>) -> Self {
        self.fix.push(fix.into());
        self
    }
}

//! What a worker may say to the engine, one JSON object a line over its attempt's socket.

use serde::{Deserialize, Serialize};

use crate::coverage::CoverageEntry;
use crate::event::Progress;
use crate::finding::Finding;
use crate::problem::Problem;
use crate::retry::FailureClass;

/// Longest line the engine takes from a worker, in bytes. A finding's quote and patch are far
/// below it; what is longer is a fault or an attack.
pub const MAX_LINE_BYTES: usize = 256 * 1024;

/// Level of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// For us.
    Debug,
    /// Usual course.
    Info,
    /// Odd, and the work goes on.
    Warn,
    /// Wrong.
    Error,
}

/// A line from worker to engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "say")]
pub enum BrokerMessage {
    /// How far it is.
    Progress {
        /// The tick.
        progress: Progress,
    },
    /// A line for the attempt's log.
    Log {
        /// Level.
        level: LogLevel,
        /// One line.
        text: String,
    },
    /// A remark. Its `id` is given by the store; the one sent is ignored.
    Finding {
        /// The remark.
        finding: Box<Finding>,
    },
    /// A file is finished with.
    Covered {
        /// Its line in the ledger.
        entry: CoverageEntry,
    },
    /// The last line: how the attempt ended. A worker that exits without it has died.
    Ended {
        /// How.
        ended: WorkerEnd,
    },
}

/// How a worker says its attempt ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum WorkerEnd {
    /// All done.
    Done,
    /// Stopped early with results worth keeping.
    Partial {
        /// Why.
        problem: Problem,
    },
    /// No result.
    Failed {
        /// Whether another attempt is worth it.
        class: FailureClass,
        /// Why.
        problem: Problem,
    },
}

/// The engine's answer to a line it did not take; a line it took has no answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BrokerRefusal {
    /// Why.
    pub refused: Problem,
}

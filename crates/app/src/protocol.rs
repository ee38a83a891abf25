//! The client protocol: JSON objects, one a line, over a 0600 Unix socket in the data directory.
//!
//! A client opens with [`Hello`]; the engine answers with [`Welcome`]. After that each
//! [`Request`] has exactly one [`Reply`] with the same `id`, in any order; a `subscribe` also
//! brings [`Reply::Update`] lines until the connection ends. `hello`, `welcome` and the `stop`
//! request keep their form in every version, so that any client can tell any engine to go.

use serde::{Deserialize, Serialize};
use st_model::problem::Problem;

use crate::dto::{CheckDto, CoverageDto, FindingDto, ItemDto, LogPageDto, SnapshotDto, StatusDto, TaskDto, UpdateDto};

/// Version of the frames below; raised when a client of the version before would misread them.
pub const PROTOCOL: u32 = 1;

/// Longest line either side takes, in bytes: a snapshot of some ten thousand tasks fits.
pub const MAX_LINE_BYTES: usize = 64 << 20;

/// A client's first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROTOCOL`] of the client.
    pub protocol: u32,
    /// Its package version.
    pub version: String,
    /// Who it is: `cli`, `window`.
    pub client: String,
}

/// The engine's first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// [`PROTOCOL`] of the engine.
    pub protocol: u32,
    /// Its package version.
    pub version: String,
    /// This engine's run.
    pub boot: String,
    /// Its process.
    pub pid: u32,
}

/// A client's line after the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Chosen by the client; the reply carries it.
    pub id: u64,
    /// What is wanted.
    #[serde(flatten)]
    pub call: Call,
}

/// What a client can ask.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "call")]
pub enum Call {
    /// Queue a review.
    Review {
        /// As typed or dropped: see [`crate::classify`]. `-` is not known here; text goes by `text`.
        #[serde(default)]
        what: Option<String>,
        /// Patch text that was piped or pasted.
        #[serde(default)]
        text: Option<PatchText>,
        /// Folder against which relative paths and branch names count, absolute.
        #[serde(default)]
        cwd: Option<String>,
        /// Revision to compare with.
        #[serde(default)]
        base: Option<String>,
        /// Runner, `rules` when unset.
        #[serde(default)]
        runner: Option<String>,
        /// `low`, `normal`, `high`.
        #[serde(default)]
        priority: Option<String>,
    },
    /// What would a review of this be? Queues nothing.
    Classify {
        /// Paths, addresses or text, as dropped.
        items: Vec<String>,
        /// Folder against which relative paths count.
        #[serde(default)]
        cwd: Option<String>,
    },
    /// Tasks, newest first.
    List {
        /// State names; empty for all.
        #[serde(default)]
        states: Vec<String>,
        /// At most so many.
        #[serde(default)]
        limit: Option<u32>,
    },
    /// One task, coverage included.
    Show {
        /// Number or UUID.
        task: String,
    },
    /// A task's findings.
    Findings {
        /// Number or UUID.
        task: String,
    },
    /// A task's ledger.
    Coverage {
        /// Number or UUID.
        task: String,
    },
    /// A page of an attempt's log.
    Log {
        /// Number or UUID.
        task: String,
        /// The attempt; the newest when unset.
        #[serde(default)]
        attempt: Option<u32>,
        /// Byte offset to start at; negative counts lines from the end.
        from: i64,
        /// At most so many lines (at most 5,000 are given).
        limit: u32,
    },
    /// Cancel.
    Cancel {
        /// Number or UUID.
        task: String,
        /// Without grace.
        #[serde(default)]
        now: bool,
    },
    /// Run a resting task again as a new one.
    Retry {
        /// Number or UUID.
        task: String,
    },
    /// Another urgency.
    Priority {
        /// Number or UUID.
        task: String,
        /// `low`, `normal`, `high`.
        priority: String,
    },
    /// Hold or release new tasks.
    Pause {
        /// Hold.
        paused: bool,
    },
    /// The engine.
    Status,
    /// Events from now on, or after `since`; replies `Snapshot`, then `Update`s.
    Subscribe {
        /// Resume after this; 0 replays all. A snapshot comes first in any case.
        #[serde(default)]
        since: Option<u64>,
        /// Only this task.
        #[serde(default)]
        task: Option<String>,
        /// Whether this client raises notifications from now on (the window's role).
        #[serde(default)]
        notifier: bool,
    },
    /// Settings.
    ConfigList,
    /// One setting; `value: null` removes it.
    ConfigSet {
        /// Key.
        key: String,
        /// New value.
        value: Option<String>,
    },
    /// What this machine can do.
    Doctor,
    /// End the engine.
    Stop {
        /// Without letting running attempts finish.
        #[serde(default)]
        now: bool,
    },
}

/// Patch text in a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchText {
    /// Base64 of the bytes.
    pub b64: String,
    /// What to call it: `stdin`, `pasted text`.
    pub label: String,
}

/// The engine's line after the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// The request it belongs to.
    pub id: u64,
    /// The answer.
    #[serde(flatten)]
    pub reply: Reply,
}

/// What the engine can answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "reply", content = "body")]
pub enum Reply {
    /// One task.
    Task(Box<TaskDto>),
    /// Several.
    Tasks(Vec<TaskDto>),
    /// Findings.
    Findings(Vec<FindingDto>),
    /// A ledger.
    Coverage(Vec<CoverageDto>),
    /// A log page.
    Log(LogPageDto),
    /// What things are.
    Items(Vec<ItemDto>),
    /// The engine.
    Status(StatusDto),
    /// Start of a stream.
    Snapshot(SnapshotDto),
    /// More of a stream.
    Update(UpdateDto),
    /// Settings: key, value, where the value comes from.
    Settings(Vec<(String, String, String)>),
    /// What this machine can do.
    Checks(Vec<CheckDto>),
    /// Done, nothing to say.
    Ok,
    /// Refused or failed.
    Error(Problem),
}

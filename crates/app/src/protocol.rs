//! The client protocol: JSON objects, one a line, over a 0600 Unix socket in the data directory.
//!
//! A client opens with [`Hello`]; the engine answers with [`Welcome`]. After that each
//! [`Request`] has exactly one [`Reply`] with the same `id`, in any order; a `subscribe` also
//! brings [`Reply::Update`] lines until the connection ends. `hello`, `welcome` and the `stop`
//! request keep their form in every version, so that any client can tell any engine to go.
//!
//! ```text
//! client: {"protocol":1,"version":"0.1.0","client":"cli"}
//! engine: {"protocol":1,"version":"0.1.0","boot":"…","pid":4711}
//! client: {"id":1,"call":"show","task":"42"}
//! engine: {"id":1,"reply":"task","body":{"id":"…","number":42,…}}
//! ```
//!
//! A line that is no request is answered with an `error` reply under its `id`, or under 0 when
//! it has none, and the connection stays. A line longer than [`MAX_LINE_BYTES`] is answered and
//! the connection ends: where the next line starts is not known. Unknown fields are ignored, so
//! fields may be added within one [`PROTOCOL`].

use serde::{Deserialize, Serialize};
use st_model::problem::Problem;

use crate::dto::{CheckDto, CoverageDto, FindingDto, ItemDto, LogPageDto, SnapshotDto, StatusDto, TaskDto, UpdateDto};

/// Version of the frames below; raised when a client of the version before would misread them.
pub const PROTOCOL: u32 = 1;

/// Longest line either side takes, in bytes: a patch of 64 MiB fits in base64 (86 MiB), and so
/// does a list of some fifty thousand tasks.
pub const MAX_LINE_BYTES: usize = 96 << 20;

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
    /// Queue a review. Brings [`Reply::Task`].
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
    /// What would a review of this be? Queues nothing. Brings [`Reply::Items`], one an item.
    Classify {
        /// Paths, addresses or text, as dropped.
        items: Vec<String>,
        /// Folder against which relative paths count.
        #[serde(default)]
        cwd: Option<String>,
    },
    /// Tasks, newest first. Brings [`Reply::Tasks`].
    List {
        /// State names; empty for all.
        #[serde(default)]
        states: Vec<String>,
        /// At most so many.
        #[serde(default)]
        limit: Option<u32>,
    },
    /// One task, coverage included. Brings [`Reply::Task`].
    Show {
        /// Number or UUID.
        task: String,
    },
    /// A task's findings, by id. Brings [`Reply::Findings`].
    Findings {
        /// Number or UUID.
        task: String,
    },
    /// A task's ledger, by path. Brings [`Reply::Coverage`].
    Coverage {
        /// Number or UUID.
        task: String,
    },
    /// A page of an attempt's log. Brings [`Reply::Log`]; attempt 0 and no lines before the first attempt.
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
    /// Cancel. Brings [`Reply::Task`], which may still be stopping.
    Cancel {
        /// Number or UUID.
        task: String,
        /// Without grace.
        #[serde(default)]
        now: bool,
    },
    /// Run a resting task again as a new one. Brings the new [`Reply::Task`].
    Retry {
        /// Number or UUID.
        task: String,
    },
    /// Another urgency. Brings [`Reply::Task`].
    Priority {
        /// Number or UUID.
        task: String,
        /// `low`, `normal`, `high`.
        priority: String,
    },
    /// Hold or release new tasks. Brings [`Reply::Status`].
    Pause {
        /// Hold.
        paused: bool,
    },
    /// The engine. Brings [`Reply::Status`].
    Status,
    /// Events from now on, or after `since`. Brings [`Reply::Snapshot`], then [`Reply::Update`]s
    /// under the same id. Once a connection.
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
    /// Settings. Brings [`Reply::Settings`].
    ConfigList,
    /// One setting; `value: null` removes it. Brings [`Reply::Settings`] with that one.
    ConfigSet {
        /// Key.
        key: String,
        /// New value.
        value: Option<String>,
    },
    /// What this machine can do. Brings [`Reply::Checks`].
    Doctor,
    /// End the engine. Brings [`Reply::Ok`] at once; the connection closes when the engine has ended.
    Stop {
        /// Without letting running attempts finish.
        #[serde(default)]
        now: bool,
    },
}

impl Call {
    /// As it is written in a request's `call`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Review { .. } => "review",
            Self::Classify { .. } => "classify",
            Self::List { .. } => "list",
            Self::Show { .. } => "show",
            Self::Findings { .. } => "findings",
            Self::Coverage { .. } => "coverage",
            Self::Log { .. } => "log",
            Self::Cancel { .. } => "cancel",
            Self::Retry { .. } => "retry",
            Self::Priority { .. } => "priority",
            Self::Pause { .. } => "pause",
            Self::Status => "status",
            Self::Subscribe { .. } => "subscribe",
            Self::ConfigList => "config_list",
            Self::ConfigSet { .. } => "config_set",
            Self::Doctor => "doctor",
            Self::Stop { .. } => "stop",
        }
    }
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
    /// Settings: key, value, where the value comes from (`default`, `you`, `env`).
    Settings(Vec<(String, String, String)>),
    /// What this machine can do.
    Checks(Vec<CheckDto>),
    /// Done, nothing to say.
    Ok,
    /// Refused or failed.
    Error(Problem),
}

#[cfg(test)]
mod tests;

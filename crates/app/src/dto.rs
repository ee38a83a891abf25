//! The JSON of the contract: what scripts, editors and the window see.
//!
//! Field names are stable. The UI's types are generated from these (`ui/src/lib/generated`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
#[cfg(test)]
use ts_rs::TS;

/// A task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS), ts(export))]
pub struct TaskDto {
    /// UUID.
    pub id: String,
    /// Short number.
    #[cfg_attr(test, ts(type = "number"))]
    pub number: u64,
    /// One line for people.
    pub title: String,
    /// `review`.
    pub kind: String,
    /// `rules`.
    pub runner: String,
    /// Where it is in its life.
    pub state: StateDto,
    /// Why it is there, in words: "All 2 slots are busy", "Stopping", "Rate limited". Empty when nothing is to say.
    pub reason: String,
    /// Where its change is.
    pub change_state: String,
    /// Whether the pending change is whole.
    pub complete: bool,
    /// `low`, `normal`, `high`.
    pub priority: String,
    /// Number of the newest attempt; 0 before the first.
    pub attempt: u32,
    /// Attempts it may take in all.
    pub max_attempts: u32,
    /// When the next attempt comes, while `retrying`.
    pub retry_at: Option<String>,
    /// While the gateway waits for a provider.
    pub throttled: Option<ThrottledDto>,
    /// Place in line, from 1, while `queued`.
    pub position: Option<u32>,
    /// What it waits for.
    pub waiting_for: Vec<WaitingForDto>,
    /// What it wants.
    pub claims: ClaimsDto,
    /// How far it is.
    pub progress: ProgressDto,
    /// Longest run of one attempt, in milliseconds.
    #[cfg_attr(test, ts(type = "number"))]
    pub timeout_ms: u64,
    /// Model use.
    pub tokens: TokensDto,
    /// When it was queued (RFC 3339 UTC, milliseconds), and so on.
    pub created_at: String,
    /// When its content was frozen.
    pub pinned_at: Option<String>,
    /// When its first attempt began.
    pub started_at: Option<String>,
    /// When it came to rest.
    pub finished_at: Option<String>,
    /// Findings by severity.
    pub findings: CountsDto,
    /// The ledger; only in `show` and a final `--wait` object, else empty.
    pub coverage: Vec<CoverageDto>,
    /// Files in the ledger so far, by status.
    pub covered: BTreeMap<String, u32>,
    /// Whether the ledger lets the review say that nothing was found.
    pub clean: bool,
    /// Conflicts of a publish.
    pub conflicts: Vec<String>,
    /// Why it failed or stopped early.
    pub error: Option<ErrorDto>,
    /// What was reviewed, in words: `rate-limit.patch`, `acme/api main..feature`.
    pub source: String,
    /// Folder, repository or file it came from, absolute, when it has one.
    pub origin: Option<String>,
    /// The task this one runs again, by number.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub rerun_of: Option<u64>,
}

/// Where a task is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS), ts(export))]
#[serde(rename_all = "snake_case")]
pub enum StateDto {
    /// Waiting for its turn.
    Queued,
    /// An attempt runs.
    Running,
    /// Another attempt comes.
    Retrying,
    /// Undoing.
    RollingBack,
    /// All of it.
    Done,
    /// Stopped early, results kept.
    Partial,
    /// No result.
    Failed,
    /// Stopped by the user.
    Cancelled,
    /// The undoing needs a human.
    NeedsRecovery,
}

/// While the gateway waits for a provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS), ts(export))]
pub struct ThrottledDto {
    /// When it goes on.
    pub retry_at: String,
    /// This try.
    pub n: u32,
    /// Of so many.
    pub of: u32,
    /// In words.
    pub cause: String,
}

/// Something a task waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS), ts(export))]
pub struct WaitingForDto {
    /// What.
    pub resource: String,
    /// `shared`, `exclusive` or `slot`.
    pub mode: String,
    /// Who has it: task numbers in words.
    pub holder: String,
    /// Since when.
    pub since: String,
}

/// What a task wants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS), ts(export))]
pub struct ClaimsDto {
    /// Globs read.
    pub read: Vec<String>,
    /// Globs written.
    pub write: Vec<String>,
    /// Databases.
    pub sqlite: Vec<String>,
    /// Free names.
    pub named: Vec<String>,
    /// `held` or `at-publish`.
    pub mode: String,
}

/// How far a task is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS), ts(export))]
pub struct ProgressDto {
    /// Units done.
    #[cfg_attr(test, ts(type = "number"))]
    pub done: u64,
    /// Units in all, once known.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub total: Option<u64>,
    /// What is counted.
    pub unit: String,
    /// `pin`, `review`, `report`; empty before.
    pub phase: String,
    /// What is being looked at.
    pub line: String,
}

/// Model use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS), ts(export))]
pub struct TokensDto {
    /// Tokens in.
    #[cfg_attr(test, ts(type = "number"))]
    pub input: u64,
    /// Tokens out.
    #[cfg_attr(test, ts(type = "number"))]
    pub output: u64,
    /// Cost.
    pub cost_usd: f64,
}

/// Findings by severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS), ts(export))]
pub struct CountsDto {
    /// Defects and holes.
    pub high: u32,
    /// Should be fixed.
    pub medium: u32,
    /// Small.
    pub low: u32,
    /// Worth knowing.
    pub info: u32,
}

/// A line of the coverage ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS), ts(export))]
pub struct CoverageDto {
    /// The file.
    pub file: String,
    /// Base64 of the name when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file_b64: Option<String>,
    /// `reviewed`, `partial`, `skipped`, `failed`.
    pub status: String,
    /// Why, unless reviewed.
    pub reason: Option<String>,
}

/// An error a user meets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS), ts(export))]
pub struct ErrorDto {
    /// Kind.
    pub code: String,
    /// What was wrong.
    pub message: String,
    /// What is on disk now.
    pub disk_effect: String,
    /// What to do, best first.
    pub fix: Vec<String>,
}

/// A review remark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS), ts(export))]
pub struct FindingDto {
    /// Number within the task.
    pub id: u32,
    /// The file.
    pub file: String,
    /// Base64 of the name when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file_b64: Option<String>,
    /// Path before a rename.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub old_file: Option<String>,
    /// Base64 of the old name when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub old_file_b64: Option<String>,
    /// `new` or `old`.
    pub side: String,
    /// First line; 0 for a finding about the file.
    pub start_line: u32,
    /// Last line.
    pub end_line: u32,
    /// `high`, `medium`, `low`, `info`.
    pub severity: String,
    /// Rule id.
    pub rule: String,
    /// One line.
    pub title: String,
    /// Why and what to do, Markdown without raw HTML.
    pub body: String,
    /// The source it is about.
    pub quote: String,
    /// `exact`, `snapped`, `file`.
    pub anchor: String,
    /// A change that would settle it.
    pub suggestion: Option<SuggestionDto>,
    /// Version pointer of the reviewed file, when known.
    pub base: Option<String>,
    /// Who says so.
    pub runner: String,
    /// 0 to 1.
    pub confidence: f32,
    /// `CWE-89` and the like.
    pub cwe: Option<String>,
    /// Stable over re-reviews.
    pub fingerprint: String,
    /// `new`, `known`, `fixed`, `dismissed`.
    pub status: String,
}

/// A change that would settle a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS), ts(export))]
pub struct SuggestionDto {
    /// A unified diff that `git apply` takes.
    pub patch: Option<String>,
}

/// A durable fact about a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS), ts(export))]
pub struct EventDto {
    /// Position in commit order; absent for a progress tick.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(test, ts(type = "number", optional))]
    pub seq: Option<u64>,
    /// The task's short number.
    #[cfg_attr(test, ts(type = "number"))]
    pub task: u64,
    /// When.
    pub at: String,
    /// What happened (`submitted`, `started`, `finding`, …; `progress` for a tick).
    pub kind: String,
    /// Its data, by kind:
    ///
    /// | kind | data |
    /// |---|---|
    /// | `submitted` | `{title}` |
    /// | `started` | `{attempt: UUID, number}` |
    /// | `phase_entered` | `{phase}` |
    /// | `pinned` | `{files: number or null}` |
    /// | `finding` | `{finding: FindingDto}` |
    /// | `covered` | `{entry: CoverageDto}` |
    /// | `note` | `{text}` |
    /// | `stopping` | `{cause: "cancelled", "timed_out" or "engine_stop"}` |
    /// | `retrying` | `{retry_at, attempt: number, class, problem: ErrorDto}` |
    /// | `requeued` | `{reason}` |
    /// | `settled` | `{state, problem: ErrorDto or null}` |
    /// | `priority_changed` | `{priority}` |
    /// | `progress` | `{progress: ProgressDto}` |
    #[cfg_attr(test, ts(type = "Record<string, unknown>"))]
    pub data: serde_json::Value,
}

/// What a client needs to draw the sidebar: its tasks as they are at `seq` or later. Events after
/// `seq` follow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS), ts(export))]
pub struct SnapshotDto {
    /// Resume the stream after this.
    #[cfg_attr(test, ts(type = "number"))]
    pub seq: u64,
    /// Tasks, newest first: all that are open, and the newest two thousand.
    pub tasks: Vec<TaskDto>,
    /// The engine.
    pub status: StatusDto,
    /// Whether there are older tasks, which `list` gives.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    #[cfg_attr(test, ts(as = "Option<bool>", optional))]
    pub more: bool,
}

/// One batch to a subscriber: after it, the subscriber's tasks are as they were at `seq`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS), ts(export))]
pub struct UpdateDto {
    /// Newest event number in this batch (or that of the batch before, when it only ticks).
    #[cfg_attr(test, ts(type = "number"))]
    pub seq: u64,
    /// Events in order, progress ticks folded to the newest a task.
    pub events: Vec<EventDto>,
    /// The rows of the tasks that changed, as they are now. A task whose place in line moved counts
    /// as changed up to the hundredth place; further back, `list` tells.
    pub tasks: Vec<TaskDto>,
    /// The engine, when it changed.
    pub status: Option<StatusDto>,
}

/// The engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS), ts(export))]
pub struct StatusDto {
    /// Version of the engine.
    pub version: String,
    /// Slots in all.
    pub slots: u32,
    /// Attempts running.
    pub running: u32,
    /// Tasks waiting.
    pub waiting: u32,
    /// Tasks that need a human.
    pub needs_you: u32,
    /// Whether new tasks are held.
    pub paused: bool,
    /// Whether it is draining.
    pub stopping: bool,
    /// Its data directory.
    pub data_dir: String,
}

/// What a dropped, pasted or typed thing is, before it is submitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS), ts(export))]
pub struct ItemDto {
    /// As given, shortened for people.
    pub label: String,
    /// `patch`, `repository`, `folder`, `link`, `text`, `range`, `branch`; none when it can't be reviewed.
    pub kind: Option<String>,
    /// One line: "6 files, +148 −31", "uncommitted work of api".
    pub summary: String,
    /// Why it can't be reviewed.
    pub error: Option<ErrorDto>,
}

/// A page of an attempt's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS), ts(export))]
pub struct LogPageDto {
    /// The attempt.
    pub attempt: u32,
    /// Byte offset of the first line.
    #[cfg_attr(test, ts(type = "number"))]
    pub from: u64,
    /// Byte offset after the last line: ask again from here.
    #[cfg_attr(test, ts(type = "number"))]
    pub next: u64,
    /// Size of the log now.
    #[cfg_attr(test, ts(type = "number"))]
    pub size: u64,
    /// Whole lines, escape sequences removed.
    pub lines: Vec<String>,
}

/// One thing `doctor` looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS), ts(export))]
pub struct CheckDto {
    /// What was looked at.
    pub name: String,
    /// Whether it holds.
    pub ok: bool,
    /// What was found.
    pub found: String,
    /// How to get more, when it does not hold.
    pub fix: Option<String>,
}

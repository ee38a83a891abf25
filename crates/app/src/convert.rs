//! From the model's types to the contract's JSON.

use std::collections::BTreeMap;

use st_model::claim::{ClaimHold, ClaimMode, ClaimSet, Resource};
use st_model::coverage::{CoverageEntry, CoverageStatus};
use st_model::event::{Event, EventKind, Progress};
use st_model::finding::{Anchor, Finding, FindingStatus, Severity, Side};
use st_model::id::TaskNumber;
use st_model::problem::Problem;
use st_model::review::ReviewSource;
use st_model::state::{Activity, RestState, StopCause, TaskState};
use st_model::task::{FindingCounts, Priority, Task, TaskKind};
use st_model::time::Timestamp;

use crate::dto::{
    ClaimsDto, CountsDto, CoverageDto, ErrorDto, EventDto, FindingDto, ProgressDto, StateDto, SuggestionDto, TaskDto, ThrottledDto,
    TokensDto, WaitingForDto,
};

/// What a task's object says beyond its row.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The newest tick, while it runs.
    pub progress: Option<Progress>,
    /// Its ledger, counted.
    pub ledger: LedgerSummary,
    /// Its place in line, while it is queued.
    pub place: Option<Place>,
    /// The task it runs again.
    pub rerun_of: Option<TaskNumber>,
}

/// A coverage ledger, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LedgerSummary {
    /// Files of which every changed line was looked at.
    pub reviewed: u32,
    /// Files looked at in part.
    pub partial: u32,
    /// Files left out by a stated rule.
    pub skipped: u32,
    /// Files that should have been looked at and were not.
    pub failed: u32,
    /// Whether it lets a review say that nothing was found: there are files, and each was
    /// reviewed or left out by choice.
    pub allows_clean: bool,
}

impl LedgerSummary {
    /// So many files of one status.
    #[must_use]
    pub fn of_files(status: &CoverageStatus, files: u32) -> Self {
        let none = Self::default();
        match status {
            CoverageStatus::Reviewed => Self { reviewed: files, allows_clean: true, ..none },
            CoverageStatus::Partial(_) => Self { partial: files, ..none },
            CoverageStatus::Skipped(reason) => Self { skipped: files, allows_clean: reason.allows_clean(), ..none },
            CoverageStatus::Failed(_) => Self { failed: files, ..none },
        }
    }

    /// Several taken together. None at all lets nobody say anything.
    #[must_use]
    pub fn sum<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        parts.into_iter().copied().reduce(Self::plus).unwrap_or_default()
    }

    fn plus(self, other: Self) -> Self {
        Self {
            reviewed: self.reviewed + other.reviewed,
            partial: self.partial + other.partial,
            skipped: self.skipped + other.skipped,
            failed: self.failed + other.failed,
            allows_clean: self.allows_clean && other.allows_clean,
        }
    }

    fn by_status(self) -> BTreeMap<String, u32> {
        [("reviewed", self.reviewed), ("partial", self.partial), ("skipped", self.skipped), ("failed", self.failed)]
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(status, count)| (status.to_owned(), count))
            .collect()
    }
}

/// A queued task's place in line, and why the line stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// From 1.
    pub position: u32,
    /// Slots in all.
    pub slots: u32,
    /// The tasks that hold them.
    pub holders: Vec<TaskNumber>,
    /// Whether new tasks are held.
    pub paused: bool,
    /// Whether the engine is ending.
    pub stopping: bool,
}

impl Place {
    fn all_busy(&self) -> bool {
        u32::try_from(self.holders.len()).unwrap_or(u32::MAX) >= self.slots
    }

    fn reason(&self) -> String {
        let line = if self.position == 1 { "Next in line.".to_owned() } else { format!("{} in line.", ordinal(self.position)) };
        if self.stopping {
            "The engine is ending; the task stays queued for the next one.".to_owned()
        } else if self.paused {
            "New tasks are paused".to_owned()
        } else if !self.all_busy() {
            line
        } else if self.slots == 1 {
            format!("The only slot is busy. {line}")
        } else {
            format!("All {} slots are busy. {line}", self.slots)
        }
    }

    fn waiting_for(&self, since: Timestamp) -> Vec<WaitingForDto> {
        if self.paused || self.stopping || !self.all_busy() {
            return Vec::new();
        }
        let holder = self.holders.iter().map(|number| format!("#{number}")).collect::<Vec<_>>().join(", ");
        vec![WaitingForDto { resource: "a worker slot".into(), mode: "slot".into(), holder, since: since.to_string() }]
    }
}

fn ordinal(number: u32) -> String {
    let suffix = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{suffix}")
}

impl TaskDto {
    /// A task's object, its ledger counted and not listed.
    #[must_use]
    pub fn from_task(task: &Task, context: &Context) -> Self {
        let place = context.place.as_ref().filter(|_| matches!(task.state, TaskState::Queued));
        let (source, origin) = source_words(&task.submitted.kind);
        Self {
            id: task.id.to_string(),
            number: task.number.0,
            title: task.submitted.title.clone(),
            kind: task.submitted.kind.name().into(),
            runner: task.submitted.kind.runner().into(),
            state: StateDto::from(&task.state),
            reason: reason(task, place),
            change_state: task.change_state.name().into(),
            complete: matches!(task.state, TaskState::Resting { rest: RestState::Done }),
            priority: priority_name(task.priority).into(),
            attempt: attempt_number(task),
            max_attempts: task.submitted.limits.retry.max_attempts,
            retry_at: match &task.state {
                TaskState::Retrying { retry_at, .. } => Some(retry_at.to_string()),
                TaskState::Queued
                | TaskState::Running { .. }
                | TaskState::RollingBack { .. }
                | TaskState::NeedsRecovery { .. }
                | TaskState::Resting { .. } => None,
            },
            throttled: throttled(&task.state),
            position: place.map(|place| place.position),
            waiting_for: place.map(|place| place.waiting_for(task.created_at)).unwrap_or_default(),
            claims: ClaimsDto::from(&task.submitted.claims),
            progress: progress(task, context),
            timeout_ms: u64::try_from(task.submitted.limits.wall_timeout.as_millis()).unwrap_or(u64::MAX),
            tokens: TokensDto::default(),
            created_at: task.created_at.to_string(),
            pinned_at: task.pinned_at.map(|at| at.to_string()),
            started_at: task.started_at.map(|at| at.to_string()),
            finished_at: task.finished_at.map(|at| at.to_string()),
            findings: task.findings.into(),
            coverage: Vec::new(),
            covered: context.ledger.by_status(),
            clean: matches!(task.state, TaskState::Resting { rest: RestState::Done })
                && context.ledger.allows_clean
                && task.findings.total() == 0,
            conflicts: Vec::new(),
            error: error(&task.state).map(ErrorDto::from),
            source,
            origin,
            rerun_of: context.rerun_of.map(|number| number.0),
        }
    }
}

/// The attempt that runs, else those counted.
fn attempt_number(task: &Task) -> u32 {
    task.state.lease().map_or(task.attempts, |lease| lease.number)
}

fn reason(task: &Task, place: Option<&Place>) -> String {
    match &task.state {
        TaskState::Queued => place.map(Place::reason).unwrap_or_default(),
        TaskState::Running { activity, .. } => match activity {
            Activity::Working { .. } => String::new(),
            Activity::Throttled { n, of, cause, .. } => format!("{cause}. Try {n} of {of}."),
            Activity::Stopping { cause } => match cause {
                StopCause::Cancelled => "Stopping".into(),
                StopCause::TimedOut => "Stopping: the time limit was reached".into(),
                StopCause::EngineStop => "Stopping: the engine is ending".into(),
            },
        },
        TaskState::Retrying { problem, .. } => {
            format!(
                "{}. Attempt {} of {} follows.",
                sentence(&problem.message),
                task.attempts + 1,
                task.submitted.limits.retry.max_attempts
            )
        }
        TaskState::RollingBack { .. } => "Undoing its changes".into(),
        TaskState::NeedsRecovery { .. } => "The undoing needs you".into(),
        TaskState::Resting { rest } => match rest {
            RestState::Done => String::new(),
            RestState::Partial { problem } | RestState::Failed { problem } => problem.message.clone(),
            RestState::Cancelled => "Cancelled by you".into(),
        },
    }
}

fn sentence(text: &str) -> &str {
    text.trim_end().trim_end_matches('.')
}

fn throttled(state: &TaskState) -> Option<ThrottledDto> {
    match state {
        TaskState::Running { activity: Activity::Throttled { retry_at, n, of, cause }, .. } => {
            Some(ThrottledDto { retry_at: retry_at.to_string(), n: *n, of: *of, cause: cause.clone() })
        }
        TaskState::Running { activity: Activity::Working { .. } | Activity::Stopping { .. }, .. }
        | TaskState::Queued
        | TaskState::Retrying { .. }
        | TaskState::RollingBack { .. }
        | TaskState::NeedsRecovery { .. }
        | TaskState::Resting { .. } => None,
    }
}

fn error(state: &TaskState) -> Option<&Problem> {
    match state {
        TaskState::Retrying { problem, .. } => Some(problem),
        TaskState::Resting { rest } | TaskState::RollingBack { then: rest } | TaskState::NeedsRecovery { then: rest } => rest.problem(),
        TaskState::Queued | TaskState::Running { .. } => None,
    }
}

/// A running task's newest tick; otherwise what the ledger says, whose length is the total only
/// of a review that came to its end.
fn progress(task: &Task, context: &Context) -> ProgressDto {
    let phase = match &task.state {
        TaskState::Running { activity: Activity::Working { phase }, .. } => phase.to_string(),
        TaskState::Running { activity: Activity::Throttled { .. } | Activity::Stopping { .. }, .. }
        | TaskState::Queued
        | TaskState::Retrying { .. }
        | TaskState::RollingBack { .. }
        | TaskState::NeedsRecovery { .. }
        | TaskState::Resting { .. } => String::new(),
    };
    match (&context.progress, task.state.lease()) {
        (Some(tick), Some(_)) => ProgressDto { phase, ..ProgressDto::from(tick) },
        (Some(_) | None, _) => ProgressDto {
            done: u64::from(task.covered),
            total: matches!(task.state, TaskState::Resting { rest: RestState::Done }).then_some(u64::from(task.covered)),
            unit: "files".into(),
            phase,
            line: String::new(),
        },
    }
}

/// What is reviewed, in words, and the file or folder it came from.
fn source_words(kind: &TaskKind) -> (String, Option<String>) {
    let TaskKind::Review { source, .. } = kind;
    let name = |path: &std::path::Path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let at = |path: &std::path::Path| Some(path.to_string_lossy().into_owned());
    match source {
        ReviewSource::Text { label, .. } => (label.clone(), None),
        ReviewSource::PatchFile { path } => (name(path), at(path)),
        ReviewSource::Uncommitted { repo } => (format!("uncommitted work of {}", name(repo)), at(repo)),
        ReviewSource::Range { repo, base, head } => (format!("{} {base}..{head}", name(repo)), at(repo)),
        ReviewSource::Branch { repo, branch, base: Some(base) } => (format!("{} {branch} against {base}", name(repo)), at(repo)),
        ReviewSource::Branch { repo, branch, base: None } => (format!("{} {branch}", name(repo)), at(repo)),
        ReviewSource::Folder { path } => (format!("folder {}", name(path)), at(path)),
        ReviewSource::Link { url } => (url.clone(), None),
    }
}

/// `low`, `normal`, `high`.
#[must_use]
pub fn priority_name(priority: Priority) -> &'static str {
    match priority {
        Priority::Low => "low",
        Priority::Normal => "normal",
        Priority::High => "high",
    }
}

/// Reads `low`, `normal`, `high`.
///
/// # Errors
/// When it is none of them.
pub fn parse_priority(text: &str) -> Result<Priority, Problem> {
    match text {
        "low" => Ok(Priority::Low),
        "normal" => Ok(Priority::Normal),
        "high" => Ok(Priority::High),
        other => Err(crate::problems::usage(format!("`{other}` is no priority"), "Say low, normal or high.")),
    }
}

impl From<&TaskState> for StateDto {
    fn from(state: &TaskState) -> Self {
        match state {
            TaskState::Queued => Self::Queued,
            TaskState::Running { .. } => Self::Running,
            TaskState::Retrying { .. } => Self::Retrying,
            TaskState::RollingBack { .. } => Self::RollingBack,
            TaskState::NeedsRecovery { .. } => Self::NeedsRecovery,
            TaskState::Resting { rest } => match rest {
                RestState::Done => Self::Done,
                RestState::Partial { .. } => Self::Partial,
                RestState::Failed { .. } => Self::Failed,
                RestState::Cancelled => Self::Cancelled,
            },
        }
    }
}

impl StateDto {
    /// Every state.
    pub const ALL: [Self; 9] = [
        Self::Queued,
        Self::Running,
        Self::Retrying,
        Self::RollingBack,
        Self::Done,
        Self::Partial,
        Self::Failed,
        Self::Cancelled,
        Self::NeedsRecovery,
    ];

    /// As the contract names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Retrying => "retrying",
            Self::RollingBack => "rolling_back",
            Self::Done => "done",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::NeedsRecovery => "needs_recovery",
        }
    }

    /// Whether nothing more happens by itself.
    #[must_use]
    pub fn is_at_rest(self) -> bool {
        match self {
            Self::Done | Self::Partial | Self::Failed | Self::Cancelled => true,
            Self::Queued | Self::Running | Self::Retrying | Self::RollingBack | Self::NeedsRecovery => false,
        }
    }
}

impl From<&ClaimSet> for ClaimsDto {
    fn from(set: &ClaimSet) -> Self {
        let mode = match set.hold {
            ClaimHold::Held => "held",
            ClaimHold::AtPublish => "at-publish",
        };
        let mut claims = Self { mode: mode.into(), ..Self::default() };
        for claim in &set.claims {
            match (&claim.resource, claim.mode) {
                (Resource::Path(path), ClaimMode::Shared) => claims.read.push(path.clone()),
                (Resource::Path(path), ClaimMode::Exclusive) => claims.write.push(path.clone()),
                (Resource::Sqlite(path), ClaimMode::Shared | ClaimMode::Exclusive) => claims.sqlite.push(path.clone()),
                (Resource::Named(name), ClaimMode::Shared | ClaimMode::Exclusive) => claims.named.push(name.clone()),
            }
        }
        claims
    }
}

impl From<&Progress> for ProgressDto {
    fn from(progress: &Progress) -> Self {
        Self { done: progress.done, total: progress.total, unit: progress.unit.clone(), phase: String::new(), line: progress.line.clone() }
    }
}

impl From<FindingCounts> for CountsDto {
    fn from(counts: FindingCounts) -> Self {
        Self { high: counts.high, medium: counts.medium, low: counts.low, info: counts.info }
    }
}

impl CountsDto {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> u32 {
        self.high + self.medium + self.low + self.info
    }
}

impl From<&Problem> for ErrorDto {
    fn from(problem: &Problem) -> Self {
        Self {
            code: problem.code.as_str().into(),
            message: problem.message.clone(),
            disk_effect: problem.disk_effect.clone(),
            fix: problem.fix.clone(),
        }
    }
}

impl From<&CoverageEntry> for CoverageDto {
    fn from(entry: &CoverageEntry) -> Self {
        let (status, reason) = match &entry.status {
            CoverageStatus::Reviewed => ("reviewed", None),
            CoverageStatus::Partial(why) => ("partial", Some(why.clone())),
            CoverageStatus::Skipped(reason) => ("skipped", Some(reason.words().to_owned())),
            CoverageStatus::Failed(why) => ("failed", Some(why.clone())),
        };
        Self { file: entry.file.lossy(), file_b64: entry.file.b64_twin(), status: status.into(), reason }
    }
}

/// `high`, `medium`, `low`, `info`.
#[must_use]
pub fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::High => "high",
        Severity::Medium => "medium",
        Severity::Low => "low",
        Severity::Info => "info",
    }
}

impl From<&Finding> for FindingDto {
    fn from(finding: &Finding) -> Self {
        let side = match finding.side {
            Side::New => "new",
            Side::Old => "old",
        };
        let anchor = match finding.anchor {
            Anchor::Exact => "exact",
            Anchor::Snapped => "snapped",
            Anchor::File => "file",
        };
        let status = match finding.status {
            FindingStatus::New => "new",
            FindingStatus::Known => "known",
            FindingStatus::Fixed => "fixed",
            FindingStatus::Dismissed => "dismissed",
        };
        Self {
            id: finding.id,
            file: finding.file.lossy(),
            file_b64: finding.file.b64_twin(),
            old_file: finding.old_file.as_ref().map(st_model::path::RepoPath::lossy),
            old_file_b64: finding.old_file.as_ref().and_then(st_model::path::RepoPath::b64_twin),
            side: side.into(),
            start_line: finding.start_line,
            end_line: finding.end_line,
            severity: severity_name(finding.severity).into(),
            rule: finding.rule.clone(),
            title: finding.title.clone(),
            body: finding.body.clone(),
            quote: finding.quote.clone(),
            anchor: anchor.into(),
            suggestion: finding.suggestion.as_ref().map(|suggestion| SuggestionDto { patch: suggestion.patch.clone() }),
            base: finding.base.map(|pointer| pointer.to_string()),
            runner: finding.runner.clone(),
            confidence: finding.confidence,
            cwe: finding.cwe.clone(),
            fingerprint: finding.fingerprint.clone(),
            status: status.into(),
        }
    }
}

impl From<&Event> for EventDto {
    fn from(event: &Event) -> Self {
        use serde_json::json;

        let data = match &event.kind {
            EventKind::Submitted { title } => json!({ "title": title }),
            EventKind::Started { attempt, number } => json!({ "attempt": attempt, "number": number }),
            EventKind::PhaseEntered { phase } => json!({ "phase": phase.to_string() }),
            EventKind::Pinned { files } => json!({ "files": files }),
            EventKind::Finding { finding } => json!({ "finding": FindingDto::from(finding.as_ref()) }),
            EventKind::Covered { entry } => json!({ "entry": CoverageDto::from(entry) }),
            EventKind::Note { text } => json!({ "text": text }),
            EventKind::Stopping { cause } => json!({ "cause": cause }),
            EventKind::Retrying { retry_at, attempt, class, problem } => {
                json!({ "retry_at": retry_at.to_string(), "attempt": attempt, "class": class, "problem": problem })
            }
            EventKind::Requeued { reason } => json!({ "reason": reason }),
            EventKind::Settled { state, problem } => json!({ "state": state, "problem": problem }),
            EventKind::PriorityChanged { priority } => json!({ "priority": priority }),
        };
        Self { seq: Some(event.seq.0), task: event.number.0, at: event.at.to_string(), kind: event.kind.name().into(), data }
    }
}

impl EventDto {
    /// A progress tick: no `seq`, never stored, newest wins.
    #[must_use]
    pub fn tick(task: TaskNumber, at: Timestamp, progress: &ProgressDto) -> Self {
        Self { seq: None, task: task.0, at: at.to_string(), kind: "progress".into(), data: serde_json::json!({ "progress": progress }) }
    }
}

#[cfg(test)]
mod tests;

//! Which OS notification a task's event is worth, and raising it.
//!
//! One notice a state edge, in words that hold no code and no secret (a lock screen shows them).
//! A notification is never the only way to anything: whoever misses one finds the same in the
//! list.

#[cfg(all(unix, not(target_os = "macos")))]
mod raiser;

use std::collections::VecDeque;
use std::time::Duration;

#[cfg(all(unix, not(target_os = "macos")))]
pub use raiser::{OnOpen, Raiser};

use crate::dto::{StateDto, TaskDto};

/// Longest body, in characters.
const BODY_CHARS: usize = 240;

/// Notices within this time count as one burst.
const BURST: Duration = Duration::from_secs(10);

/// Notices of a burst that are raised one by one; from the next one on they are folded.
const ONE_BY_ONE: usize = 3;

/// A notification in words. Never holds code, secrets or raw markup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The task it opens.
    pub task: u64,
    /// Outcome and count: "Review finished: 7 findings (2 high)".
    pub title: String,
    /// Task and reason.
    pub body: String,
    /// Whether it stays until dealt with.
    pub urgent: bool,
    /// What it tells.
    pub outcome: Outcome,
}

/// What a notice tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// Done, with findings.
    Findings,
    /// Done, every file looked at or left out by choice, nothing found.
    Clean,
    /// Done, nothing found, and not every file was looked at.
    Unseen,
    /// Stopped early.
    Partial,
    /// No result.
    Failed,
    /// A human has to decide.
    NeedsYou,
}

/// The notice for a task that just changed from `before`, if it is worth one: one a state edge,
/// none for what the user did themselves (research/ui.md §4.9).
///
/// `before` is `None` for a task whose earlier state was not seen.
#[must_use]
pub fn notice_for(before: Option<&TaskDto>, now: &TaskDto) -> Option<Notice> {
    if before.is_some_and(|before| before.state == now.state) {
        return None;
    }
    let found = now.findings.total();
    let (outcome, title, reason) = match now.state {
        StateDto::Queued | StateDto::Running | StateDto::Retrying | StateDto::RollingBack | StateDto::Cancelled => return None,
        StateDto::Done if found > 0 => {
            let high = if now.findings.high > 0 { format!(" ({} high)", now.findings.high) } else { String::new() };
            (Outcome::Findings, format!("Review finished: {}{high}", findings(found)), None)
        }
        StateDto::Done if now.clean => (Outcome::Clean, "Review finished: no findings".to_owned(), None),
        StateDto::Done => (Outcome::Unseen, "Review finished: not every file was reviewed".to_owned(), Some(unseen(now))),
        StateDto::Partial => (Outcome::Partial, format!("Review stopped early: {} kept", findings(found)), cause(now)),
        StateDto::Failed => (Outcome::Failed, "Review failed".to_owned(), cause(now)),
        StateDto::NeedsRecovery => (Outcome::NeedsYou, "Needs you: rollback incomplete".to_owned(), cause(now)),
    };
    let what = if now.title.contains(&now.source) { now.title.clone() } else { format!("{} · {}", now.title, now.source) };
    let body = reason.map_or_else(|| what.clone(), |reason| format!("{what} · {reason}"));
    Some(Notice { task: now.number, title, body: one_line(&body), urgent: outcome == Outcome::NeedsYou, outcome })
}

fn findings(count: u32) -> String {
    if count == 1 { "1 finding".into() } else { format!("{count} findings") }
}

fn unseen(task: &TaskDto) -> String {
    let seen = task.covered.get("reviewed").copied().unwrap_or(0);
    let all: u32 = task.covered.values().sum();
    format!("{seen} of {all} files reviewed, nothing found in them")
}

fn cause(task: &TaskDto) -> Option<String> {
    let error = task.error.as_ref()?;
    Some(format!("{}. {}", error.message.trim_end_matches('.'), error.disk_effect))
}

/// One line without control characters, at most [`BODY_CHARS`] long; what is left out shows as `…`.
fn one_line(text: &str) -> String {
    let mut line: String = text.chars().map(|symbol| if symbol.is_control() { ' ' } else { symbol }).take(BODY_CHARS).collect();
    if text.chars().count() > BODY_CHARS {
        line.push('…');
    }
    line
}

/// Folds a burst of notices into one that counts them.
#[derive(Debug, Default)]
pub struct Folding {
    recent: VecDeque<(Duration, Outcome)>,
}

/// How a notice is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// By itself.
    Alone(Notice),
    /// As the newest of a burst: replaces the burst's earlier summary.
    Folded(Notice),
}

impl Folding {
    /// Takes a notice at `now` on the monotonic clock. The fourth within ten seconds, and each
    /// further one until there was none for ten seconds, becomes a summary of the burst. What
    /// needs the user is never folded.
    pub fn take(&mut self, notice: Notice, now: Duration) -> Shown {
        if self.recent.back().is_none_or(|(last, _)| now.saturating_sub(*last) >= BURST) {
            self.recent.clear();
        } else if self.recent.len() <= ONE_BY_ONE {
            // A burst has not begun yet: only what lies within its time counts.
            self.recent.retain(|(at, _)| now.saturating_sub(*at) < BURST);
        }
        if notice.urgent {
            return Shown::Alone(notice);
        }
        self.recent.push_back((now, notice.outcome));
        if self.recent.len() <= ONE_BY_ONE {
            return Shown::Alone(notice);
        }
        let many = |wanted: &[Outcome], words: &str| {
            let count = self.recent.iter().filter(|(_, outcome)| wanted.contains(outcome)).count();
            (count > 0).then(|| format!("{count} {words}"))
        };
        let parts = [
            many(&[Outcome::Findings], "with findings"),
            many(&[Outcome::Failed], "failed"),
            many(&[Outcome::Partial], "stopped early"),
            many(&[Outcome::Unseen], "not fully reviewed"),
            many(&[Outcome::Clean], "clean"),
        ];
        let body = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
        Shown::Folded(Notice { title: format!("{} reviews finished", self.recent.len()), body, ..notice })
    }
}

#[cfg(test)]
mod tests;

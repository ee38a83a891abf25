//! Words, marks and tables for people.

pub(crate) mod event;
pub(crate) mod table;
pub(crate) mod time;

use anstyle::{AnsiColor, Style};
use st_app::dto::{CountsDto, StateDto, TaskDto};
use st_app::system::SystemClock;

/// Wall-clock time, in milliseconds since 1970.
pub(crate) fn now() -> i64 {
    use st_app::system::Clock as _;
    SystemClock::default().now().0
}

/// Whether nothing more happens to a task by itself.
pub(crate) fn is_at_rest(state: StateDto) -> bool {
    match state {
        StateDto::Done | StateDto::Partial | StateDto::Failed | StateDto::Cancelled => true,
        StateDto::Queued | StateDto::Running | StateDto::Retrying | StateDto::RollingBack | StateDto::NeedsRecovery => false,
    }
}

/// The state's word.
pub(crate) fn state_word(task: &TaskDto) -> &'static str {
    match task.state {
        StateDto::Queued => "queued",
        StateDto::Running => "running",
        StateDto::Retrying => "retrying",
        StateDto::RollingBack => "rolling back",
        StateDto::Done => "done",
        StateDto::Partial => "partial",
        StateDto::Failed => "failed",
        StateDto::Cancelled => "cancelled",
        StateDto::NeedsRecovery => "needs you",
    }
}

/// The state's mark; each state has its own shape, so colour is not needed to tell them apart.
pub(crate) fn state_glyph(state: StateDto) -> &'static str {
    match state {
        StateDto::Queued => "○",
        StateDto::Running => "◐",
        StateDto::Retrying => "↻",
        StateDto::RollingBack => "↶",
        StateDto::Done => "✓",
        StateDto::Partial => "◒",
        StateDto::Failed => "✗",
        StateDto::Cancelled => "–",
        StateDto::NeedsRecovery => "!",
    }
}

/// The state's colour.
pub(crate) fn state_style(state: StateDto) -> Style {
    let color = match state {
        StateDto::Running | StateDto::RollingBack => AnsiColor::Blue,
        StateDto::Done => AnsiColor::Green,
        StateDto::Partial | StateDto::Retrying => AnsiColor::Yellow,
        StateDto::Failed | StateDto::NeedsRecovery => AnsiColor::Red,
        StateDto::Queued | StateDto::Cancelled => return Style::new().dimmed(),
    };
    Style::new().fg_color(Some(color.into()))
}

/// `2 high 1 low`; `–` when there are none.
pub(crate) fn counts_in_words(counts: &CountsDto) -> String {
    let all = [(counts.high, "high"), (counts.medium, "medium"), (counts.low, "low"), (counts.info, "info")];
    let parts: Vec<String> = all.iter().filter(|(number, _)| *number > 0).map(|(number, word)| format!("{number} {word}")).collect();
    if parts.is_empty() { "–".to_owned() } else { parts.join(" ") }
}

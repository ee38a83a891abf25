//! Which OS notification a task's event is worth, and raising it.

use crate::dto::TaskDto;

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
}

/// The notice for a task that just changed from `before`, if it is worth one: one a state edge,
/// none for what the user did themselves (research/ui.md §4.9).
#[must_use]
pub fn notice_for(before: Option<&TaskDto>, now: &TaskDto) -> Option<Notice> {
    todo!("{before:?} {now:?}")
}

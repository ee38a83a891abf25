//! Verbs of the contract that this version does not have yet. They are not offered in the help;
//! who uses one is told so plainly.

use st_app::{ErrorCode, Problem};

/// What each is for.
const VERBS: [(&str, &str); 17] = [
    ("run", "queueing a command as a task"),
    ("agent", "queueing a coding agent"),
    ("fix", "applying one suggested patch"),
    ("diff", "showing a pending change"),
    ("apply", "publishing a pending change"),
    ("discard", "dropping a pending change"),
    ("continue", "going on from a partial or finished task"),
    ("approve", "letting a waiting step pass"),
    ("rollback", "undoing a published change"),
    ("undo-rollback", "undoing a rollback"),
    ("report", "the rollback report"),
    ("cat", "printing a kept version"),
    ("rescue", "putting rescued versions on a branch"),
    ("recover", "deciding what a rollback could not"),
    ("gc", "retention"),
    ("export", "a bundle for a bug report"),
    ("step", "a step inside a task"),
];

/// The words for a verb that the contract knows and this version has not.
pub(crate) fn verb(name: &str) -> Option<Problem> {
    let (verb, purpose) = VERBS.iter().find(|(verb, _)| *verb == name)?;
    Some(Problem::refused(
        ErrorCode::NotBuilt,
        format!("`sidetrack {verb}` ({purpose}) is not part of this version"),
        "Run `sidetrack --help` for the commands that are; a review changes no file, so nothing needs it yet.",
    ))
}

//! Freezing what lies between two commits.

use gix::ObjectId;
use st_model::problem::{ErrorCode, Problem};

use super::draft::{Draft, too_many};
use super::{PinLimits, Pinned, stopped};
use crate::git::history::Compared;
use crate::git::repository::Repository;
use crate::vault::Vault;

/// Freezes the difference of two commits.
pub(super) fn pin(
    vault: &Vault,
    repository: &Repository,
    compared: Compared,
    limits: &PinLimits,
    cancelled: &dyn Fn() -> bool,
) -> Result<Pinned, Problem> {
    let mut draft = Draft::new(vault, limits, &repository.name);
    let Compared { base, head, notes } = compared;
    let words = notes.join("; ");
    for note in notes {
        draft.note(note);
    }
    let trees: (ObjectId, ObjectId) = (repository.tree_of(base)?, repository.tree_of(head)?);
    draft.keep_config(repository, trees.0)?;
    let changes = repository.compare_trees(trees.0, trees.1)?;
    if changes.len() > limits.files.saturating_mul(2) {
        return Err(too_many(&repository.name, limits.files));
    }
    for change in changes {
        if cancelled() {
            return Err(stopped());
        }
        let old = draft.stored(repository, change.old)?;
        let new = draft.stored(repository, change.new)?;
        draft.add(&change.path, old, new)?;
    }
    let (subjects, note) = repository.subjects(Some(base), head);
    draft.set_commits(subjects);
    if let Some(note) = note {
        draft.note(note);
    }
    draft.finish(
        |_| {
            Problem::no_change(
                ErrorCode::NothingToReview,
                format!("nothing differs in `{}`: {words}", repository.name),
                "Check the two revisions with `git log --oneline BASE..HEAD`; give another one to compare with (`--base REV`).",
            )
        },
        cancelled,
    )
}

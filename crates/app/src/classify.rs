//! What a dropped, pasted or typed thing is. One classifier for every way in.

use std::path::Path;

use st_model::review::ReviewSource;

use crate::Problem;

/// Something to review, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classified {
    /// What it is.
    pub source: ReviewSource,
    /// Title for the task.
    pub title: String,
    /// One line for the drop card, such as `uncommitted work of api`.
    pub summary: String,
}

/// Understands `what` in the contract's order: an existing path (patch file, git repository,
/// folder), a pull request's address, `REPO@BASE..HEAD`, a branch of the repository at `cwd`.
/// Looks at the disk, reads at most the first 64 KiB of a file, blocks on nothing (a FIFO is
/// never opened).
///
/// # Errors
/// Why it can't be reviewed, and what could.
pub fn classify(what: &str, cwd: Option<&Path>, base: Option<&str>, forges: &[(String, String)]) -> Result<Classified, Problem> {
    todo!("{what} {cwd:?} {base:?} {forges:?}")
}

/// Whether pasted text looks like a patch, else the address or path in it.
#[must_use]
pub fn looks_like_patch(text: &[u8]) -> bool {
    todo!("{}", text.len())
}

//! From patch text or two versions to hunks.

mod compare;
mod lines;
mod sides;
mod text;

pub use compare::compare;
pub use lines::LineSet;
pub use sides::{SideText, from_blobs, numbered, sides};

use st_model::change::ChangeSet;
use st_model::coverage::CoverageEntry;
use st_model::problem::Problem;

/// A parsed patch: the net change, and the files that could not be read from it.
#[derive(Clone, Debug, Default)]
pub struct ParsedPatch {
    /// The net change.
    pub change: ChangeSet,
    /// Files whose part of the patch is broken: `failed`, with line number and reason.
    pub broken: Vec<CoverageEntry>,
    /// What the user should know, such as "5 commits collapsed to the net change".
    pub notes: Vec<String>,
}

/// Parses git-format and plain unified diffs and mailboxes of several commits; collapses a
/// series to its net change.
///
/// # Errors
/// When the bytes are no patch, a combined diff, or nothing in them can be read.
pub fn parse_patch(bytes: &[u8]) -> Result<ParsedPatch, Problem> {
    todo!("{}", bytes.len())
}

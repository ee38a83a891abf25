//! The net change under review: files, hunks and lines, as bytes.

use serde::{Deserialize, Serialize};

use crate::path::RepoPath;
use crate::version::FileMode;

/// The net change of a patch, a branch or uncommitted work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeSet {
    /// One entry a changed file, in the order of the source.
    pub files: Vec<FileChange>,
    /// Subject lines of the commits the change was collapsed from, oldest first; empty for a plain diff.
    pub commits: Vec<String>,
}

impl ChangeSet {
    /// Number of added and removed lines over all files.
    #[must_use]
    pub fn line_counts(&self) -> (u64, u64) {
        self.files.iter().map(FileChange::line_counts).fold((0, 0), |sum, next| (sum.0 + next.0, sum.1 + next.1))
    }
}

/// What happened to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// What happened.
    pub status: ChangeStatus,
    /// Path before; equal to `path` unless renamed or copied.
    pub old_path: RepoPath,
    /// Path after; for a deleted file, its path before.
    pub path: RepoPath,
    /// Mode before, when the source says it.
    pub old_mode: Option<FileMode>,
    /// Mode after, when the source says it.
    pub new_mode: Option<FileMode>,
    /// What the change's bytes are.
    pub body: ChangeBody,
}

impl FileChange {
    /// Number of added and removed lines.
    #[must_use]
    pub fn line_counts(&self) -> (u64, u64) {
        let ChangeBody::Text { hunks } = &self.body else { return (0, 0) };
        hunks.iter().flat_map(|hunk| &hunk.lines).fold((0, 0), |(added, removed), line| match line.kind {
            LineKind::Added => (added + 1, removed),
            LineKind::Removed => (added, removed + 1),
            LineKind::Context => (added, removed),
        })
    }
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeStatus {
    /// New file.
    Added,
    /// Removed file.
    Deleted,
    /// Same path, other bytes or mode.
    Modified,
    /// Moved, with or without edit.
    Renamed,
    /// Copied, with or without edit.
    Copied,
    /// File, symlink and submodule swapped.
    TypeChanged,
}

/// The bytes of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeBody {
    /// Lines.
    Text {
        /// In order, not overlapping.
        hunks: Vec<Hunk>,
    },
    /// Binary; sizes in bytes when known.
    Binary {
        /// Size before.
        old_size: Option<u64>,
        /// Size after.
        new_size: Option<u64>,
    },
    /// A submodule moved from one commit to another.
    Submodule {
        /// Commit before, hexadecimal.
        old: Option<String>,
        /// Commit after, hexadecimal.
        new: Option<String>,
    },
    /// Nothing but the header: a pure rename, a mode change, an empty file.
    Empty,
}

/// A run of lines. Line numbers count from 1; a side with no lines has `start` as git writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// First line on the old side.
    pub old_start: u32,
    /// Lines on the old side.
    pub old_lines: u32,
    /// First line on the new side.
    pub new_start: u32,
    /// Lines on the new side.
    pub new_lines: u32,
    /// Text after the second `@@`.
    pub section: Vec<u8>,
    /// The lines.
    pub lines: Vec<DiffLine>,
}

/// One line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffLine {
    /// Which side it is on.
    pub kind: LineKind,
    /// The bytes without the line ending.
    pub text: Vec<u8>,
    /// How the line ends.
    pub ending: LineEnding,
}

/// Which side a line is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineKind {
    /// On both sides.
    Context,
    /// Only on the new side.
    Added,
    /// Only on the old side.
    Removed,
}

/// How a line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineEnding {
    /// `\n`
    Lf,
    /// `\r\n`
    CrLf,
    /// End of file without a line ending.
    None,
}

//! What is reviewed: the source a user named, and the pinned bytes a worker gets.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::change::ChangeStatus;
use crate::coverage::CoverageEntry;
use crate::path::RepoPath;
use crate::version::{BlobId, VersionPointer};

/// Where a review's change comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum ReviewSource {
    /// Patch text that was piped or pasted; kept in the vault at submit, since it exists nowhere else.
    Text {
        /// The bytes.
        blob: BlobId,
        /// What to call it, such as `stdin` or `pasted text`.
        label: String,
    },
    /// A `.patch` or `.diff` file, absolute.
    PatchFile {
        /// The file.
        #[serde(with = "crate::path::os_path")]
        path: PathBuf,
    },
    /// Uncommitted work of a repository: HEAD against the working tree, untracked files included.
    Uncommitted {
        /// The work tree's top folder, absolute.
        #[serde(with = "crate::path::os_path")]
        repo: PathBuf,
    },
    /// `BASE..HEAD` of a repository.
    Range {
        /// The repository.
        #[serde(with = "crate::path::os_path")]
        repo: PathBuf,
        /// Revision before.
        base: String,
        /// Revision after.
        head: String,
    },
    /// A branch against its merge base with the default branch, or with `base`.
    Branch {
        /// The repository.
        #[serde(with = "crate::path::os_path")]
        repo: PathBuf,
        /// The branch.
        branch: String,
        /// What it is compared with; the default branch when unset.
        base: Option<String>,
    },
    /// A folder that is no repository: every file counts as added.
    Folder {
        /// The folder, absolute.
        #[serde(with = "crate::path::os_path")]
        path: PathBuf,
    },
    /// A pull or merge request's address.
    Link {
        /// The address as given.
        url: String,
    },
}

/// The runner that does the thinking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunnerName {
    /// Built-in rules: no key, no network.
    #[default]
    Rules,
}

impl RunnerName {
    /// The name as users write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rules => "rules",
        }
    }
}

/// A review's frozen input. Blobs lie beside the manifest as `blobs/ID`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum PinnedInput {
    /// Patch text, still to be parsed (in the worker: a hostile patch breaks only itself).
    Patch {
        /// The bytes.
        blob: BlobId,
    },
    /// Pairs of file versions, still to be compared.
    Files {
        /// The changed files.
        files: Vec<PinnedFile>,
        /// Commit subjects, oldest first.
        commits: Vec<String>,
    },
}

/// Both versions of one changed file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedFile {
    /// What happened to the file.
    pub status: ChangeStatus,
    /// Path before.
    pub old_path: RepoPath,
    /// Path after.
    pub path: RepoPath,
    /// Version before. A submodule's blob id is its commit and has no bytes.
    pub old: VersionPointer,
    /// Version after.
    pub new: VersionPointer,
}

/// Everything a review's worker is told: the pinned input and nothing that names the repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewJob {
    /// The change.
    pub input: PinnedInput,
    /// `.sidetrack.toml` of the base revision, when there is one.
    pub config: Option<BlobId>,
    /// Files already decided while pinning (too large, moved under the reader).
    pub decided: Vec<CoverageEntry>,
    /// Instructions of the user, for runners that read any.
    pub instructions: Option<String>,
    /// The runner.
    pub runner: RunnerName,
}

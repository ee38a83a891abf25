//! The first phase: freezing what is reviewed and laying it out for the worker.
//!
//! What was frozen is kept beside the attempts until the task rests, so that an attempt after a
//! crash reviews the same content, whatever was edited meanwhile.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use st_model::path::RepoPath;
use st_model::problem::{ErrorCode, Problem};
use st_model::review::{PinnedInput, ReviewJob, ReviewSource, RunnerName};
use st_model::version::BlobId;
use st_vault::{PinLimits, Vault};

use crate::data_dir::{AttemptDir, gone, io_error, write_whole};
use crate::error::EngineError;
use crate::words;

/// A task's frozen content.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Frozen {
    pub(super) job: ReviewJob,
    /// Every blob the worker needs.
    blobs: BTreeSet<BlobId>,
    /// What the user should know.
    pub(super) notes: Vec<String>,
}

impl Frozen {
    /// Freezes `source`; blocks.
    pub(super) fn freeze(
        vault: &Vault,
        source: &ReviewSource,
        runner: RunnerName,
        instructions: Option<String>,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Self, Problem> {
        let pinned = st_vault::pin(vault, source, &PinLimits::default(), cancelled)?;
        let job = ReviewJob { input: pinned.input, config: pinned.config, decided: pinned.decided, instructions, runner };
        Ok(Self { job, blobs: pinned.blobs.into_iter().chain(pinned.config).collect(), notes: pinned.notes })
    }

    /// What an earlier attempt froze, if it did and the vault still has all of it.
    pub(super) fn kept(path: &Path, vault: &Vault) -> Option<Self> {
        let frozen: Self = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        frozen.blobs.iter().all(|blob| vault.contains(*blob)).then_some(frozen)
    }

    /// Keeps it for later attempts.
    pub(super) fn keep(&self, path: &Path) -> Result<(), Problem> {
        encode(self).and_then(|bytes| write_whole(path, &bytes)).map_err(|error| words::of_engine(&error))
    }

    /// Lays it out in an attempt's work folder; blocks. Stops early, with whatever is there, when cancelled.
    pub(super) fn lay_out(&self, vault: &Vault, dir: &AttemptDir, cancelled: &dyn Fn() -> bool) -> Result<(), Problem> {
        let lay = || {
            for blob in &self.blobs {
                if cancelled() {
                    return Ok(());
                }
                vault.export(*blob, &dir.blobs().join(blob.to_string()))?;
            }
            write_whole(&dir.job(), &encode(&self.job)?)
        };
        lay().map_err(|error| words::of_engine(&error))
    }

    /// The paths that will each have a line in the ledger; `None` when a patch has still to be parsed.
    pub(super) fn files(&self) -> Option<Vec<RepoPath>> {
        match &self.job.input {
            PinnedInput::Patch { .. } => None,
            PinnedInput::Files { files, .. } => {
                let decided = self.job.decided.iter().map(|entry| entry.file.clone());
                let paths: BTreeSet<RepoPath> = files.iter().map(|file| file.path.clone()).chain(decided).collect();
                Some(paths.into_iter().collect())
            }
        }
    }
}

fn encode(value: &impl Serialize) -> Result<Vec<u8>, EngineError> {
    serde_json::to_vec(value).map_err(|error| {
        EngineError::Refused(Problem::no_change(
            ErrorCode::Internal,
            format!("the pinned content can't be written down: {error}"),
            "Report this with the task's log.",
        ))
    })
}

/// Forgets what a task froze; it rests.
pub(super) fn forget(path: &Path) {
    if let Err(error) = gone(fs::remove_file(path)).map_err(io_error("remove", path)) {
        tracing::warn!(error = words::chain(&error), "failed to forget pinned content");
    }
}

//! Freezing the content of a review: stat, copy, stat again.

use std::path::Path;

use st_model::coverage::CoverageEntry;
use st_model::problem::Problem;
use st_model::review::{PinnedInput, ReviewSource};
use st_model::version::BlobId;

use crate::vault::Vault;

/// Bounds on what one review takes; what lies above them is refused or listed, never cut silently.
#[derive(Clone, Copy, Debug)]
pub struct PinLimits {
    /// Largest patch, in bytes.
    pub patch_bytes: u64,
    /// Largest single file, in bytes; a larger one is `skipped(too_large)`.
    pub file_bytes: u64,
    /// Most changed files.
    pub files: usize,
    /// Most bytes over all files.
    pub total_bytes: u64,
}

impl Default for PinLimits {
    /// 64 MiB of patch, 2 MiB a file, 20,000 files, 512 MiB in all.
    fn default() -> Self {
        Self { patch_bytes: 64 << 20, file_bytes: 2 << 20, files: 20_000, total_bytes: 512 << 20 }
    }
}

/// Frozen content.
#[derive(Clone, Debug)]
pub struct Pinned {
    /// What the worker gets.
    pub input: PinnedInput,
    /// `.sidetrack.toml` of the base revision.
    pub config: Option<BlobId>,
    /// Files decided while pinning.
    pub decided: Vec<CoverageEntry>,
    /// Every blob the input names, to be exported for the worker.
    pub blobs: Vec<BlobId>,
    /// What the user should know, such as "compared with merge base 3f2c1a of `main`".
    pub notes: Vec<String>,
}

/// Freezes what `source` names into `vault`. Reads only; blocks; `cancelled` is asked between files.
///
/// A link can't be pinned here: its patch is fetched first and pinned as text.
///
/// # Errors
/// A [`Problem`] that says what was wrong with the source and what to do.
pub fn pin(vault: &Vault, source: &ReviewSource, limits: &PinLimits, cancelled: &dyn Fn() -> bool) -> Result<Pinned, Problem> {
    let _ = (vault, source, limits, cancelled);
    let _: Option<&Path> = None;
    todo!()
}

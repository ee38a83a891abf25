//! Freezing the content of a review: stat, copy, stat again.

use std::error::Error;
use std::path::{Path, PathBuf};

use st_model::coverage::CoverageEntry;
use st_model::problem::{ErrorCode, Problem};
use st_model::review::{PinnedInput, ReviewSource};
use st_model::version::BlobId;

use crate::error::VaultError;
use crate::git::repository::Repository;
use crate::git::settings::UserSettings;
use crate::vault::Vault;

mod commits;
mod draft;
mod folder;
mod patch;
mod rename;
mod rounds;
mod uncommitted;

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
    let env = |name: &str| std::env::var_os(name);
    let surroundings = Surroundings { home: std::env::home_dir(), user: UserSettings::load(&env) };
    pin_in(&surroundings, vault, source, limits, cancelled)
}

/// What is outside the source and still decides: passed in, so that tests stand on their own.
#[derive(Debug, Default)]
struct Surroundings {
    home: Option<PathBuf>,
    user: UserSettings,
}

fn pin_in(
    around: &Surroundings,
    vault: &Vault,
    source: &ReviewSource,
    limits: &PinLimits,
    cancelled: &dyn Fn() -> bool,
) -> Result<Pinned, Problem> {
    let allowed = |root: &Path| refuse_root(root, around.home.as_deref(), vault.root());
    let open = |folder: &Path| {
        allowed(folder)?;
        let repository = Repository::open(folder, &around.user)?;
        repository.top.as_deref().map_or(Ok(()), allowed)?;
        Ok::<_, Problem>(repository)
    };
    match source {
        ReviewSource::Text { blob, label } => patch::pin_text(vault, *blob, label, limits),
        ReviewSource::PatchFile { path } => patch::pin_file(vault, path, limits, cancelled),
        ReviewSource::Uncommitted { repo } => uncommitted::pin(vault, &open(repo)?, limits, cancelled),
        ReviewSource::Range { repo, base, head } => {
            let repository = open(repo)?;
            let compared = repository.range(base, head)?;
            commits::pin(vault, &repository, compared, limits, cancelled)
        }
        ReviewSource::Branch { repo, branch, base } => {
            let repository = open(repo)?;
            let compared = repository.since_merge_base(branch, base.as_deref())?;
            commits::pin(vault, &repository, compared, limits, cancelled)
        }
        ReviewSource::Folder { path } => {
            allowed(path)?;
            folder::pin(vault, path, limits, cancelled)
        }
        ReviewSource::Link { url } => Err(Problem::no_change(
            ErrorCode::Internal,
            format!("`{url}` was to be pinned before its patch was fetched"),
            "Download the patch and submit the file.",
        )),
    }
}

/// Refuses a folder that is never taken as a root: `/`, the home folder, and whatever holds the
/// data directory (or is it).
///
/// # Errors
/// A [`Problem`] with [`ErrorCode::RefusedRoot`].
pub fn refuse_root(path: &Path, home: Option<&Path>, data_dir: &Path) -> Result<(), Problem> {
    let plain = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (root, data_dir) = (plain(path), plain(data_dir));
    let why = if root.parent().is_none() {
        "it is the root of the file system"
    } else if home.is_some_and(|home| plain(home) == root) {
        "it is your home folder"
    } else if data_dir.starts_with(&root) {
        "it holds the folder in which tasks are kept"
    } else {
        return Ok(());
    };
    Err(Problem::no_change(
        ErrorCode::RefusedRoot,
        format!("`{}` is not reviewed as a whole: {why}", path.display()),
        "Submit the project's own folder inside it.",
    )
    .or("Submit a patch: `git diff | sidetrack review -`."))
}

/// What a cancelled pin answers; whoever cancelled knows better why.
pub(crate) fn stopped() -> Problem {
    Problem::no_change(ErrorCode::Refused, "stopped while its content was being pinned", "Run the review again.")
}

/// A failure of the vault itself, in a user's words.
fn storage(error: &VaultError) -> Problem {
    if error.is_disk_full() {
        return Problem::no_change(
            ErrorCode::DiskFull,
            chain(error),
            "Make room on the disk that holds the data directory, then run the review again.",
        );
    }
    Problem::no_change(
        ErrorCode::Storage,
        chain(error),
        "Check the data directory's permissions and disk (`sidetrack doctor` shows where it is), then run the review again.",
    )
}

/// An error with all its causes, on one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

/// Names for people: the first ten, and how many more there are.
fn listed(names: &[String]) -> String {
    let shown = names.iter().take(10).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if names.len() > 10 { format!("{shown} and {} more", names.len() - 10) } else { shown }
}

/// A size for people.
fn megabytes(bytes: u64) -> String {
    let tenths = bytes.saturating_mul(10) >> 20;
    format!("{}.{} MiB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests;

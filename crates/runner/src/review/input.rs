//! The pinned input: the job's manifest and its blobs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use st_model::change::FileChange;
use st_model::coverage::{CoverageEntry, CoverageStatus, SkipReason};
use st_model::path::RepoPath;
use st_model::problem::{ErrorCode, Problem};
use st_model::retry::FailureClass;
use st_model::review::{PinnedFile, PinnedInput, ReviewJob};
use st_model::version::{BlobId, FileMode, VersionPointer};

use crate::diff;
use crate::rules::FileInput;

/// Largest blob that is read into memory, 64 MiB; pinning stops far below.
const MAX_BLOB_BYTES: u64 = 64 * 1024 * 1024;

/// The files under review.
pub(super) struct Input {
    dir: PathBuf,
    config: Option<BlobId>,
    files: Files,
    /// Files that were decided before the review came to them.
    pub(super) settled: Vec<CoverageEntry>,
    /// For the log.
    pub(super) notes: Vec<String>,
}

enum Files {
    Patch(Vec<FileChange>),
    Pinned(Vec<PinnedFile>),
}

/// A file with its bytes in memory.
pub(super) struct Loaded<'a> {
    change: std::borrow::Cow<'a, FileChange>,
    old: Option<Vec<u8>>,
    new: Option<Vec<u8>>,
    old_version: Option<VersionPointer>,
    new_version: Option<VersionPointer>,
}

impl Loaded<'_> {
    /// As the rules take it.
    pub(super) fn input(&self) -> FileInput<'_> {
        FileInput {
            change: &self.change,
            old: self.old.as_deref(),
            new: self.new.as_deref(),
            old_version: self.old_version,
            new_version: self.new_version,
        }
    }

    /// The change.
    pub(super) fn change(&self) -> &FileChange {
        &self.change
    }
}

impl Input {
    /// Reads the manifest, and parses the patch if it is one.
    pub(super) fn read(dir: &Path) -> Result<Self, (FailureClass, Problem)> {
        let path = dir.join("job.json");
        let broken = |what: String| {
            let problem = Problem::no_change(ErrorCode::Internal, what, "Run the review again.")
                .or("Report this, with the task's log, if it comes back.");
            (FailureClass::Infrastructure, problem)
        };
        let text = fs::read(&path).map_err(|error| broken(format!("The review's manifest could not be read: {error}")))?;
        let job: ReviewJob =
            serde_json::from_slice(&text).map_err(|error| broken(format!("The review's manifest is not understood: {error}")))?;
        let mut input =
            Self { dir: dir.to_owned(), config: job.config, files: Files::Pinned(Vec::new()), settled: job.decided, notes: Vec::new() };
        match job.input {
            PinnedInput::Patch { blob } => {
                let bytes =
                    fs::read(input.blob_path(blob)).map_err(|error| broken(format!("The pinned patch could not be read: {error}")))?;
                let parsed = diff::parse_patch(&bytes).map_err(|problem| (FailureClass::Permanent, problem))?;
                input.files = Files::Patch(parsed.change.files);
                input.settled.extend(parsed.broken);
                input.notes = parsed.notes;
            }
            PinnedInput::Files { files, .. } => input.files = Files::Pinned(files),
        }
        if input.len() == 0 && input.settled.is_empty() {
            let problem = Problem::no_change(
                ErrorCode::NothingToReview,
                "There is no changed file to review",
                "Name a source that changes something.",
            );
            return Err((FailureClass::Permanent, problem));
        }
        Ok(input)
    }

    /// Number of files to review.
    pub(super) fn len(&self) -> usize {
        match &self.files {
            Files::Patch(files) => files.len(),
            Files::Pinned(files) => files.len(),
        }
    }

    /// A file's path.
    pub(super) fn path(&self, index: usize) -> &RepoPath {
        match &self.files {
            Files::Patch(files) => &files[index].path,
            Files::Pinned(files) => &files[index].path,
        }
    }

    /// The repository's configuration.
    pub(super) fn config(&self) -> io::Result<Option<Vec<u8>>> {
        self.config.map(|blob| fs::read(self.blob_path(blob))).transpose()
    }

    /// A file's change and bytes; what became of it when they are not to be had.
    pub(super) fn load(&self, index: usize) -> Result<Loaded<'_>, CoverageStatus> {
        match &self.files {
            Files::Patch(files) => {
                Ok(Loaded { change: std::borrow::Cow::Borrowed(&files[index]), old: None, new: None, old_version: None, new_version: None })
            }
            Files::Pinned(files) => {
                let pinned = &files[index];
                let (old, new) = (self.bytes(&pinned.old)?, self.bytes(&pinned.new)?);
                let change = diff::from_blobs(pinned, old.as_deref(), new.as_deref());
                Ok(Loaded {
                    change: std::borrow::Cow::Owned(change),
                    old,
                    new,
                    old_version: Some(pinned.old),
                    new_version: Some(pinned.new),
                })
            }
        }
    }

    fn bytes(&self, version: &VersionPointer) -> Result<Option<Vec<u8>>, CoverageStatus> {
        let VersionPointer::Present { blob, mode } = version else { return Ok(None) };
        if *mode == FileMode::Gitlink {
            return Ok(None);
        }
        let path = self.blob_path(*blob);
        let missing = |error: io::Error| CoverageStatus::Failed(format!("its pinned version {blob} could not be read: {error}"));
        if fs::metadata(&path).map_err(missing)?.len() > MAX_BLOB_BYTES {
            return Err(CoverageStatus::Skipped(SkipReason::TooLarge));
        }
        fs::read(&path).map(Some).map_err(missing)
    }

    fn blob_path(&self, blob: BlobId) -> PathBuf {
        self.dir.join("blobs").join(blob.to_string())
    }
}

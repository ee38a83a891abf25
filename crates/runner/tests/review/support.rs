//! Builds a review's folder and collects what the review says.

use std::fs;
use std::path::Path;

use sha1::{Digest as _, Sha1};
use st_model::broker::{LogLevel, WorkerEnd};
use st_model::change::ChangeStatus;
use st_model::coverage::{CoverageEntry, CoverageStatus};
use st_model::event::Progress;
use st_model::finding::Finding;
use st_model::path::RepoPath;
use st_model::port::Clock;
use st_model::review::{PinnedFile, PinnedInput, ReviewJob, RunnerName};
use st_model::version::{BlobId, FileMode, VersionPointer};
use st_runner::review::{Sink, run, run_with};
use tempfile::TempDir;

/// What a review said, in order.
#[derive(Clone, Debug)]
pub(crate) enum Said {
    Progress(Progress),
    Log(#[allow(dead_code, reason = "shown when a test fails")] LogLevel, String),
    Finding(Box<Finding>),
    Covered(CoverageEntry),
}

/// A review's folder.
pub(crate) struct Folder {
    dir: TempDir,
    files: Vec<PinnedFile>,
    config: Option<BlobId>,
}

/// A review that has run.
pub(crate) struct Outcome {
    pub(crate) end: WorkerEnd,
    pub(crate) said: Vec<Said>,
}

struct Collector(Vec<Said>);

impl Sink for Collector {
    fn progress(&mut self, progress: Progress) {
        self.0.push(Said::Progress(progress));
    }
    fn log(&mut self, level: LogLevel, text: &str) {
        self.0.push(Said::Log(level, text.to_owned()));
    }
    fn finding(&mut self, finding: Finding) {
        self.0.push(Said::Finding(Box::new(finding)));
    }
    fn covered(&mut self, entry: CoverageEntry) {
        self.0.push(Said::Covered(entry));
    }
}

impl Outcome {
    pub(crate) fn findings(&self) -> Vec<&Finding> {
        self.said.iter().filter_map(|said| if let Said::Finding(finding) = said { Some(finding.as_ref()) } else { None }).collect()
    }

    pub(crate) fn rules(&self) -> Vec<&str> {
        self.findings().iter().map(|finding| finding.rule.as_str()).collect()
    }

    pub(crate) fn ledger(&self) -> Vec<(String, CoverageStatus)> {
        self.said
            .iter()
            .filter_map(|said| if let Said::Covered(entry) = said { Some((entry.file.lossy(), entry.status.clone())) } else { None })
            .collect()
    }

    pub(crate) fn log(&self) -> String {
        self.said.iter().filter_map(|said| if let Said::Log(_, text) = said { Some(format!("{text}\n")) } else { None }).collect()
    }
}

pub(crate) fn path(text: &str) -> RepoPath {
    RepoPath::parse(text.as_bytes()).unwrap()
}

impl Folder {
    pub(crate) fn new() -> Self {
        let dir = TempDir::new().unwrap();
        fs::create_dir(dir.path().join("blobs")).unwrap();
        Self { dir, files: Vec::new(), config: None }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn blob(&self, bytes: &[u8]) -> BlobId {
        let mut hash = Sha1::new();
        hash.update(format!("blob {}\0", bytes.len()));
        hash.update(bytes);
        let id = BlobId(hash.finalize().into());
        fs::write(self.dir.path().join("blobs").join(id.to_string()), bytes).unwrap();
        id
    }

    pub(crate) fn config(mut self, text: &str) -> Self {
        self.config = Some(self.blob(text.as_bytes()));
        self
    }

    pub(crate) fn file(self, name: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Self {
        self.moved(name, name, old, new, FileMode::Regular)
    }

    pub(crate) fn moved(mut self, old_name: &str, name: &str, old: Option<&[u8]>, new: Option<&[u8]>, mode: FileMode) -> Self {
        let version = |bytes: Option<&[u8]>| match bytes {
            Some(bytes) => VersionPointer::Present { blob: self.blob(bytes), mode },
            None => VersionPointer::Absent,
        };
        let status = match (old, new) {
            (None, _) => ChangeStatus::Added,
            (_, None) => ChangeStatus::Deleted,
            _ if old_name != name => ChangeStatus::Renamed,
            _ => ChangeStatus::Modified,
        };
        let pinned = PinnedFile { status, old_path: path(old_name), path: path(name), old: version(old), new: version(new) };
        self.files.push(pinned);
        self
    }

    pub(crate) fn submodule(mut self, name: &str) -> Self {
        let version = |byte| VersionPointer::Present { blob: BlobId([byte; 20]), mode: FileMode::Gitlink };
        let pinned =
            PinnedFile { status: ChangeStatus::Modified, old_path: path(name), path: path(name), old: version(1), new: version(2) };
        self.files.push(pinned);
        self
    }

    fn job(&self, input: PinnedInput) -> ReviewJob {
        ReviewJob { input, config: self.config, decided: Vec::new(), instructions: None, runner: RunnerName::Rules }
    }

    pub(crate) fn review(&self) -> Outcome {
        self.run(&self.job(PinnedInput::Files { files: self.files.clone(), commits: Vec::new() }))
    }

    pub(crate) fn review_patch(&self, patch: &[u8]) -> Outcome {
        self.run(&self.job(PinnedInput::Patch { blob: self.blob(patch) }))
    }

    pub(crate) fn review_by(&self, clock: &dyn Clock) -> Outcome {
        let job = self.job(PinnedInput::Files { files: self.files.clone(), commits: Vec::new() });
        fs::write(self.dir.path().join("job.json"), serde_json::to_vec(&job).unwrap()).unwrap();
        let mut collector = Collector(Vec::new());
        let end = run_with(self.dir.path(), &mut collector, clock);
        Outcome { end, said: collector.0 }
    }

    fn run(&self, job: &ReviewJob) -> Outcome {
        fs::write(self.dir.path().join("job.json"), serde_json::to_vec(job).unwrap()).unwrap();
        run_in(self.dir.path())
    }
}

pub(crate) fn run_in(dir: &Path) -> Outcome {
    let mut collector = Collector(Vec::new());
    let end = run(dir, &mut collector);
    Outcome { end, said: collector.0 }
}

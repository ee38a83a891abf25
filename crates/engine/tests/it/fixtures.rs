//! An engine on a folder of its own, scripts for its workers, and waiting for what happens.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{CWD, FileType, Mode};
use st_engine::{Engine, EngineConfig};
use st_model::broker::{BrokerMessage, WorkerEnd};
use st_model::claim::ClaimSet;
use st_model::coverage::{CoverageEntry, CoverageStatus};
use st_model::event::{Event, EventKind};
use st_model::finding::{Anchor, Finding, FindingStatus, Severity, Side};
use st_model::id::{EventSeq, TaskId, TaskRef};
use st_model::path::RepoPath;
use st_model::port::{Clock, Random};
use st_model::retry::RetryPolicy;
use st_model::review::{ReviewSource, RunnerName};
use st_model::state::RestState;
use st_model::state::TaskState;
use st_model::task::{Limits, NewTask, Priority, Task, TaskContext, TaskKind};
use st_model::time::Timestamp;
use st_store::Queue as _;
use uuid::Uuid;

use crate::worker::{self, Step};

pub(crate) const PATCH: &[u8] = b"diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n";

/// Longest wait of a test for something that should happen within moments.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct RealClock(Instant);

impl RealClock {
    #[expect(clippy::disallowed_methods, reason = "tests with real processes run in real time")]
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Instant::now()))
    }
}

impl Clock for RealClock {
    #[expect(clippy::disallowed_methods, reason = "tests with real processes run in real time")]
    fn now(&self) -> Timestamp {
        Timestamp(i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap())
    }

    fn monotonic(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Real ids, and a jitter of one half.
#[derive(Debug)]
pub(crate) struct Ids;

impl Random for Ids {
    fn uuid(&self) -> Uuid {
        Uuid::now_v7()
    }

    fn unit(&self) -> f64 {
        0.5
    }
}

pub(crate) fn config(data_dir: &Path, slots: usize) -> EngineConfig {
    EngineConfig {
        data_dir: data_dir.to_owned(),
        worker_program: std::env::current_exe().unwrap(),
        worker_args: worker::args(),
        slots: Some(slots),
        clock: RealClock::new(),
        random: Arc::new(Ids),
    }
}

/// An engine, and a folder for markers and FIFOs beside its data.
pub(crate) struct Bench {
    pub(crate) engine: Engine,
    pub(crate) folder: tempfile::TempDir,
}

impl Bench {
    pub(crate) async fn new(slots: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::start(config(&folder.path().join("data"), slots)).await.unwrap();
        Self { engine, folder }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn fifo(&self, name: &str) -> PathBuf {
        fifo(&self.path(name))
    }

    /// Ends the engine and starts another on the same data.
    pub(crate) async fn restarted(self, now: bool) -> Self {
        self.engine.stop(now).await;
        let engine = Engine::start(config(&self.data(), 1)).await.unwrap();
        Self { engine, folder: self.folder }
    }

    pub(crate) fn task(&self, steps: &[Step]) -> NewTask {
        let blob = self.engine.vault().put(PATCH).unwrap();
        scripted(ReviewSource::Text { blob, label: "test".into() }, steps)
    }

    pub(crate) async fn submit(&self, steps: &[Step]) -> Task {
        self.engine.submit(self.task(steps)).await.unwrap()
    }

    /// Submits and waits for the task's rest.
    pub(crate) async fn run(&self, steps: &[Step]) -> (Task, RestState) {
        let task = self.submit(steps).await;
        self.rest(task.id).await
    }

    pub(crate) async fn rest(&self, task: TaskId) -> (Task, RestState) {
        let task = self.until(task, |task| task.state.is_at_rest()).await;
        let TaskState::Resting { rest } = task.state.clone() else { unreachable!() };
        (task, rest)
    }

    /// Waits until the task is as wished.
    pub(crate) async fn until(&self, task: TaskId, wish: impl Fn(&Task) -> bool) -> Task {
        let mut events = self.engine.store().subscribe();
        let waiting = async {
            loop {
                let now = self.engine.store().task(TaskRef::Id(task)).await.unwrap();
                if wish(&now) {
                    return now;
                }
                // One that lags has missed something, and so looks again at once.
                let _ = events.recv().await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.expect("it did not come to pass")
    }

    /// The events of a task so far.
    pub(crate) async fn events(&self, task: TaskId) -> Vec<Event> {
        self.engine.store().events(EventSeq(0), Some(task), 10_000).await.unwrap()
    }

    pub(crate) async fn log(&self, task: TaskId) -> String {
        let path = self.engine.log_path(TaskRef::Id(task), None).await.unwrap().unwrap();
        std::fs::read_to_string(path).unwrap()
    }

    /// Waits until a file is there, by way of the kernel's word for it.
    pub(crate) async fn written(&self, name: &str) -> String {
        let path = self.path(name);
        let waiting = async {
            loop {
                if let Ok(text) = std::fs::read_to_string(&path) {
                    return text;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.expect("the file did not come")
    }
}

pub(crate) fn fifo(path: &Path) -> PathBuf {
    rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap();
    path.to_owned()
}

/// Lets a worker go on that waits at a FIFO.
pub(crate) async fn let_go(fifo: PathBuf) {
    tokio::task::spawn_blocking(move || std::fs::write(fifo, b"go")).await.unwrap().unwrap();
}

pub(crate) fn scripted(source: ReviewSource, steps: &[Step]) -> NewTask {
    NewTask {
        id: TaskId(Uuid::now_v7()),
        title: "scripted".into(),
        kind: TaskKind::Review { source, runner: RunnerName::Rules },
        context: TaskContext { instructions: Some(serde_json::to_string(steps).unwrap()), ..TaskContext::default() },
        claims: ClaimSet::default(),
        priority: Priority::Normal,
        limits: Limits { retry: RetryPolicy { base: Duration::from_millis(2), ..RetryPolicy::default() }, ..Limits::default() },
        rerun_of: None,
    }
}

pub(crate) fn finding(number: u32) -> Step {
    Step::Say(BrokerMessage::Finding {
        finding: Box::new(Finding {
            id: 0,
            file: RepoPath::parse(b"a.txt").unwrap(),
            old_file: None,
            side: Side::New,
            start_line: 1,
            end_line: 1,
            severity: Severity::Medium,
            rule: "test.rule".into(),
            title: format!("finding {number}"),
            body: String::new(),
            quote: "two".into(),
            anchor: Anchor::Exact,
            suggestion: None,
            base: None,
            runner: "rules".into(),
            confidence: 1.0,
            cwe: None,
            fingerprint: format!("f{number}"),
            status: FindingStatus::New,
        }),
    })
}

pub(crate) fn covered(file: &str) -> Step {
    let file = RepoPath::parse(file.as_bytes()).unwrap();
    Step::Say(BrokerMessage::Covered { entry: CoverageEntry { file, status: CoverageStatus::Reviewed } })
}

pub(crate) fn done() -> Step {
    Step::Say(BrokerMessage::Ended { ended: WorkerEnd::Done })
}

/// Whether a process with this number is there and no zombie.
pub(crate) fn is_alive(pid: &str) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())) else { return false };
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// Names of a task's events, in order.
pub(crate) fn names(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(|event| event.kind.name()).collect()
}

pub(crate) fn has_finding(events: &[Event]) -> bool {
    events.iter().any(|event| matches!(event.kind, EventKind::Finding { .. }))
}

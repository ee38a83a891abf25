//! Stores in temporary folders, and tasks to put into them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};
use st_model::claim::ClaimSet;
use st_model::coverage::{CoverageEntry, CoverageStatus};
use st_model::finding::{Anchor, Finding, FindingStatus, Severity, Side, Suggestion};
use st_model::id::{BootId, TaskId};
use st_model::path::RepoPath;
use st_model::port::testing::{Counting, ManualClock};
use st_model::problem::{ErrorCode, Problem};
use st_model::review::{ReviewSource, RunnerName};
use st_model::task::{Limits, NewTask, Priority, TaskContext, TaskKind, Turn};
use st_store::{Store, StoreOptions};
use tempfile::TempDir;
use uuid::Uuid;

/// When every test's clock starts.
pub(crate) const START: i64 = 1_796_032_138_007;

/// A store in its own folder, and the clock it reads.
pub(crate) struct Fixture {
    pub(crate) store: Store,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) folder: TempDir,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(START));
        let store = open(folder.path().join("queue.db"), clock.clone()).await;
        Self { store, clock, folder }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("queue.db")
    }
}

pub(crate) fn options(path: PathBuf, clock: Arc<ManualClock>) -> StoreOptions {
    StoreOptions { path, clock, random: Arc::new(Counting::default()) }
}

pub(crate) async fn open(path: PathBuf, clock: Arc<ManualClock>) -> Store {
    Store::open(options(path, clock)).await.unwrap()
}

pub(crate) fn boot(number: u128) -> BootId {
    BootId(Uuid::from_u128(0xb007_0000 + number))
}

/// A task with something in every field.
pub(crate) fn new_task(number: u128) -> NewTask {
    NewTask {
        id: TaskId(Uuid::from_u128(0x7a5c_0000 + number)),
        title: format!("Review of patch {number}, with \u{201c}quotes\u{201d}, \\u0000 and \0"),
        kind: TaskKind::Review { source: ReviewSource::PatchFile { path: "/tmp/some.patch".into() }, runner: RunnerName::Rules },
        context: TaskContext {
            files: Vec::new(),
            instructions: Some("Look at the locks.".into()),
            conversation: vec![Turn { role: "user".into(), text: "Is it sound?".into() }],
            configuration: [("runner".to_owned(), "rules".to_owned())].into(),
        },
        claims: ClaimSet::default(),
        priority: Priority::Normal,
        limits: Limits::default(),
        rerun_of: None,
    }
}

static NEXT: AtomicU64 = AtomicU64::new(1_000_000);

/// A task that no other test made.
pub(crate) fn fresh_task() -> NewTask {
    new_task(u128::from(NEXT.fetch_add(1, Ordering::SeqCst)))
}

pub(crate) fn finding(fingerprint: &str, severity: Severity) -> Finding {
    Finding {
        id: 0,
        file: RepoPath::parse(b"src/caf\xe9.rs").unwrap(),
        old_file: None,
        side: Side::New,
        start_line: 3,
        end_line: 4,
        severity,
        rule: "security.sql-concat".into(),
        title: "SQL built by joining strings".into(),
        body: "Bind the value instead.".into(),
        quote: "query(\"… \" + name)\n\t\u{1}".into(),
        anchor: Anchor::Exact,
        suggestion: Some(Suggestion { patch: None }),
        base: None,
        runner: "rules".into(),
        confidence: 0.9,
        cwe: Some("CWE-89".into()),
        fingerprint: fingerprint.into(),
        status: FindingStatus::New,
    }
}

pub(crate) fn line(path: &[u8], status: CoverageStatus) -> CoverageEntry {
    CoverageEntry { file: RepoPath::parse(path).unwrap(), status }
}

pub(crate) fn problem() -> Problem {
    Problem::no_change(ErrorCode::WorkerDied, "The worker ended without saying how", "Run it again")
}

/// Closes the store and looks at the file with other eyes: it is sound, private, and its rows
/// agree with each other.
pub(crate) async fn assert_sound(fixture: &Fixture) {
    fixture.store.close().await;
    assert_file_sound(&fixture.path()).await;
}

pub(crate) async fn assert_file_sound(path: &Path) {
    let wal = path.with_extension("db-wal");
    assert!(std::fs::metadata(&wal).map_or(0, |wal| wal.len()) == 0, "the log is truncated");
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    let mut connection = options.connect().await.unwrap();
    let check: String = sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&mut connection).await.unwrap();
    assert_eq!(check, "ok");
    for (rule, query) in INVARIANTS {
        let broken: Vec<i64> = sqlx::query_scalar(*query).fetch_all(&mut connection).await.unwrap();
        assert_eq!(broken, [] as [i64; 0], "{rule}");
    }
    connection.close().await.unwrap();
}

/// Rules between rows; each query returns the numbers of what breaks it.
const INVARIANTS: &[(&str, &str)] = &[
    (
        "a task runs exactly while an attempt of its lease is open",
        "SELECT t.number FROM task t WHERE (t.state = 'running') <> EXISTS (
             SELECT 1 FROM attempt a WHERE a.task = t.number AND a.ended_at IS NULL
             AND a.id = t.attempt AND a.fence = t.fence AND a.number = t.lease_number AND a.boot = t.lease_boot)",
    ),
    ("no attempt is open beside it", "SELECT a.task FROM attempt a JOIN task t ON t.number = a.task WHERE a.ended_at IS NULL AND t.state <> 'running'"),
    ("the fence is the newest attempt's", "SELECT t.number FROM task t WHERE t.fence <> (SELECT coalesce(max(fence), 0) FROM attempt WHERE task = t.number)"),
    (
        "counted attempts are those that neither were given back nor lost",
        "SELECT t.number FROM task t WHERE t.attempts <> (SELECT count(*) FROM attempt a
             WHERE a.task = t.number AND coalesce(a.how, '') NOT IN ('requeued', 'engine_lost'))",
    ),
    (
        "findings are counted and numbered from one",
        "SELECT t.number FROM task t WHERE t.high + t.medium + t.low + t.info <> (SELECT count(*) FROM finding WHERE task = t.number)
             OR t.high + t.medium + t.low + t.info <> (SELECT coalesce(max(id), 0) FROM finding WHERE task = t.number)",
    ),
    ("ledger lines are counted", "SELECT t.number FROM task t WHERE t.covered <> (SELECT count(*) FROM coverage WHERE task = t.number)"),
    ("events are numbered without a gap", "SELECT max(seq) FROM event HAVING count(*) <> coalesce(max(seq), 0)"),
    ("a task begins with its submission", "SELECT t.number FROM task t WHERE (SELECT kind FROM event WHERE task = t.number ORDER BY seq LIMIT 1) IS NOT 'submitted'"),
    (
        "each kept finding was told once",
        "SELECT t.number FROM task t WHERE (SELECT count(*) FROM event WHERE task = t.number AND kind = 'finding')
             <> (SELECT count(*) FROM finding WHERE task = t.number)",
    ),
    (
        "each attempt was told once",
        "SELECT t.number FROM task t WHERE (SELECT count(*) FROM event WHERE task = t.number AND kind = 'started')
             <> (SELECT count(*) FROM attempt WHERE task = t.number)",
    ),
    (
        "a task at rest said so last of all changes of state",
        "SELECT t.number FROM task t WHERE (t.state IN ('done', 'partial', 'failed', 'cancelled'))
             <> coalesce((SELECT kind FROM event WHERE task = t.number AND kind IN ('submitted', 'started', 'retrying', 'requeued', 'settled')
                 ORDER BY seq DESC LIMIT 1) = 'settled', 0)",
    ),
];

//! Groups: what shares a commit, what fails alone, and how durable each commit is.

use std::sync::atomic::{AtomicUsize, Ordering};

use st_model::claim::ClaimSet;
use st_model::id::{TaskId, TaskRef};
use st_model::port::testing::{Counting, ManualClock};
use st_model::review::{ReviewSource, RunnerName};
use st_model::task::{Limits, NewTask, Priority, TaskContext, TaskKind};
use tempfile::TempDir;
use tokio::sync::Notify;
use uuid::Uuid;

use super::*;
use crate::change::{Apply, Enqueue};
use crate::port::Queue as _;
use crate::store::{Store, StoreOptions};

async fn store() -> (Store, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let options =
        StoreOptions { path: folder.path().join("queue.db"), clock: Arc::new(ManualClock::at(1)), random: Arc::new(Counting::default()) };
    (Store::open(options).await.unwrap(), folder)
}

fn task(number: u128) -> NewTask {
    NewTask {
        id: TaskId(Uuid::from_u128(number)),
        title: "A review".into(),
        kind: TaskKind::Review { source: ReviewSource::PatchFile { path: "/tmp/a.patch".into() }, runner: RunnerName::Rules },
        context: TaskContext::default(),
        claims: ClaimSet::default(),
        priority: Priority::Normal,
        limits: Limits::default(),
        rerun_of: None,
    }
}

/// Holds the writer until released, so that what is handed in meanwhile makes one group.
struct Hold {
    held: Arc<Notify>,
    release: Arc<Notify>,
}

impl Change for Hold {
    type Reply = ();
    const DURABILITY: Durability = Durability::Process;

    async fn run(&self, _: &mut Writer) -> Result<(), StoreError> {
        self.held.notify_one();
        self.release.notified().await;
        Ok(())
    }
}

/// Runs SQL as a change, and counts how often it was run.
struct Raw {
    sql: &'static str,
    writes: bool,
    runs: Arc<AtomicUsize>,
}

impl Raw {
    fn write(sql: &'static str) -> Self {
        Self { sql, writes: true, runs: Arc::default() }
    }

    fn read(sql: &'static str) -> Self {
        Self { sql, writes: false, runs: Arc::default() }
    }
}

impl Change for Raw {
    type Reply = Vec<i64>;
    const DURABILITY: Durability = Durability::Process;

    async fn run(&self, writer: &mut Writer) -> Result<Vec<i64>, StoreError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        let query = sqlx::query(self.sql).persistent(false);
        let rows = if self.writes { writer.write("testing", query).await? } else { writer.read("testing", query).await? };
        rows.iter().map(|row| row.try_get(0).map_err(StoreError::sql("testing"))).collect()
    }
}

/// A change that reads the level its transaction commits at.
struct Level<const POWER: bool>;

impl<const POWER: bool> Change for Level<POWER> {
    type Reply = i64;
    const DURABILITY: Durability = if POWER { Durability::Power } else { Durability::Process };

    async fn run(&self, writer: &mut Writer) -> Result<i64, StoreError> {
        let rows = writer.read("testing", sqlx::query("PRAGMA synchronous").persistent(false)).await?;
        rows[0].try_get(0).map_err(StoreError::sql("testing"))
    }
}

const NORMAL: i64 = 1;
const FULL: i64 = 2;

/// Hands in `changes` so that they make one group, and returns their handles.
macro_rules! grouped {
    ($store:expr, $($change:expr),+ $(,)?) => {{
        let (held, release) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let hold = Hold { held: held.clone(), release: release.clone() };
        let writer = $store.writer.clone();
        let holding = tokio::spawn(async move { writer.make(hold).await });
        held.notified().await;
        let jobs = ($({
            let (reply, answer) = oneshot::channel();
            $store.writer.inbox.try_send(Message::Work(Box::new(Asked { change: $change, reply, outcome: None }))).ok().unwrap();
            answer
        },)+);
        release.notify_one();
        holding.await.unwrap().unwrap();
        jobs
    }};
}

#[tokio::test]
async fn a_commit_is_as_durable_as_its_most_demanding_change() {
    let (store, _folder) = store().await;
    let (weak,) = grouped!(store, Level::<false>);
    assert_eq!(weak.await.unwrap().unwrap(), NORMAL);
    let (weak, strong, other) = grouped!(store, Level::<false>, Level::<true>, Level::<false>);
    assert_eq!(weak.await.unwrap().unwrap(), FULL);
    assert_eq!(strong.await.unwrap().unwrap(), FULL);
    assert_eq!(other.await.unwrap().unwrap(), FULL);
    // Back and forth: the level is set anew each time.
    for _ in 0..3 {
        let (weak,) = grouped!(store, Level::<false>);
        assert_eq!(weak.await.unwrap().unwrap(), NORMAL);
        let (strong,) = grouped!(store, Level::<true>);
        assert_eq!(strong.await.unwrap().unwrap(), FULL);
    }
}

#[tokio::test]
async fn a_change_that_fails_after_it_wrote_fails_alone() {
    let (store, _folder) = store().await;
    let mut subscriber = store.subscribe();
    let bad = Raw::write("UPDATE task SET priority = 0 WHERE number = 1; UPDATE task SET priority = 9 WHERE number = 1");
    let runs = bad.runs.clone();
    let (first, bad, second) = grouped!(store, Enqueue(Box::new(task(1))), bad, Enqueue(Box::new(task(2))));
    assert_eq!(first.await.unwrap().unwrap().number.0, 1);
    assert!(matches!(bad.await.unwrap(), Err(StoreError::Sql { doing: "testing", .. })));
    assert_eq!(second.await.unwrap().unwrap().number.0, 2);
    assert_eq!(runs.load(Ordering::SeqCst), 2, "once in the group, once alone");
    let one = store.task(TaskRef::Id(task(1).id)).await.unwrap();
    assert_eq!(one.priority, Priority::Normal, "half of a change is not kept");
    assert_eq!((subscriber.recv().await.unwrap().seq.0, subscriber.recv().await.unwrap().seq.0), (1, 2));
    assert!(subscriber.try_recv().is_err(), "what was rolled back was not told");
}

#[tokio::test]
async fn a_change_that_is_refused_does_not_break_its_group() {
    let (store, _folder) = store().await;
    let counted = Raw::read("SELECT 7");
    let runs = counted.runs.clone();
    let unknown = Apply { task: TaskId(Uuid::from_u128(99)), event: st_model::state::TaskEvent::Cancel };
    let (first, unknown, counted) = grouped!(store, Enqueue(Box::new(task(1))), unknown, counted);
    first.await.unwrap().unwrap();
    assert!(matches!(unknown.await.unwrap(), Err(StoreError::UnknownTask)));
    assert_eq!(counted.await.unwrap().unwrap(), [7]);
    assert_eq!(runs.load(Ordering::SeqCst), 1, "the group was not run again");
}

#[tokio::test]
async fn a_commit_that_fails_is_made_again_without_its_cause() {
    let (store, _folder) = store().await;
    // A broken reference that is looked at only by the commit.
    let bad = Raw::write("PRAGMA defer_foreign_keys = ON; INSERT INTO finding (task, id, fingerprint, body) VALUES (99, 1, 'f', '{}')");
    let (first, bad, second) = grouped!(store, Enqueue(Box::new(task(1))), bad, Enqueue(Box::new(task(2))));
    first.await.unwrap().unwrap();
    assert!(matches!(bad.await.unwrap(), Err(StoreError::Sql { doing: "committing", .. })));
    second.await.unwrap().unwrap();
    assert_eq!(store.tasks(Default::default()).await.unwrap().len(), 2);
    assert_eq!(store.last_seq().await.unwrap(), EventSeq(2));
}

#[tokio::test]
async fn a_change_is_whole_or_absent_when_the_disk_is_full_and_goes_on_when_it_is_not() {
    let (store, _folder) = store().await;
    store.enqueue(task(1)).await.unwrap();
    // The database's own limit stands in for the disk's: both end in the same result code.
    let pages = store.writer.make(Raw::read("PRAGMA page_count")).await.unwrap()[0];
    assert_eq!(store.writer.make(Raw::read("PRAGMA max_page_count = 1")).await.unwrap(), [pages]);
    let mut large = task(2);
    large.context.instructions = Some("x".repeat(1 << 20));
    let (large_one, small) = grouped!(store, Enqueue(Box::new(large.clone())), Level::<true>);
    assert!(matches!(large_one.await.unwrap(), Err(StoreError::DiskFull)));
    assert_eq!(small.await.unwrap().unwrap(), FULL, "its neighbour is unharmed");
    assert!(matches!(store.task(TaskRef::Id(large.id)).await, Err(StoreError::UnknownTask)));
    assert_eq!(store.last_seq().await.unwrap(), EventSeq(1));
    store.writer.make(Raw::read("PRAGMA max_page_count = 1073741823")).await.unwrap();
    assert_eq!(store.enqueue(large.clone()).await.unwrap().number.0, 2);
    assert_eq!(store.task(TaskRef::Id(large.id)).await.unwrap().submitted, large);
}

#[tokio::test]
async fn a_database_held_by_another_process_fails_every_change_of_the_group_and_recovers() {
    let (store, folder) = store().await;
    store.writer.make(Raw::read("PRAGMA busy_timeout = 1")).await.unwrap();
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(folder.path().join("queue.db"));
    let mut other = <SqliteConnection as sqlx::Connection>::connect_with(&options).await.unwrap();
    sqlx::query("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    let (first, second) = tokio::join!(store.enqueue(task(1)), store.enqueue(task(2)));
    for refused in [first, second] {
        assert!(matches!(refused, Err(StoreError::Sql { doing: "beginning a transaction", .. })));
    }
    sqlx::query("ROLLBACK").execute(&mut other).await.unwrap();
    assert_eq!(store.enqueue(task(1)).await.unwrap().number.0, 1);
}

#[tokio::test]
async fn a_caller_that_went_away_disturbs_nobody() {
    let (store, _folder) = store().await;
    let (gone, kept) = grouped!(store, Enqueue(Box::new(task(1))), Enqueue(Box::new(task(2))));
    drop(gone);
    kept.await.unwrap().unwrap();
    assert_eq!(store.tasks(Default::default()).await.unwrap().len(), 2);
}

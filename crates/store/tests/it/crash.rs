//! What was acknowledged survives `kill -9`, and two processes on one file harm nothing.
//!
//! The child is this very test binary, run again for one test with its orders in the
//! environment. It says each acknowledged fact on its standard output; the parent kills it in
//! the middle of its work and compares what it said with what the file holds.

use std::env;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

use st_model::coverage::CoverageStatus;
use st_model::finding::Severity;
use st_model::id::{AttemptId, TaskId, TaskRef};
use st_model::port::testing::ManualClock;
use st_model::state::{Phase, RestState, Settlement, TaskState};
use st_store::{Queue as _, Record, Store, StoreOptions};
use uuid::Uuid;

use crate::fixtures::{START, assert_file_sound, boot, finding, line, new_task};

const ORDERS: &str = "ST_STORE_CRASH_ORDERS";

/// Ids that never repeat between processes.
#[derive(Debug)]
struct Unique;

impl st_model::port::Random for Unique {
    fn uuid(&self) -> Uuid {
        Uuid::now_v7()
    }

    fn unit(&self) -> f64 {
        0.5
    }
}

async fn open(path: &Path) -> Store {
    let clock = Arc::new(ManualClock::at(START));
    Store::open(StoreOptions { path: path.to_owned(), clock, random: Arc::new(Unique) }).await.unwrap()
}

fn acknowledge(fact: &str, id: Uuid) {
    // One write a line: the parent never sees half of one.
    let line = format!("\nACK {fact} {id}\n");
    std::io::stdout().write_all(line.as_bytes()).unwrap();
}

/// Orders: the file, the engine's number, how many tasks (0: until killed).
fn orders() -> Option<(PathBuf, u128, u64)> {
    let orders = env::var(ORDERS).ok()?;
    let mut parts = orders.splitn(3, ' ');
    let engine = parts.next()?.parse().ok()?;
    let count = parts.next()?.parse().ok()?;
    Some((parts.next()?.into(), engine, count))
}

/// The child's part. Without orders there is nothing to do: the tests below give them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child() {
    let Some((path, engine, count)) = orders() else { return };
    let store = open(&path).await;
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut made = 0;
                while count == 0 || made < count {
                    live(&store, engine).await;
                    made += 1;
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await.unwrap();
    }
    store.close().await;
}

async fn live(store: &Store, engine: u128) {
    let mut task = new_task(0);
    task.id = TaskId(Uuid::now_v7());
    let task = store.enqueue(task).await.unwrap();
    acknowledge("queued", task.id.0);
    let lease = store.claim(task.id, boot(engine)).await.unwrap().unwrap();
    acknowledge("claimed", lease.held().attempt.0);
    lease.record_process(std::process::id(), 1, "machine").await.unwrap();
    lease.enter(Phase::Review).await.unwrap();
    let records = vec![Record::Finding(Box::new(finding("f", Severity::High))), Record::Covered(line(b"a.rs", CoverageStatus::Reviewed))];
    lease.record(records).await.unwrap();
    acknowledge("found", task.id.0);
    lease.settle(Settlement::Rest(RestState::Done)).await.unwrap();
    acknowledge("settled", task.id.0);
}

fn spawn(path: &Path, engine: u128, count: u64) -> (Child, BufReader<ChildStdout>) {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "crash::child", "--nocapture", "--test-threads=1"])
        .env(ORDERS, format!("{engine} {count} {}", path.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stdout.take().unwrap());
    (child, said)
}

/// What children were told is done.
#[derive(Default)]
struct Acknowledged {
    queued: Vec<TaskId>,
    claimed: Vec<AttemptId>,
    found: Vec<TaskId>,
    settled: Vec<TaskId>,
}

impl Acknowledged {
    fn note(&mut self, line: &str) -> bool {
        let Some(fact) = line.trim().strip_prefix("ACK ") else { return false };
        let (fact, id) = fact.split_once(' ').unwrap();
        let id: Uuid = id.parse().unwrap();
        match fact {
            "queued" => self.queued.push(TaskId(id)),
            "claimed" => self.claimed.push(AttemptId(id)),
            "found" => self.found.push(TaskId(id)),
            "settled" => self.settled.push(TaskId(id)),
            other => panic!("`{other}`"),
        }
        true
    }

    /// Everything acknowledged is there.
    async fn assert_kept(&self, store: &Store) {
        let mut attempts = Vec::new();
        for id in &self.queued {
            let task = store.task(TaskRef::Id(*id)).await.unwrap();
            attempts.extend(store.attempts(*id).await.unwrap().into_iter().map(|attempt| attempt.id));
            assert_eq!(task.findings.total(), u32::try_from(store.findings(*id).await.unwrap().len()).unwrap());
        }
        for attempt in &self.claimed {
            assert!(attempts.contains(attempt), "a lost claim");
        }
        for id in &self.found {
            assert_eq!(store.findings(*id).await.unwrap().len(), 1, "a lost finding");
            assert_eq!(store.coverage(*id).await.unwrap().len(), 1, "a lost ledger line");
        }
        for id in &self.settled {
            assert_eq!(store.task(TaskRef::Id(*id)).await.unwrap().state, TaskState::Resting { rest: RestState::Done });
        }
    }
}

#[tokio::test]
async fn acknowledged_work_survives_twenty_kills() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("queue.db");
    let mut all = Acknowledged::default();
    for round in 0..20 {
        let mut this = Acknowledged::default();
        let (mut child, said) = spawn(&path, round, 0);
        // Another number each round, so that the blow falls into another moment of the work.
        let until = 1 + usize::try_from(round).unwrap() * 7 % 61;
        let mut heard = 0;
        for line in said.lines() {
            heard += usize::from(this.note(&line.unwrap()));
            if heard == until {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        assert!(heard >= until, "the child did its work until it was killed");

        let store = open(&path).await;
        this.assert_kept(&store).await;
        let recovered = store.recover(boot(1000 + round)).await.unwrap();
        for lost in recovered {
            assert_eq!(lost.task.state, TaskState::Queued);
            assert!(this.settled.iter().all(|settled| *settled != lost.task.id));
            if let Some(process) = lost.process {
                assert_eq!(process.pid, child.id());
            }
        }
        store.close().await;
        assert_file_sound(&path).await;
        all.queued.extend(this.queued);
        all.claimed.extend(this.claimed);
        all.found.extend(this.found);
        all.settled.extend(this.settled);
    }
    let store = open(&path).await;
    all.assert_kept(&store).await;
    assert!(all.settled.len() > 20, "the children came far enough to settle: {}", all.settled.len());
}

#[tokio::test]
async fn two_processes_on_one_file_lose_nothing_and_keep_one_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("queue.db");
    let mut acknowledged = Acknowledged::default();
    let children = [spawn(&path, 1, 10), spawn(&path, 2, 10)];
    for (mut child, said) in children {
        for line in said.lines() {
            acknowledged.note(&line.unwrap());
        }
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(acknowledged.settled.len(), 80);
    let store = open(&path).await;
    acknowledged.assert_kept(&store).await;
    store.close().await;
    assert_file_sound(&path).await;
}

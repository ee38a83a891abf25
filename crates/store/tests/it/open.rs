//! Opening and closing: whose file it is, who may read it, and what is left behind.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};
use st_model::id::{EventSeq, TaskRef};
use st_model::port::testing::ManualClock;
use st_model::state::{Phase, RestState, Settlement, TaskEvent};
use st_store::{Queue as _, Record, Store, StoreError};

use crate::fixtures::{Fixture, START, assert_file_sound, assert_sound, boot, fresh_task, options};

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(START))
}

async fn refused(path: &Path) -> StoreError {
    Store::open(options(path.to_owned(), clock())).await.map(|_| ()).unwrap_err()
}

async fn run_sql(path: &Path, sql: &'static str) {
    let mut connection = SqliteConnectOptions::new().filename(path).create_if_missing(true).connect().await.unwrap();
    sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn the_library_in_use_is_one_that_loses_no_writes() {
    let mut connection = SqliteConnectOptions::new().in_memory(true).connect().await.unwrap();
    let version: String = sqlx::query_scalar("SELECT sqlite_version()").fetch_one(&mut connection).await.unwrap();
    let parts: Vec<u32> = version.split('.').map(|part| part.parse().unwrap()).collect();
    assert!(parts >= vec![3, 51, 3], "{version}");
}

#[tokio::test]
async fn the_file_and_its_log_are_readable_by_their_owner_alone() {
    let fixture = Fixture::new().await;
    fixture.store.enqueue(fresh_task()).await.unwrap();
    let path = fixture.path();
    for file in [path.clone(), path.with_extension("db-wal"), path.with_extension("db-shm")] {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
    fixture.store.close().await;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    Store::open(options(path.clone(), clock())).await.unwrap().close().await;
    assert_eq!(mode(&path), 0o600, "a looser one is tightened");
}

#[tokio::test]
async fn a_missing_folder_is_said_and_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing/queue.db");
    assert!(matches!(refused(&path).await, StoreError::Io { path: said, .. } if said == path));
    assert!(!folder.path().join("missing").exists());
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_left_as_it_is() {
    let fixture = Fixture::new().await;
    fixture.store.close().await;
    run_sql(&fixture.path(), "PRAGMA user_version = 4711").await;
    let before = fs::read(fixture.path()).unwrap();
    assert!(matches!(refused(&fixture.path()).await, StoreError::TooNew { found: 4711, known: 1 }));
    assert_eq!(fs::read(fixture.path()).unwrap(), before);
}

#[tokio::test]
async fn another_programs_database_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("queue.db");
    run_sql(&path, "CREATE TABLE bookmark (url TEXT)").await;
    let before = fs::read(&path).unwrap();
    assert!(matches!(refused(&path).await, StoreError::NotOurs { path: said } if said == path));
    assert_eq!(fs::read(&path).unwrap(), before);
    assert!(!path.with_extension("db-wal").exists());
}

#[tokio::test]
async fn a_file_that_is_no_database_is_said_to_be_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("queue.db");
    fs::write(&path, "# a readme, not a database\n".repeat(100)).unwrap();
    let before = fs::read(&path).unwrap();
    assert!(matches!(refused(&path).await, StoreError::Damaged { .. }));
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_row_that_does_not_read_back_is_said_and_harms_no_other() {
    let fixture = Fixture::new().await;
    let bad = fixture.store.enqueue(fresh_task()).await.unwrap();
    let good = fixture.store.enqueue(fresh_task()).await.unwrap();
    run_sql(&fixture.path(), "UPDATE task SET submitted = '{}' WHERE number = 1").await;
    assert!(matches!(fixture.store.task(TaskRef::Id(bad.id)).await, Err(StoreError::Corrupt { what: "task", .. })));
    assert!(matches!(fixture.store.claim(bad.id, boot(1)).await, Err(StoreError::Corrupt { what: "task", .. })));
    assert_eq!(fixture.store.task(TaskRef::Id(good.id)).await.unwrap(), good);
    assert!(fixture.store.claim(good.id, boot(1)).await.unwrap().is_some());
}

#[tokio::test]
async fn everything_is_there_after_reopening() {
    let fixture = Fixture::new().await;
    let done = fixture.store.enqueue(fresh_task()).await.unwrap();
    let lease = fixture.store.claim(done.id, boot(1)).await.unwrap().unwrap();
    lease.settle(Settlement::Rest(RestState::Done)).await.unwrap();
    let waiting = fixture.store.enqueue(fresh_task()).await.unwrap();
    fixture.store.set_setting("slots", Some("2")).await.unwrap();
    let before = (fixture.store.tasks(Default::default()).await.unwrap(), fixture.store.events(EventSeq(0), None, 100).await.unwrap());
    assert_sound(&fixture).await;
    let store = Store::open(options(fixture.path(), clock())).await.unwrap();
    let after = (store.tasks(Default::default()).await.unwrap(), store.events(EventSeq(0), None, 100).await.unwrap());
    assert_eq!(before, after);
    assert_eq!(store.setting("slots").await.unwrap().as_deref(), Some("2"));
    let next = store.enqueue(fresh_task()).await.unwrap();
    assert_eq!(next.number.0, waiting.number.0 + 1);
    assert_eq!(store.last_seq().await.unwrap().0, before.1.last().unwrap().seq.0 + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_keeps_what_was_handed_in_and_refuses_the_rest() {
    let fixture = Fixture::new().await;
    let task = fixture.store.enqueue(fresh_task()).await.unwrap();
    let lease = fixture.store.claim(task.id, boot(1)).await.unwrap().unwrap();
    let writers: Vec<_> = (0..64)
        .map(|_| {
            let store = fixture.store.clone();
            tokio::spawn(async move {
                let task = fresh_task();
                (task.id, store.enqueue(task).await)
            })
        })
        .collect();
    let (other, again) = (fixture.store.clone(), fixture.store.clone());
    tokio::join!(fixture.store.close(), other.close(), again.close());
    let mut kept = Vec::new();
    for writer in writers {
        match writer.await.unwrap() {
            (id, Ok(_)) => kept.push(id),
            (_, Err(error)) => assert!(matches!(error, StoreError::Closed), "{error}"),
        }
    }
    let store = &fixture.store;
    assert!(matches!(store.enqueue(fresh_task()).await, Err(StoreError::Closed)));
    assert!(matches!(store.task(TaskRef::Id(task.id)).await, Err(StoreError::Closed)));
    assert!(matches!(store.apply(task.id, TaskEvent::Cancel).await, Err(StoreError::Closed)));
    assert!(matches!(lease.enter(Phase::Review).await, Err(StoreError::Closed)));
    assert!(matches!(lease.record(vec![Record::Note("late".into())]).await, Err(StoreError::Closed)));
    assert_file_sound(&fixture.path()).await;
    let store = Store::open(options(fixture.path(), clock())).await.unwrap();
    for id in kept {
        store.task(TaskRef::Id(id)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_opening_by_several_at_once_makes_one_sound_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("queue.db");
    let openers: Vec<_> = (0..8).map(|_| tokio::spawn(Store::open(options(path.clone(), clock())))).collect();
    let mut stores = Vec::new();
    for opener in openers {
        stores.push(opener.await.unwrap().unwrap());
    }
    let writers: Vec<_> = stores
        .iter()
        .cloned()
        .map(|store| {
            tokio::spawn(async move {
                for _ in 0..8 {
                    let task = store.enqueue(fresh_task()).await.unwrap();
                    store.apply(task.id, TaskEvent::Cancel).await.unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(stores[0].tasks(Default::default()).await.unwrap().len(), 64);
    for store in stores {
        store.close().await;
    }
    assert_file_sound(&path).await;
}

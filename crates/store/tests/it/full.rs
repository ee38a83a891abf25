//! A file system that is really full.
//!
//! The child is this test binary, run again in a mount namespace of its own with a small tmpfs
//! under its feet. Where the machine forbids such a namespace the test says so and the rule is
//! held by the writer's own test, in which the database's page limit stands in for the disk.

use std::env;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use st_model::id::TaskRef;
use st_model::port::testing::ManualClock;
use st_store::{Queue as _, StoreError};

use crate::fixtures::{START, assert_file_sound, boot, fresh_task, open};

const FOLDER: &str = "ST_STORE_FULL_FOLDER";

/// The child's part. Without a folder there is nothing to do: the test below gives one.
#[tokio::test]
async fn child() {
    let Ok(folder) = env::var(FOLDER) else { return };
    let path = PathBuf::from(&folder).join("queue.db");
    let filler = PathBuf::from(&folder).join("filler");
    fs::write(&filler, vec![0; 8 << 20]).unwrap();
    let store = open(path.clone(), Arc::new(ManualClock::at(START))).await;
    let mut kept = Vec::new();
    let refused = loop {
        let mut task = fresh_task();
        task.context.instructions = Some("x".repeat(64 << 10));
        match store.enqueue(task.clone()).await {
            Ok(task) => kept.push(task),
            Err(error) => {
                assert!(matches!(error, StoreError::DiskFull), "{error:?}");
                break task;
            }
        }
    };
    assert!(!kept.is_empty());
    for task in &kept {
        assert_eq!(store.task(TaskRef::Id(task.id)).await.unwrap(), *task);
    }
    assert!(matches!(store.task(TaskRef::Id(refused.id)).await, Err(StoreError::UnknownTask)));
    assert_eq!(store.last_seq().await.unwrap().0, u64::try_from(kept.len()).unwrap());
    // Room again: the same store goes on where it was.
    fs::remove_file(filler).unwrap();
    let after = store.enqueue(refused).await.unwrap();
    assert_eq!(after.number.0, u64::try_from(kept.len()).unwrap() + 1);
    assert!(store.claim(after.id, boot(1)).await.unwrap().is_some());
    store.close().await;
    assert_file_sound(&path).await;
    std::io::stdout().write_all(b"\nFULL held\n").unwrap();
}

fn in_small_file_system(folder: &Path, command: &str) -> String {
    let script = format!("mount -t tmpfs -o size=12m none '{}' && {{ echo MOUNTED; {command}; }}", folder.display());
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script])
        .env(FOLDER, folder)
        .stdin(Stdio::null())
        .output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)).unwrap_or_default()
}

#[test]
fn a_full_disk_is_said_loses_nothing_and_is_gone_with_its_cause() {
    let folder = tempfile::tempdir().unwrap();
    if !in_small_file_system(folder.path(), "true").contains("MOUNTED") {
        let note = b"this machine forbids a mount namespace: a full disk was tried with the page limit only\n";
        std::io::stderr().write_all(note).unwrap();
        return;
    }
    let child = format!("'{}' --exact full::child --nocapture", env::current_exe().unwrap().display());
    let said = in_small_file_system(folder.path(), &child);
    assert!(said.contains("FULL held"), "{said}");
}

//! The schema says what a state means: each rule of the model is a CHECK that a wrong row meets.

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, SqliteConnection};
use st_model::id::TaskRef;
use st_model::retry::FailureClass;
use st_model::state::{ChangeState, RestState, Settlement, TaskState};
use st_model::task::Task;
use st_model::time::Timestamp;
use st_store::{Queue as _, StoreError};

use crate::fixtures::{Fixture, START, boot, fresh_task, problem};

async fn raw(fixture: &Fixture) -> SqliteConnection {
    SqliteConnectOptions::new().filename(fixture.path()).connect().await.unwrap()
}

/// Task 1 queued, 2 running, 3 retrying, 4 failed.
async fn one_of_each(fixture: &Fixture) -> Vec<Task> {
    let store = &fixture.store;
    for _ in 0..4 {
        store.enqueue(fresh_task()).await.unwrap();
    }
    let tasks = store.open_tasks().await.unwrap();
    let _running = store.claim(tasks[1].id, boot(1)).await.unwrap().unwrap();
    let retrying = store.claim(tasks[2].id, boot(1)).await.unwrap().unwrap();
    let class = FailureClass::Transient;
    retrying.settle(Settlement::Retry { retry_at: Timestamp(START), class, problem: problem() }).await.unwrap();
    let failed = store.claim(tasks[3].id, boot(1)).await.unwrap().unwrap();
    failed.settle(Settlement::Rest(RestState::Failed { problem: problem() })).await.unwrap();
    tasks
}

#[tokio::test]
async fn a_row_that_says_two_things_at_once_is_refused() {
    let fixture = Fixture::new().await;
    one_of_each(&fixture).await;
    let mut connection = raw(&fixture).await;
    for wrong in [
        "UPDATE task SET state = 'sleeping' WHERE number = 1",
        "UPDATE task SET state = 'running' WHERE number = 1",
        "UPDATE task SET lease_boot = zeroblob(16) WHERE number = 1",
        "UPDATE task SET lease_number = 1 WHERE number = 1",
        "UPDATE task SET activity = '{}' WHERE number = 1",
        "UPDATE task SET retry_at = 5 WHERE number = 1",
        "UPDATE task SET failure = 'transient' WHERE number = 1",
        "UPDATE task SET problem = '{}' WHERE number = 1",
        "UPDATE task SET rest_after = '{}' WHERE number = 1",
        "UPDATE task SET finished_at = 5 WHERE number = 1",
        "UPDATE task SET state = 'done' WHERE number = 1",
        "UPDATE task SET state = 'rolling_back' WHERE number = 1",
        "UPDATE task SET state = 'needs_recovery' WHERE number = 1",
        "UPDATE task SET priority = 3 WHERE number = 1",
        "UPDATE task SET change_state = 'lost' WHERE number = 1",
        "UPDATE task SET submitted = 'no json' WHERE number = 1",
        "UPDATE task SET id = x'00' WHERE number = 1",
        "UPDATE task SET attempts = -1 WHERE number = 1",
        "UPDATE task SET state = 'queued' WHERE number = 2",
        "UPDATE task SET lease_boot = NULL WHERE number = 2",
        "UPDATE task SET activity = NULL WHERE number = 2",
        "UPDATE task SET attempt = NULL WHERE number = 2",
        "UPDATE task SET started_at = NULL WHERE number = 2",
        "UPDATE task SET retry_at = NULL WHERE number = 3",
        "UPDATE task SET problem = NULL WHERE number = 3",
        "UPDATE task SET state = 'queued' WHERE number = 3",
        "UPDATE task SET problem = NULL WHERE number = 4",
        "UPDATE task SET finished_at = NULL WHERE number = 4",
        "UPDATE task SET state = 'cancelled' WHERE number = 4",
        "UPDATE attempt SET ended_at = 5 WHERE task = 2",
        "UPDATE attempt SET ended_at = 5, how = 'somehow' WHERE task = 2",
        "UPDATE attempt SET pid = 5 WHERE task = 2",
        "UPDATE attempt SET pid = 0, start_ticks = 5, machine_boot = 'b' WHERE task = 2",
        "UPDATE attempt SET ended_at = NULL, how = NULL, task = 2 WHERE task = 3",
        "INSERT INTO event (task, at, body) VALUES (99, 5, '{}')",
        "INSERT INTO event (task, at, body) VALUES (1, 5, 'no json')",
        "INSERT INTO finding (task, id, fingerprint, body) VALUES (1, 0, 'f', '{}')",
        "DELETE FROM task WHERE number = 2",
    ] {
        let refused = sqlx::query(wrong).execute(&mut connection).await.unwrap_err();
        let refused = refused.as_database_error().unwrap();
        let said = refused.message();
        assert!(said.contains("constraint failed") || said == "malformed JSON", "{wrong}: {said}");
    }
}

#[tokio::test]
async fn a_short_number_is_never_given_twice() {
    let fixture = Fixture::new().await;
    fixture.store.enqueue(fresh_task()).await.unwrap();
    let gone = fixture.store.enqueue(fresh_task()).await.unwrap();
    let mut connection = raw(&fixture).await;
    sqlx::raw_sql("DELETE FROM event WHERE task = 2; DELETE FROM task WHERE number = 2").execute(&mut connection).await.unwrap();
    assert!(matches!(fixture.store.task(TaskRef::Id(gone.id)).await, Err(StoreError::UnknownTask)));
    let next = fixture.store.enqueue(fresh_task()).await.unwrap();
    assert_eq!(next.number.0, 3);
    assert_eq!(fixture.store.last_seq().await.unwrap().0, 3, "nor is an event's");
}

/// The undoing of changes is not driven yet; its rows are read and listed as they will be.
#[tokio::test]
async fn every_state_of_the_model_has_a_row() {
    let fixture = Fixture::new().await;
    let tasks = one_of_each(&fixture).await;
    let mut connection = raw(&fixture).await;
    for then in [RestState::Done, RestState::Partial { problem: problem() }, RestState::Failed { problem: problem() }, RestState::Cancelled]
    {
        for state in [TaskState::RollingBack { then: then.clone() }, TaskState::NeedsRecovery { then: then.clone() }] {
            sqlx::query("UPDATE task SET state = ?, rest_after = ?, problem = NULL, change_state = 'published' WHERE number = 4")
                .bind(state.name())
                .bind(serde_json::to_string(&then).unwrap())
                .execute(&mut connection)
                .await
                .unwrap();
            let task = fixture.store.task(TaskRef::Id(tasks[3].id)).await.unwrap();
            assert_eq!((&task.state, task.change_state), (&state, ChangeState::Published));
            assert_eq!(fixture.store.open_tasks().await.unwrap().len(), 4);
        }
    }
    for change in [
        ChangeState::None,
        ChangeState::Pending,
        ChangeState::Publishing,
        ChangeState::Published,
        ChangeState::RolledBack,
        ChangeState::PartlyRolledBack,
        ChangeState::Discarded,
    ] {
        sqlx::query("UPDATE task SET change_state = ? WHERE number = 1").bind(change.name()).execute(&mut connection).await.unwrap();
        assert_eq!(fixture.store.task(TaskRef::Id(tasks[0].id)).await.unwrap().change_state, change);
    }
    for class in [FailureClass::Infrastructure, FailureClass::RateLimit, FailureClass::Transient, FailureClass::Permanent] {
        let task = fixture.store.enqueue(fresh_task()).await.unwrap();
        let lease = fixture.store.claim(task.id, boot(1)).await.unwrap().unwrap();
        let after = lease.settle(Settlement::Retry { retry_at: Timestamp(7), class, problem: problem() }).await.unwrap();
        assert_eq!(fixture.store.task(TaskRef::Id(task.id)).await.unwrap(), after);
    }
}

//! Workers that die, leases that are lost, and what an earlier engine left behind.

use st_engine::{Engine, EngineError};
use st_model::event::EventKind;
use st_model::id::{AttemptId, BootId, TaskRef};
use st_model::problem::ErrorCode;
use st_model::review::ReviewSource;
use st_model::state::RestState;
use st_store::{Queue as _, Store, StoreOptions};
use st_vault::Vault;
use uuid::Uuid;

use crate::fixtures::{Bench, Ids, PATCH, RealClock, config, done, finding, is_alive, scripted};
use crate::worker::Step;

fn options(bench: &Bench) -> StoreOptions {
    StoreOptions { path: bench.data().join("sidetrack.db"), clock: RealClock::new(), random: std::sync::Arc::new(Ids) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_dies_is_tried_again() {
    let bench = Bench::new(1).await;
    let crash = vec![finding(1), Step::Stderr("\nall is lost\n".into()), Step::Exit(3)];
    let steps = [Step::OnceBy { marker: bench.path("once"), steps: crash }, finding(2), done()];
    let (task, rest) = bench.run(&steps).await;
    assert_eq!((rest, task.attempts, task.findings.medium), (RestState::Done, 2, 2));
    let retried = bench.events(task.id).await.into_iter().find_map(|event| match event.kind {
        EventKind::Retrying { problem, attempt, .. } => Some((problem, attempt)),
        _ => None,
    });
    let (problem, attempt) = retried.unwrap();
    assert_eq!((problem.code, attempt), (ErrorCode::WorkerDied, 1));
    assert!(problem.message.contains("exit code 3") && problem.message.ends_with("its log ends with: all is lost"), "{}", problem.message);
    let first = bench.engine.log_path(TaskRef::Id(task.id), Some(1)).await.unwrap().unwrap();
    assert!(std::fs::read_to_string(first).unwrap().contains("all is lost"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_always_dies_fails_with_its_cause() {
    let bench = Bench::new(1).await;
    let (task, RestState::Failed { problem }) = bench.run(&[Step::Exit(9)]).await else { panic!("failed") };
    assert_eq!((problem.code, task.attempts), (ErrorCode::WorkerDied, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_program_that_is_not_there_is_a_failure_with_words() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(&folder.path().join("data"), 1);
    config.worker_program = "/nowhere/sidetrack".into();
    let bench = Bench { engine: Engine::start(config).await.unwrap(), folder };
    let (_, RestState::Failed { problem }) = bench.run(&[done()]).await else { panic!("failed") };
    assert!(problem.message.contains("failed to start `/nowhere/sidetrack`: No such file"), "{}", problem.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_lease_stops_the_worker_and_drops_what_it_says() {
    let bench = Bench::new(1).await;
    let gate = bench.fifo("gate");
    let first = vec![Step::WritePid(bench.path("pid")), Step::AwaitFifo(gate.clone()), finding(1), Step::Deaf];
    let steps = [Step::OnceBy { marker: bench.path("once"), steps: first }, done()];
    let task = bench.submit(&steps).await;
    let pid = bench.written("pid").await;
    // As another engine would, were it to take this one for dead.
    let other = Store::open(options(&bench)).await.unwrap();
    other.recover(BootId(Uuid::from_u128(7))).await.unwrap();
    other.close().await;
    crate::fixtures::let_go(gate).await;
    let (after, rest) = bench.rest(task.id).await;
    assert_eq!((rest, after.findings.total()), (RestState::Done, 0));
    assert!(!is_alive(&pid));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_engine_on_one_data_directory_is_refused() {
    let bench = Bench::new(1).await;
    let second = Engine::start(config(&bench.data(), 1)).await;
    assert!(matches!(second, Err(EngineError::Locked { data_dir }) if data_dir == bench.data()));
    bench.engine.stop(false).await;
    Engine::start(config(&bench.data(), 1)).await.unwrap().stop(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_dead_attempts_left_is_swept_and_their_logs_are_kept() {
    let bench = Bench::new(1).await;
    bench.engine.stop(false).await;
    let dead = bench.data().join("attempts").join(AttemptId(Uuid::now_v7()).to_string());
    std::fs::create_dir_all(dead.join("work/blobs")).unwrap();
    for file in ["work/blobs/x", "log", "broker.sock"] {
        std::fs::write(dead.join(file), "x").unwrap();
    }
    let strange = bench.data().join("attempts/not-ours");
    std::fs::create_dir(&strange).unwrap();
    let pin = bench.data().join(format!("pins/{}.json", Uuid::now_v7()));
    std::fs::write(&pin, "{}").unwrap();
    let bench = bench.restarted(false).await;
    let left: Vec<_> = std::fs::read_dir(&dead).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["log"]);
    assert!(strange.exists(), "what is not known to be ours is left alone");
    assert!(!pin.exists());
    bench.engine.stop(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_under_which_engines_die_is_not_tried_for_ever() {
    let bench = Bench::new(1).await;
    bench.engine.stop(false).await;
    let store = Store::open(options(&bench)).await.unwrap();
    let blob = Vault::open(&bench.data().join("vault")).unwrap().put(PATCH).unwrap();
    let task = store.enqueue(scripted(ReviewSource::Text { blob, label: "t".into() }, &[done()])).await.unwrap();
    let die = async |store: &Store| {
        let lease = store.claim(task.id, BootId(Uuid::now_v7())).await.unwrap();
        drop(lease.unwrap());
    };
    for _ in 0..4 {
        die(&store).await;
        store.recover(BootId(Uuid::now_v7())).await.unwrap();
    }
    die(&store).await;
    store.close().await;
    let bench = bench.restarted(false).await;
    let (after, RestState::Failed { problem }) = bench.rest(task.id).await else { panic!("failed") };
    assert_eq!(problem.code, ErrorCode::EngineStopped);
    assert!(problem.message.contains("5 times in a row"));
    assert_eq!(after.findings.total(), 0);
}

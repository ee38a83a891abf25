//! Stopping: by the user in every state, and by the time limit.

use std::time::Duration;

use st_model::coverage::CoverageStatus;
use st_model::event::EventKind;
use st_model::id::TaskRef;
use st_model::problem::ErrorCode;
use st_model::review::ReviewSource;
use st_model::state::{Activity, Phase, RestState, StopCause, TaskState};
use st_model::task::Task;
use st_store::Queue as _;

use crate::fixtures::{Bench, covered, done, finding, is_alive, scripted};
use crate::worker::Step;

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_task_is_cancelled_at_once() {
    let bench = Bench::new(1).await;
    bench.engine.set_paused(true).await.unwrap();
    let task = bench.submit(&[done()]).await;
    let after = bench.engine.cancel(TaskRef::Id(task.id), false).await.unwrap();
    assert_eq!(after.state, TaskState::Resting { rest: RestState::Cancelled });
    let again = bench.engine.cancel(TaskRef::Id(task.id), false).await.unwrap_err();
    assert!(again.to_string().contains("is cancelled and can't be cancelled"), "{again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_between_two_attempts_is_cancelled_at_once() {
    let bench = Bench::new(1).await;
    let mut task = bench.task(&[Step::Exit(1)]);
    task.limits.retry.base = Duration::from_secs(3600);
    task.limits.retry.cap = Duration::from_secs(3600);
    let task = bench.engine.submit(task).await.unwrap();
    bench.until(task.id, |task| matches!(task.state, TaskState::Retrying { .. })).await;
    let after = bench.engine.cancel(TaskRef::Id(task.id), false).await.unwrap();
    assert_eq!(after.state, TaskState::Resting { rest: RestState::Cancelled });
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_is_said_only_once_the_tree_is_empty() {
    let bench = Bench::new(1).await;
    let task = bench.submit(&[finding(1), Step::WritePid(bench.path("pid")), Step::Deaf]).await;
    let pid = bench.written("pid").await;
    bench.until(task.id, |task| task.findings.medium == 1).await;
    assert!(is_alive(&pid));
    let after = bench.engine.cancel(TaskRef::Id(task.id), true).await.unwrap();
    assert!(matches!(
        after.state,
        TaskState::Running { activity: Activity::Stopping { cause: StopCause::Cancelled }, .. } | TaskState::Resting { .. }
    ));
    let (after, rest) = bench.rest(task.id).await;
    assert!(!is_alive(&pid), "the worker was gone before its task was said to be cancelled");
    assert_eq!(rest, RestState::Cancelled);
    assert_eq!(after.findings.medium, 1, "what was found is kept");
    assert!(bench.events(task.id).await.iter().any(|event| matches!(event.kind, EventKind::Stopping { cause: StopCause::Cancelled })));
    let folder = bench.data().join("attempts").join(after.attempt.unwrap().to_string());
    assert!(!folder.join("work").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn while_content_is_being_pinned_a_cancel_ends_it_and_no_worker_starts() {
    let bench = Bench::new(1).await;
    let folder = bench.path("source");
    std::fs::create_dir(&folder).unwrap();
    for number in 0..6000 {
        std::fs::write(folder.join(format!("file-{number}.txt")), format!("line {number}\n")).unwrap();
    }
    let mut events = bench.engine.store().subscribe();
    let task = bench.engine.submit(scripted(ReviewSource::Folder { path: folder }, &[done()])).await.unwrap();
    while !matches!(events.recv().await.unwrap().kind, EventKind::Started { .. }) {}
    bench.engine.cancel(TaskRef::Id(task.id), true).await.unwrap();
    assert_eq!(bench.rest(task.id).await.1, RestState::Cancelled);
    let reviewed = bench.events(task.id).await.iter().any(|event| event.kind == EventKind::PhaseEntered { phase: Phase::Review });
    assert!(!reviewed);
}

fn three_files(bench: &Bench) -> ReviewSource {
    let path = bench.path("three");
    std::fs::create_dir(&path).unwrap();
    for name in ["a.txt", "b.txt", "c.txt"] {
        std::fs::write(path.join(name), name).unwrap();
    }
    ReviewSource::Folder { path }
}

async fn ledger(bench: &Bench, task: &Task) -> Vec<(String, CoverageStatus)> {
    let entries = bench.engine.store().coverage(task.id).await.unwrap();
    entries.into_iter().map(|entry| (entry.file.lossy(), entry.status)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn files_a_cancelled_review_never_reached_are_listed() {
    let bench = Bench::new(1).await;
    let steps = [covered("b.txt"), Step::AwaitFifo(bench.fifo("never"))];
    let task = bench.engine.submit(scripted(three_files(&bench), &steps)).await.unwrap();
    bench.until(task.id, |task| task.covered == 1).await;
    bench.engine.cancel(TaskRef::Id(task.id), true).await.unwrap();
    let (task, rest) = bench.rest(task.id).await;
    assert_eq!(rest, RestState::Cancelled);
    let missed = || CoverageStatus::Failed("not reached: the review was cancelled".into());
    assert_eq!(
        ledger(&bench, &task).await,
        [("a.txt".into(), missed()), ("b.txt".into(), CoverageStatus::Reviewed), ("c.txt".into(), missed())]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_leaves_files_out_is_not_done() {
    let bench = Bench::new(1).await;
    let task = bench.engine.submit(scripted(three_files(&bench), &[covered("b.txt"), done()])).await.unwrap();
    let (task, RestState::Partial { problem }) = bench.rest(task.id).await else { panic!("partial") };
    assert!(problem.message.contains("2 files of the change have no line"), "{}", problem.message);
    assert_eq!(task.covered, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_word_shortens_the_grace_of_the_first() {
    let bench = Bench::new(1).await;
    let task = bench.submit(&[Step::WritePid(bench.path("pid")), Step::Deaf]).await;
    let pid = bench.written("pid").await;
    bench.engine.cancel(TaskRef::Id(task.id), false).await.unwrap();
    bench.engine.cancel(TaskRef::Id(task.id), true).await.unwrap();
    assert_eq!(bench.rest(task.id).await.1, RestState::Cancelled);
    assert!(!is_alive(&pid));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_finished_first_keeps_its_outcome() {
    let bench = Bench::new(1).await;
    let gate = bench.fifo("gate");
    // It has said its last word, and stays.
    let task = bench.submit(&[finding(1), done(), Step::WritePid(bench.path("pid")), Step::AwaitFifo(gate)]).await;
    bench.written("pid").await;
    bench.until(task.id, |task| task.findings.medium == 1).await;
    bench.engine.cancel(TaskRef::Id(task.id), true).await.unwrap();
    let (_, rest) = bench.rest(task.id).await;
    assert_eq!(rest, RestState::Done);
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_races_with_every_moment_of_an_attempt() {
    let bench = Bench::new(2).await;
    for round in 0..40 {
        let task = bench.submit(&[finding(1), done()]).await;
        for _ in 0..round * 40 {
            tokio::task::yield_now().await;
        }
        let cancelled = bench.engine.cancel(TaskRef::Id(task.id), true).await;
        let (_, rest) = bench.rest(task.id).await;
        match cancelled {
            Ok(_) => assert!(matches!(rest, RestState::Cancelled | RestState::Done), "{rest:?}"),
            Err(_) => assert_eq!(rest, RestState::Done, "too late is said only of what had come to rest"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_limit_keeps_what_was_found_and_is_not_tried_again() {
    let bench = Bench::new(1).await;
    let mut task = bench.task(&[finding(1), Step::WritePid(bench.path("pid")), Step::AwaitFifo(bench.fifo("never"))]);
    task.limits.wall_timeout = Duration::from_millis(1500);
    let task = bench.engine.submit(task).await.unwrap();
    let (after, RestState::Partial { problem }) = bench.rest(task.id).await else { panic!("partial") };
    assert_eq!((problem.code, after.attempts), (ErrorCode::TimedOut, 1));
    assert!(problem.message.contains("1 s in phase `review`"), "{}", problem.message);
    assert!(!is_alive(&bench.written("pid").await));
    assert!(bench.events(task.id).await.iter().any(|event| matches!(event.kind, EventKind::Stopping { cause: StopCause::TimedOut })));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_limit_without_a_result_is_a_failure() {
    let bench = Bench::new(1).await;
    let mut task = bench.task(&[Step::AwaitFifo(bench.fifo("never"))]);
    task.limits.wall_timeout = Duration::from_millis(300);
    let task = bench.engine.submit(task).await.unwrap();
    let (_, RestState::Failed { problem }) = bench.rest(task.id).await else { panic!("failed") };
    assert_eq!(problem.code, ErrorCode::TimedOut);
}

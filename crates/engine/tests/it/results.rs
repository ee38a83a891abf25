//! What a worker says becomes what the user sees.

use st_model::broker::{BrokerMessage, LogLevel, WorkerEnd};
use st_model::event::{EventKind, Progress};
use st_model::id::TaskRef;
use st_model::problem::{ErrorCode, Problem};
use st_model::retry::FailureClass;
use st_model::review::ReviewSource;
use st_model::state::RestState;
use st_store::Queue as _;

use crate::fixtures::{Bench, covered, done, finding, has_finding, let_go, names, scripted};
use crate::worker::Step;

#[tokio::test(flavor = "multi_thread")]
async fn findings_are_seen_while_the_worker_still_works() {
    let bench = Bench::new(1).await;
    let gate = bench.fifo("gate");
    let mut ticks = bench.engine.ticks();
    let progress = Progress { done: 1, total: Some(2), unit: "files".into(), line: "a.txt".into() };
    let task = bench
        .submit(&[
            Step::Say(BrokerMessage::Progress { progress: progress.clone() }),
            Step::Say(BrokerMessage::Log { level: LogLevel::Info, text: "looking".into() }),
            finding(1),
            finding(1),
            finding(2),
            Step::AwaitFifo(gate.clone()),
            covered("a.txt"),
            done(),
        ])
        .await;
    let midway = bench.until(task.id, |task| task.findings.medium == 2).await;
    assert_eq!(midway.state.name(), "running");
    assert!(!bench.engine.idle());
    assert_eq!(ticks.recv().await.unwrap().progress, progress);
    assert_eq!(bench.engine.progress(task.id), Some(progress));
    assert_eq!(bench.engine.status().await.unwrap().running, 1);

    let_go(gate).await;
    let (task, rest) = bench.rest(task.id).await;
    assert_eq!(rest, RestState::Done);
    assert_eq!((task.findings.medium, task.covered), (2, 1), "a repeated finding is kept once");
    assert!(task.pinned_at.is_some());
    let log = bench.log(task.id).await;
    assert!(log.contains("INFO looking\n") && log.contains("INFO done\n"), "{log}");

    let phases: Vec<String> = bench
        .events(task.id)
        .await
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::PhaseEntered { phase } => Some(phase.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(phases, ["pin", "review", "report"]);
    let folder = bench.data().join("attempts").join(task.attempt.unwrap().to_string());
    let left: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["log"], "only the log is kept");
    assert_eq!(std::fs::read_dir(bench.data().join("pins")).unwrap().count(), 0);
    let mut open = bench.engine.open_tasks();
    open.wait_for(|open| *open == 0).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_says_itself_how_it_ended() {
    let bench = Bench::new(2).await;
    let problem = Problem::no_change(ErrorCode::MalformedPatch, "hunk 3 is cut off", "Get the whole patch.");
    let partial = Step::Say(BrokerMessage::Ended { ended: WorkerEnd::Partial { problem: problem.clone() } });
    let failed = Step::Say(BrokerMessage::Ended { ended: WorkerEnd::Failed { class: FailureClass::Permanent, problem: problem.clone() } });
    assert_eq!(bench.run(&[partial]).await.1, RestState::Partial { problem: problem.clone() });
    let (task, rest) = bench.run(&[failed]).await;
    assert_eq!(rest, RestState::Failed { problem });
    assert_eq!(task.attempts, 1, "what would end the same way is not tried again");
}

#[tokio::test(flavor = "multi_thread")]
async fn nonsense_is_refused_and_does_no_harm() {
    let bench = Bench::new(1).await;
    let (task, rest) = bench
        .run(&[
            Step::Raw { text: "nonsense\n".into(), times: 100 },
            Step::Raw { text: "x".repeat(1 << 20), times: 1 },
            Step::Raw { text: "\n".into(), times: 1 },
            finding(1),
            Step::Raw {
                text: "{\"say\":\"progress\",\"progress\":{\"done\":1,\"total\":null,\"unit\":\"u\",\"line\":\"\"}}\n".into(),
                times: 20_000,
            },
            finding(2),
            done(),
        ])
        .await;
    assert_eq!((rest, task.findings.medium), (RestState::Done, 2));
    let log = bench.log(task.id).await;
    assert!(log.contains("refused: a line is no message"), "{log}");
    assert!(log.contains("more lines that are no messages"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_only_speaks_nonsense_is_ended_and_told_of() {
    let bench = Bench::new(1).await;
    let mut task = bench.task(&[Step::Raw { text: "nonsense\n".into(), times: 1_000_000 }, done()]);
    task.limits.retry.max_attempts = 1;
    let task = bench.engine.submit(task).await.unwrap();
    let (_, RestState::Failed { problem }) = bench.rest(task.id).await else { panic!("it failed") };
    assert_eq!(problem.code, ErrorCode::WorkerDied);
    assert!(problem.message.contains("lines that are no messages"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_can_not_be_read_fails_at_once_with_its_cause() {
    let bench = Bench::new(1).await;
    let missing = ReviewSource::PatchFile { path: bench.path("missing.patch") };
    let task = bench.engine.submit(scripted(missing, &[done()])).await.unwrap();
    let (task, RestState::Failed { problem }) = bench.rest(task.id).await else { panic!("it failed") };
    assert_eq!(problem.code, ErrorCode::NotFound);
    assert!(!problem.fix.is_empty());
    assert_eq!(task.attempts, 1);
    assert!(bench.log(task.id).await.contains("ERROR failed: "));
}

#[tokio::test(flavor = "multi_thread")]
async fn later_edits_do_not_move_a_review_that_is_tried_again() {
    let bench = Bench::new(1).await;
    let (patch, first, second) = (bench.path("a.patch"), bench.path("first.json"), bench.path("second.json"));
    std::fs::write(&patch, crate::fixtures::PATCH).unwrap();
    let gate = bench.fifo("gate");
    let crash = vec![Step::Copy { from: "job.json".into(), to: first.clone() }, Step::AwaitFifo(gate.clone()), Step::Exit(3)];
    let steps =
        [Step::OnceBy { marker: bench.path("once"), steps: crash }, Step::Copy { from: "job.json".into(), to: second.clone() }, done()];
    let task = bench.engine.submit(scripted(ReviewSource::PatchFile { path: patch.clone() }, &steps)).await.unwrap();
    bench.written("first.json").await;
    std::fs::remove_file(&patch).unwrap();
    let_go(gate).await;
    let (after, rest) = bench.rest(task.id).await;
    assert_eq!((rest, after.attempts), (RestState::Done, 2));
    assert_eq!(std::fs::read_to_string(first).unwrap(), std::fs::read_to_string(second).unwrap());
    let pinned = names(&bench.events(task.id).await).iter().filter(|name| **name == "pinned").count();
    assert_eq!(pinned, 1, "frozen once");
}

#[tokio::test(flavor = "multi_thread")]
async fn running_again_makes_a_new_task() {
    let bench = Bench::new(1).await;
    let gate = bench.fifo("gate");
    let first = bench.submit(&[Step::AwaitFifo(gate.clone()), finding(1), done()]).await;
    let too_early = bench.engine.retry(TaskRef::Id(first.id)).await.unwrap_err();
    assert!(too_early.to_string().contains("can't run again"), "{too_early}");
    let_go(gate.clone()).await;
    bench.rest(first.id).await;
    let again = bench.engine.retry(TaskRef::Number(first.number)).await.unwrap();
    assert_eq!(again.submitted.rerun_of, Some(first.id));
    assert_ne!(again.id, first.id);
    let_go(gate).await;
    let (_, rest) = bench.rest(again.id).await;
    assert_eq!(rest, RestState::Done);
    assert!(has_finding(&bench.events(again.id).await));
    assert_eq!(bench.engine.store().findings(again.id).await.unwrap().len(), 1);
}

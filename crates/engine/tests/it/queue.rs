//! Order, holding, draining and ending.

use st_engine::EngineError;
use st_model::event::EventKind;
use st_model::id::{EventSeq, TaskId};
use st_model::state::{RestState, TaskState};
use st_model::task::Priority;
use st_store::Queue as _;

use crate::fixtures::{Bench, done, finding, is_alive, let_go};
use crate::worker::Step;

async fn started(bench: &Bench) -> Vec<TaskId> {
    let events = bench.engine.store().events(EventSeq(0), None, 10_000).await.unwrap();
    events.iter().filter(|event| matches!(event.kind, EventKind::Started { .. })).map(|event| event.task).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn urgent_tasks_start_first_and_equals_in_order() {
    let bench = Bench::new(1).await;
    bench.engine.set_paused(true).await.unwrap();
    let mut ids = Vec::new();
    for priority in [Priority::Low, Priority::Normal, Priority::High, Priority::Normal] {
        let mut task = bench.task(&[done()]);
        task.priority = priority;
        ids.push(bench.engine.submit(task).await.unwrap().id);
    }
    assert_eq!(bench.engine.status().await.unwrap().waiting, 4);
    assert!(started(&bench).await.is_empty(), "nothing starts while paused");
    bench.engine.set_paused(false).await.unwrap();
    bench.rest(ids[0]).await;
    assert_eq!(started(&bench).await, [ids[2], ids[1], ids[3], ids[0]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn never_more_run_than_there_are_slots() {
    let bench = Bench::new(2).await;
    let gates: Vec<_> = (0..3).map(|number| bench.fifo(&format!("gate-{number}"))).collect();
    let mut ids = Vec::new();
    for (number, gate) in (0..).zip(&gates) {
        let steps = [finding(number), Step::AwaitFifo(gate.clone()), done()];
        ids.push(bench.submit(&steps).await.id);
    }
    for id in &ids[..2] {
        bench.until(*id, |task| task.findings.medium == 1).await;
    }
    let status = bench.engine.status().await.unwrap();
    assert_eq!((status.running, status.waiting, status.slots), (2, 1, 2));
    assert_eq!(bench.until(ids[2], |_| true).await.state, TaskState::Queued);
    for gate in gates {
        // Opens only once its worker waits there; the third starts when a slot is free.
        let_go(gate).await;
    }
    for id in ids {
        assert_eq!(bench.rest(id).await.1, RestState::Done);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_survives_a_restart() {
    let bench = Bench::new(1).await;
    bench.engine.set_paused(true).await.unwrap();
    let task = bench.submit(&[done()]).await;
    let bench = bench.restarted(false).await;
    assert!(bench.engine.status().await.unwrap().paused);
    assert_eq!(bench.until(task.id, |_| true).await.state, TaskState::Queued);
    bench.engine.set_paused(false).await.unwrap();
    assert_eq!(bench.rest(task.id).await.1, RestState::Done);
}

#[tokio::test(flavor = "multi_thread")]
async fn draining_lets_running_tasks_finish_and_starts_none() {
    let bench = Bench::new(1).await;
    let gate = bench.fifo("gate");
    let running = bench.submit(&[finding(1), Step::AwaitFifo(gate.clone()), done()]).await;
    let waiting = bench.submit(&[done()]).await;
    bench.until(running.id, |task| task.findings.medium == 1).await;
    let engine = bench.engine.clone();
    let draining = tokio::spawn(async move { engine.stop(false).await });
    while !bench.engine.status().await.unwrap().stopping {
        tokio::task::yield_now().await;
    }
    assert!(matches!(bench.engine.submit(bench.task(&[done()])).await, Err(EngineError::Stopping)));
    assert!(!draining.is_finished());
    let_go(gate).await;
    draining.await.unwrap();
    let bench = bench.restarted(false).await;
    assert_eq!(bench.until(running.id, |_| true).await.state, TaskState::Resting { rest: RestState::Done });
    assert_eq!(bench.rest(waiting.id).await.1, RestState::Done);
}

#[tokio::test(flavor = "multi_thread")]
async fn ending_at_once_puts_running_tasks_back_uncounted() {
    let bench = Bench::new(1).await;
    let first = vec![finding(1), Step::WritePid(bench.path("pid")), Step::AwaitFifo(bench.fifo("never"))];
    let task = bench.submit(&[Step::OnceBy { marker: bench.path("once"), steps: first }, finding(2), done()]).await;
    let pid = bench.written("pid").await;
    bench.until(task.id, |task| task.findings.medium == 1).await;
    let engine = bench.engine.clone();
    let draining = tokio::spawn(async move { engine.stop(false).await });
    bench.engine.stop(true).await;
    draining.await.unwrap();
    assert!(!is_alive(&pid));
    let bench = bench.restarted(true).await;
    let (after, rest) = bench.rest(task.id).await;
    assert_eq!((rest, after.attempts, after.findings.medium), (RestState::Done, 1, 2));
    let reasons: Vec<String> = bench
        .events(task.id)
        .await
        .into_iter()
        .filter_map(|event| match event.kind {
            EventKind::Requeued { reason } => Some(reason),
            _ => None,
        })
        .collect();
    assert_eq!(reasons, ["the engine stopped"]);
}

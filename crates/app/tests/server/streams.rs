//! Snapshots and what follows them.

use st_app::dto::StateDto;
use st_app::protocol::{Call, Reply};
use st_testkit::engine::{EngineSetup, TestEngine, show, submit};
use st_testkit::stream::Watcher;
use st_testkit::worker::{Gate, Step, script};

use crate::{setup, start, watch};

fn seqs(watcher: &Watcher) -> Vec<u64> {
    watcher.events.iter().filter_map(|event| event.seq).collect()
}

#[tokio::test]
async fn a_task_is_followed_from_submit_to_rest() {
    let (engine, client) = start().await;
    let mut watcher = watch(&client, None).await;
    assert_eq!((watcher.subscription.snapshot.seq, watcher.tasks.len()), (0, 0));
    let steps = [Step::Log("hello".into()), Step::Findings(3), Step::Covered("a.rs".into()), Step::Covered("b.rs".into()), Step::Done];
    let task = submit(&client, &script(&steps)).await;
    assert_eq!((task.number, task.kind.as_str(), task.source.as_str()), (1, "review", "test.patch"));

    let row = watcher.rest(1).await;
    assert_eq!(row.state, StateDto::Done);
    assert_eq!((row.findings.high, row.findings.low, row.clean), (2, 1, false));
    assert_eq!(row.covered.get("reviewed"), Some(&2));
    let kinds: Vec<&str> = watcher.events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!((kinds.first(), kinds.last()), (Some(&"submitted"), Some(&"settled")));
    assert_eq!(kinds.iter().filter(|kind| **kind == "finding").count(), 3);

    assert_eq!(show(&client, 1).await.coverage.len(), 2);
    let Reply::Findings(findings) = client.call(Call::Findings { task: "#1".into() }).await.unwrap() else { panic!() };
    assert_eq!(findings.iter().map(|finding| finding.id).collect::<Vec<_>>(), [1, 2, 3]);
    let log = Call::Log { task: task.id, attempt: None, from: 0, limit: 100 };
    let Reply::Log(page) = client.call(log).await.unwrap() else { panic!() };
    assert!(page.attempt == 1 && page.lines.iter().any(|line| line.ends_with("hello")), "{page:?}");
    engine.stop().await;
}

#[tokio::test]
async fn two_clients_see_the_same_events_in_the_same_order() {
    let (engine, client) = start().await;
    let other = engine.client().await;
    let mut first = watch(&client, None).await;
    let mut second = watch(&other, None).await;
    for _ in 0..5 {
        submit(&client, &script(&[Step::Findings(20), Step::Covered("a".into()), Step::Done])).await;
        submit(&other, &script(&[Step::Fail])).await;
    }
    for number in 1..=10 {
        let (a, b) = (first.rest(number).await, second.rest(number).await);
        assert_eq!(a.state, b.state);
    }
    let until = |watcher: &Watcher| watcher.events.iter().filter(|event| event.kind == "settled").count() == 10;
    first.until("ten ends", until).await;
    second.until("ten ends", until).await;
    assert_eq!(first.events, second.events);
    engine.stop().await;
}

#[tokio::test]
async fn thousands_of_events_reach_a_slow_client_and_a_resumed_one_without_gap() {
    let (engine, client) = start().await;
    // Subscribed and not read: its batches pile up in the socket, then the stream waits for it.
    let mut slow = watch(&client, None).await;
    let mut fast = watch(&client, None).await;
    let task = submit(&client, &script(&[Step::CoveredMany(4000), Step::Findings(500), Step::Done])).await;
    // Leaves in the middle, and comes back where it was.
    fast.until("a thousand events", |watcher| watcher.events.len() > 1000).await;
    let (mut seen, left_at) = (fast.events.clone(), fast.last_seq());
    drop(fast);
    let mut resumed = watch(&client, Some(left_at)).await;
    assert_eq!(resumed.subscription.snapshot.seq, left_at);
    resumed.event(task.number, "settled").await;
    seen.extend(resumed.events);

    let mut replayed = watch(&client, Some(0)).await;
    replayed.event(task.number, "settled").await;
    assert!(replayed.events.len() > 4500, "{}", replayed.events.len());
    assert!(replayed.batches < replayed.events.len() / 100, "{} batches", replayed.batches);
    assert_eq!(seen, replayed.events);
    slow.event(task.number, "settled").await;
    assert_eq!(slow.events, replayed.events);
    assert_eq!(seqs(&slow), (1..=slow.last_seq()).collect::<Vec<_>>());
    engine.stop().await;
}

#[tokio::test]
async fn events_that_are_large_come_in_more_batches() {
    let (engine, client) = start().await;
    submit(&client, &script(&[Step::LargeFindings(200), Step::Done])).await;
    watch(&client, None).await.rest(1).await;
    let mut watcher = watch(&client, Some(0)).await;
    watcher.event(1, "settled").await;
    assert!((5..=12).contains(&watcher.batches), "{} batches of at most 8 MiB for 40 MiB", watcher.batches);
    assert_eq!(watcher.events.iter().filter(|event| event.kind == "finding").count(), 200);
    engine.stop().await;
}

#[tokio::test]
async fn a_number_from_the_future_resumes_at_the_end() {
    let (engine, client) = start().await;
    submit(&client, &script(&[Step::Done])).await;
    watch(&client, Some(0)).await.rest(1).await;
    let mut watcher = watch(&client, Some(1_000_000)).await;
    assert!(watcher.last_seq() < 100);
    submit(&client, &script(&[Step::Done])).await;
    watcher.rest(2).await;
    assert!(watcher.events.iter().all(|event| event.task == 2));
    engine.stop().await;
}

#[tokio::test]
async fn one_task_can_be_watched_alone() {
    let (engine, client) = start().await;
    submit(&client, &script(&[Step::Findings(2), Step::Done])).await;
    submit(&client, &script(&[Step::Findings(2), Step::Done])).await;
    let mut watcher = Watcher::new(client.subscribe(Some(0), Some("2".into()), false).await.unwrap());
    watcher.event(2, "settled").await;
    assert!(watcher.events.iter().all(|event| event.task == 2));
    assert_eq!(watcher.tasks.keys().collect::<Vec<_>>(), [&2]);
    let problem = client.subscribe(None, Some("99".into()), false).await.unwrap_err();
    assert_eq!(problem.code.as_str(), "unknown_task");
    engine.stop().await;
}

#[tokio::test]
async fn ticks_are_folded_to_the_newest_of_each_batch() {
    let (engine, client) = start().await;
    let folder = tempfile::tempdir().unwrap();
    let gate = Gate::new(folder.path(), "gate");
    let mut watcher = watch(&client, None).await;
    submit(&client, &script(&[Step::Ticks(20_000), Step::Progress(7, 9), gate.step(), Step::Done])).await;
    watcher.until("the last tick", |watcher| watcher.ticks.last().is_some_and(|tick| tick.data["progress"]["done"] == 7)).await;
    assert!(watcher.ticks.len() <= watcher.batches, "{} ticks in {} batches", watcher.ticks.len(), watcher.batches);
    let row = &watcher.tasks[&1];
    assert_eq!((row.progress.done, row.progress.total, row.progress.phase.as_str()), (7, Some(9), "review"));
    // Who comes late finds the newest tick in the snapshot.
    let late = watch(&client, None).await;
    assert_eq!(late.tasks[&1].progress.done, 7);
    gate.open().await;
    watcher.rest(1).await;
    engine.stop().await;
}

#[tokio::test]
async fn a_waiting_task_learns_that_it_moved_up_though_nothing_happened_to_it() {
    let engine = TestEngine::start(EngineSetup { slots: Some(1), ..setup() }).await;
    let client = engine.client().await;
    let folder = tempfile::tempdir().unwrap();
    let gates: Vec<Gate> = ["a", "b"].iter().map(|name| Gate::new(folder.path(), name)).collect();
    let mut watcher = watch(&client, None).await;
    for gate in &gates {
        submit(&client, &script(&[gate.step(), Step::Done])).await;
    }
    submit(&client, &script(&[Step::Done])).await;
    watcher.event(1, "started").await;
    watcher
        .until("the third is second in line", |watcher| {
            watcher.tasks.get(&3).is_some_and(|row| row.reason == "The only slot is busy. 2nd in line.")
        })
        .await;
    let row = &watcher.tasks[&3];
    assert_eq!((row.position, row.waiting_for[0].holder.as_str(), row.waiting_for[0].mode.as_str()), (Some(2), "#1", "slot"));
    assert_eq!((watcher.status.slots, watcher.status.running, watcher.status.waiting), (1, 1, 2));
    gates[0].open().await;
    watcher.until("the third is next", |watcher| watcher.tasks[&3].position == Some(1)).await;
    assert_eq!(watcher.tasks[&3].waiting_for[0].holder, "#2");
    gates[1].open().await;
    watcher.rest(3).await;
    watcher.until("nothing runs", |watcher| watcher.status.running == 0 && watcher.status.waiting == 0).await;
    engine.stop().await;
}

#[tokio::test]
async fn a_pause_reaches_every_subscriber_and_holds_new_tasks() {
    let (engine, client) = start().await;
    let mut watcher = watch(&client, None).await;
    let Reply::Status(status) = client.call(Call::Pause { paused: true }).await.unwrap() else { panic!() };
    assert!(status.paused);
    watcher.until("the pause", |watcher| watcher.status.paused).await;
    submit(&client, &script(&[Step::Done])).await;
    watcher.until("the task waits", |watcher| watcher.tasks.get(&1).is_some_and(|row| row.reason == "New tasks are paused")).await;
    client.call(Call::Pause { paused: false }).await.unwrap();
    assert_eq!(watcher.rest(1).await.state, StateDto::Done);
    engine.stop().await;
}

#[tokio::test]
async fn a_dropped_subscription_ends_its_connection() {
    let engine = TestEngine::start(EngineSetup { idle_exit: Some(std::time::Duration::from_millis(50)), ..setup() }).await;
    let client = engine.client().await;
    let watchers = [watch(&client, None).await, watch(&client, None).await];
    drop(client);
    assert!(!engine.has_ended());
    drop(watchers);
    // No client is left: it ends by itself.
    engine.ended().await;
}

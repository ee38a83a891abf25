//! What each request does, and how it refuses.

use st_app::client::Client;
use st_app::dto::StateDto;
use st_app::protocol::{Call, PatchText, Reply};
use st_app::{ErrorCode, Problem};
use st_testkit::engine::{EngineSetup, TestEngine, submit};
use st_testkit::patch::{LEFTOVER, adding};
use st_testkit::worker::{Gate, Step, script};

use crate::{setup, start, watch};

async fn refused(client: &Client, call: Call) -> Problem {
    let problem = client.call(call).await.unwrap_err();
    assert!(
        !problem.message.is_empty() && !problem.disk_effect.is_empty() && problem.fix.iter().all(|fix| fix.ends_with('.')),
        "{problem:?}"
    );
    problem
}

fn review(what: Option<&str>, text: Option<&str>) -> Call {
    let text = text.map(|b64| PatchText { b64: b64.into(), label: "stdin".into() });
    Call::Review { what: what.map(str::to_owned), text, cwd: None, base: None, runner: None, priority: None }
}

#[tokio::test]
async fn what_can_not_be_done_is_refused_in_words() {
    let (engine, client) = start().await;
    let task = || "7".to_owned();
    let with = |change: fn(&mut Call)| {
        let mut call = review(None, Some("ZGlmZg=="));
        change(&mut call);
        call
    };
    let runner = with(|call| {
        if let Call::Review { runner, .. } = call {
            *runner = Some("magic".into())
        }
    });
    let priority = with(|call| {
        if let Call::Review { priority, .. } = call {
            *priority = Some("asap".into())
        }
    });
    let cwd = with(|call| {
        if let Call::Review { cwd, .. } = call {
            *cwd = Some("here".into())
        }
    });
    let cases = [
        (Call::Show { task: task() }, ErrorCode::UnknownTask),
        (Call::Show { task: "seven".into() }, ErrorCode::UnknownTask),
        (Call::Findings { task: task() }, ErrorCode::UnknownTask),
        (Call::Coverage { task: task() }, ErrorCode::UnknownTask),
        (Call::Log { task: task(), attempt: None, from: 0, limit: 10 }, ErrorCode::UnknownTask),
        (Call::Cancel { task: task(), now: false }, ErrorCode::UnknownTask),
        (Call::Retry { task: task() }, ErrorCode::UnknownTask),
        (Call::Priority { task: task(), priority: "high".into() }, ErrorCode::UnknownTask),
        (Call::Priority { task: task(), priority: "asap".into() }, ErrorCode::Usage),
        (Call::List { states: vec!["sleeping".into()], limit: None }, ErrorCode::Usage),
        (review(None, None), ErrorCode::Usage),
        (review(Some("x.patch"), Some("ZGlmZg==")), ErrorCode::Usage),
        (review(None, Some("not base64!")), ErrorCode::Usage),
        (review(None, Some("IAo=")), ErrorCode::NothingToReview),
        (runner, ErrorCode::Usage),
        (priority, ErrorCode::Usage),
        (cwd, ErrorCode::Usage),
        (Call::ConfigSet { key: "colour".into(), value: Some("red".into()) }, ErrorCode::Usage),
        (Call::ConfigSet { key: "slots".into(), value: Some("0".into()) }, ErrorCode::Usage),
    ];
    for (call, code) in cases {
        let words = format!("{call:?}");
        assert_eq!(refused(&client, call).await.code, code, "{words}");
    }
    let Reply::Tasks(tasks) = client.call(Call::List { states: vec![], limit: None }).await.unwrap() else { panic!() };
    assert!(tasks.is_empty(), "nothing was queued");
    engine.stop().await;
}

#[tokio::test]
async fn a_setting_is_kept_and_shows_where_it_comes_from() {
    let (engine, client) = start().await;
    let set = |value: Option<&str>| Call::ConfigSet { key: "review.timeout".into(), value: value.map(str::to_owned) };
    let Reply::Settings(rows) = client.call(set(Some("15m"))).await.unwrap() else { panic!() };
    assert_eq!(rows, [("review.timeout".into(), "15m".into(), "you".into())]);
    let task = submit(&client, &script(&[Step::Done])).await;
    assert_eq!(task.timeout_ms, 900_000);
    let Reply::Settings(rows) = client.call(set(None)).await.unwrap() else { panic!() };
    assert_eq!(rows, [("review.timeout".into(), "10m".into(), "default".into())]);
    let Reply::Settings(all) = client.call(Call::ConfigList).await.unwrap() else { panic!() };
    assert!(all.len() >= 5 && all.iter().all(|row| row.0 != "paused"));
    engine.stop().await;
}

#[tokio::test]
async fn the_number_of_slots_is_a_setting_of_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let setup = || EngineSetup { slots: None, data_dir: Some(folder.path().join("data")), ..setup() };
    let engine = TestEngine::start(setup()).await;
    let call = Call::ConfigSet { key: "slots".into(), value: Some("7".into()) };
    engine.client().await.call(call).await.unwrap();
    engine.stop().await;
    let engine = TestEngine::start(setup()).await;
    let Reply::Status(status) = engine.client().await.call(Call::Status).await.unwrap() else { panic!() };
    assert_eq!(status.slots, 7);
    engine.stop().await;
}

#[tokio::test]
async fn a_running_task_is_cancelled_and_a_resting_one_runs_again_as_a_new_one() {
    let (engine, client) = start().await;
    let folder = tempfile::tempdir().unwrap();
    let gate = Gate::new(folder.path(), "gate");
    let mut watcher = watch(&client, None).await;
    submit(&client, &script(&[Step::Covered("a".into()), gate.step(), Step::Done])).await;
    watcher.event(1, "covered").await;
    assert_eq!(refused(&client, Call::Retry { task: "1".into() }).await.code, ErrorCode::WrongState);
    client.call(Call::Cancel { task: "1".into(), now: true }).await.unwrap();
    let row = watcher.rest(1).await;
    assert_eq!((row.state, row.reason.as_str(), row.covered.get("reviewed")), (StateDto::Cancelled, "Cancelled by you", Some(&1)));
    assert_eq!(refused(&client, Call::Cancel { task: "1".into(), now: false }).await.code, ErrorCode::WrongState);

    let Reply::Task(again) = client.call(Call::Retry { task: "1".into() }).await.unwrap() else { panic!() };
    assert_eq!((again.number, again.rerun_of), (2, Some(1)));
    gate.open().await;
    assert_eq!(watcher.rest(2).await.state, StateDto::Done);
    engine.stop().await;
}

#[tokio::test]
async fn a_task_that_waits_can_be_made_more_urgent() {
    let (engine, client) = start().await;
    client.call(Call::Pause { paused: true }).await.unwrap();
    for _ in 0..3 {
        submit(&client, &script(&[Step::Done])).await;
    }
    let Reply::Task(row) = client.call(Call::Priority { task: "3".into(), priority: "high".into() }).await.unwrap() else { panic!() };
    assert_eq!((row.priority.as_str(), row.position), ("high", Some(1)));
    let Reply::Tasks(rows) = client.call(Call::List { states: vec!["queued".into()], limit: None }).await.unwrap() else { panic!() };
    assert_eq!(rows.iter().map(|row| (row.number, row.position)).collect::<Vec<_>>(), [(3, Some(1)), (2, Some(3)), (1, Some(2))]);
    engine.stop().await;
}

#[tokio::test]
async fn what_was_dropped_is_understood_before_anything_is_queued() {
    let (engine, client) = start().await;
    let folder = tempfile::tempdir().unwrap();
    let patch = folder.path().join("fix.patch");
    let text = adding("a.py", &LEFTOVER);
    std::fs::write(&patch, &text).unwrap();
    let items = vec![patch.to_string_lossy().into_owned(), text, folder.path().join("missing.patch").to_string_lossy().into_owned()];
    let Reply::Items(items) = client.call(Call::Classify { items, cwd: None }).await.unwrap() else { panic!() };
    let kinds: Vec<Option<&str>> = items.iter().map(|item| item.kind.as_deref()).collect();
    assert_eq!(kinds, [Some("patch"), Some("text"), None]);
    assert!(items[2].error.as_ref().is_some_and(|error| !error.fix.is_empty()));
    engine.stop().await;
}

#[tokio::test]
async fn many_requests_of_one_client_are_answered_each_with_its_own_reply() {
    let (engine, client) = start().await;
    for _ in 0..20 {
        submit(&client, &script(&[Step::Done])).await;
    }
    let calls = (1..=20u64).cycle().take(200).map(|number| {
        let client = client.clone();
        tokio::spawn(async move { (number, client.call(Call::Show { task: number.to_string() }).await.unwrap()) })
    });
    for call in calls.collect::<Vec<_>>() {
        let (number, reply) = call.await.unwrap();
        assert!(matches!(reply, Reply::Task(task) if task.number == number));
    }
    engine.stop().await;
}

#[tokio::test]
async fn the_machine_is_looked_at_through_the_engine() {
    let (engine, client) = start().await;
    let Reply::Checks(checks) = client.call(Call::Doctor).await.unwrap() else { panic!() };
    let check = |name: &str| checks.iter().find(|check| check.name == name).unwrap();
    assert!(check("data directory").ok);
    assert!(check("engine").found.starts_with("answers"));
    assert!(check("rules").found.contains(" rules; rules check patterns, not logic"));
    engine.stop().await;
}

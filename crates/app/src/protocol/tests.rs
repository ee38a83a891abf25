//! Goldens: the JSON of every frame. A difference here is a change of the protocol.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;
use st_model::problem::ErrorCode;

use super::*;
use crate::dto::{ClaimsDto, CountsDto, ErrorDto, EventDto, ProgressDto, StateDto, SuggestionDto, ThrottledDto, TokensDto, WaitingForDto};

/// One line of JSON, after checking that it reads back as what it was.
fn line<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T) -> String {
    let line = serde_json::to_string(value).unwrap();
    assert_eq!(&serde_json::from_str::<T>(&line).unwrap(), value);
    line
}

fn calls() -> Vec<Call> {
    let task = || "42".to_owned();
    let all = vec![
        Call::Review {
            what: Some("fix.patch".into()),
            text: None,
            cwd: Some("/home/ada/api".into()),
            base: Some("main".into()),
            runner: Some("rules".into()),
            priority: Some("high".into()),
        },
        Call::Classify { items: vec!["fix.patch".into()], cwd: Some("/home/ada".into()) },
        Call::List { states: vec!["done".into()], limit: Some(20) },
        Call::Show { task: task() },
        Call::Findings { task: task() },
        Call::Coverage { task: task() },
        Call::Log { task: task(), attempt: Some(2), from: -100, limit: 100 },
        Call::Cancel { task: task(), now: true },
        Call::Retry { task: task() },
        Call::Priority { task: task(), priority: "low".into() },
        Call::Pause { paused: true },
        Call::Status,
        Call::Subscribe { since: Some(7), task: Some(task()), notifier: true },
        Call::ConfigList,
        Call::ConfigSet { key: "slots".into(), value: Some("4".into()) },
        Call::Doctor,
        Call::Stop { now: false },
    ];
    // A new call fails to compile here until the list above has it.
    for call in &all {
        match call {
            Call::Review { .. }
            | Call::Classify { .. }
            | Call::List { .. }
            | Call::Show { .. }
            | Call::Findings { .. }
            | Call::Coverage { .. }
            | Call::Log { .. }
            | Call::Cancel { .. }
            | Call::Retry { .. }
            | Call::Priority { .. }
            | Call::Pause { .. }
            | Call::Status
            | Call::Subscribe { .. }
            | Call::ConfigList
            | Call::ConfigSet { .. }
            | Call::Doctor
            | Call::Stop { .. } => {}
        }
    }
    all
}

fn error() -> ErrorDto {
    ErrorDto {
        code: "timed_out".into(),
        message: "The time limit was reached".into(),
        disk_effect: "No file was changed.".into(),
        fix: vec!["Raise it.".into()],
    }
}

fn coverage() -> CoverageDto {
    CoverageDto {
        file: "caf\u{fffd}.txt".into(),
        file_b64: Some("Y2Fm6S50eHQ=".into()),
        status: "skipped".into(),
        reason: Some("binary".into()),
    }
}

fn progress() -> ProgressDto {
    ProgressDto { done: 3, total: Some(9), unit: "files".into(), phase: "review".into(), line: "src/main.rs".into() }
}

fn task() -> TaskDto {
    let at = || "2026-11-30T09:48:58.007Z".to_owned();
    TaskDto {
        id: "01890000-0000-7000-8000-00000000002a".into(),
        number: 42,
        title: "Review fix.patch".into(),
        kind: "review".into(),
        runner: "rules".into(),
        state: StateDto::NeedsRecovery,
        reason: "All 2 slots are busy. 2nd in line.".into(),
        change_state: "none".into(),
        complete: false,
        priority: "normal".into(),
        attempt: 1,
        max_attempts: 3,
        retry_at: Some(at()),
        throttled: Some(ThrottledDto { retry_at: at(), n: 1, of: 5, cause: "Rate limited".into() }),
        position: Some(2),
        waiting_for: vec![WaitingForDto { resource: "a worker slot".into(), mode: "slot".into(), holder: "#40, #41".into(), since: at() }],
        claims: ClaimsDto { read: vec!["src/**".into()], write: vec![], sqlite: vec![], named: vec![], mode: "at-publish".into() },
        progress: progress(),
        timeout_ms: 600_000,
        tokens: TokensDto { input: 1, output: 2, cost_usd: 0.5 },
        created_at: at(),
        pinned_at: Some(at()),
        started_at: Some(at()),
        finished_at: None,
        findings: CountsDto { high: 1, medium: 2, low: 3, info: 4 },
        coverage: vec![coverage()],
        covered: BTreeMap::from([("reviewed".into(), 3)]),
        clean: false,
        conflicts: vec![],
        error: Some(error()),
        source: "fix.patch".into(),
        origin: Some("/home/ada/api/fix.patch".into()),
        rerun_of: Some(41),
    }
}

fn finding() -> FindingDto {
    FindingDto {
        id: 1,
        file: "src/a.rs".into(),
        file_b64: None,
        old_file: Some("src/b.rs".into()),
        old_file_b64: None,
        side: "new".into(),
        start_line: 3,
        end_line: 4,
        severity: "high".into(),
        rule: "security.sql-concat".into(),
        title: "SQL built from text".into(),
        body: "Bind the value.".into(),
        quote: "format!(…)".into(),
        anchor: "exact".into(),
        suggestion: Some(SuggestionDto { patch: None }),
        base: Some("git:sha1:0000000000000000000000000000000000000000:100644".into()),
        runner: "rules".into(),
        confidence: 0.5,
        cwe: Some("CWE-89".into()),
        fingerprint: "f".into(),
        status: "new".into(),
    }
}

fn status() -> StatusDto {
    StatusDto {
        version: "0.1.0".into(),
        slots: 2,
        running: 1,
        waiting: 3,
        needs_you: 0,
        paused: false,
        stopping: false,
        data_dir: "/home/ada/.local/share/sidetrack".into(),
    }
}

fn replies() -> Vec<Reply> {
    let event = |seq, kind: &str, data| EventDto { seq, task: 42, at: "2026-11-30T09:48:58.007Z".into(), kind: kind.into(), data };
    let all = vec![
        Reply::Task(Box::new(task())),
        Reply::Tasks(vec![]),
        Reply::Findings(vec![finding()]),
        Reply::Coverage(vec![coverage()]),
        Reply::Log(LogPageDto { attempt: 1, from: 0, next: 6, size: 6, lines: vec!["hello".into()] }),
        Reply::Items(vec![ItemDto { label: "x".into(), kind: None, summary: String::new(), error: Some(error()) }]),
        Reply::Status(status()),
        Reply::Snapshot(SnapshotDto { seq: 7, tasks: vec![], status: status(), more: true }),
        Reply::Update(UpdateDto {
            seq: 9,
            events: vec![
                event(Some(9), "note", serde_json::json!({"text": "x"})),
                event(None, "progress", serde_json::json!({"progress": progress()})),
            ],
            tasks: vec![],
            status: None,
        }),
        Reply::Settings(vec![("slots".into(), "auto".into(), "default".into())]),
        Reply::Checks(vec![CheckDto { name: "git".into(), ok: false, found: "missing".into(), fix: Some("Install git.".into()) }]),
        Reply::Ok,
        Reply::Error(Problem::refused(ErrorCode::Usage, "The line is no request", "Send one.")),
    ];
    for reply in &all {
        match reply {
            Reply::Task(_)
            | Reply::Tasks(_)
            | Reply::Findings(_)
            | Reply::Coverage(_)
            | Reply::Log(_)
            | Reply::Items(_)
            | Reply::Status(_)
            | Reply::Snapshot(_)
            | Reply::Update(_)
            | Reply::Settings(_)
            | Reply::Checks(_)
            | Reply::Ok
            | Reply::Error(_) => {}
        }
    }
    all
}

#[test]
fn the_greeting_is_as_every_version_writes_it() {
    insta::assert_snapshot!(
        "greeting",
        [
            line(&Hello { protocol: 1, version: "0.1.0".into(), client: "cli".into() }),
            line(&Welcome { protocol: 1, version: "0.1.0".into(), boot: "01890000-0000-7000-8000-000000000001".into(), pid: 4711 }),
            line(&Request { id: 1, call: Call::Stop { now: false } }),
            line(&Response { id: 1, reply: Reply::Ok }),
        ]
        .join("\n")
    );
}

#[test]
fn every_request_is_as_written_down() {
    let lines: Vec<String> = calls().into_iter().map(|call| line(&Request { id: 1, call })).collect();
    insta::assert_snapshot!("requests", lines.join("\n"));
}

#[test]
fn every_response_is_as_written_down() {
    let lines: Vec<String> = replies().into_iter().map(|reply| line(&Response { id: 1, reply })).collect();
    insta::assert_snapshot!("responses", lines.join("\n"));
}

#[test]
fn a_calls_name_is_the_one_in_its_request() {
    for call in calls() {
        assert_eq!(serde_json::to_value(&call).unwrap()["call"], call.name());
    }
}

#[test]
fn what_a_request_leaves_out_has_a_default_and_what_it_adds_is_ignored() {
    let read = |text: &str| serde_json::from_str::<Request>(text).map(|request| request.call);
    assert_eq!(read(r#"{"id":1,"call":"list"}"#).unwrap(), Call::List { states: vec![], limit: None });
    assert_eq!(read(r#"{"id":1,"call":"stop","later":true}"#).unwrap(), Call::Stop { now: false });
    assert_eq!(read(r#"{"call":"subscribe","id":3,"since":0}"#).unwrap(), Call::Subscribe { since: Some(0), task: None, notifier: false });
    for bad in [
        r#"{"call":"list"}"#,
        r#"{"id":-1,"call":"list"}"#,
        r#"{"id":1,"call":"fly"}"#,
        r#"{"id":1}"#,
        "[]",
        "null",
        r#"{"id":1,"call":"show"}"#,
    ] {
        assert!(read(bad).is_err(), "{bad}");
    }
}

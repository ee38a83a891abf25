use std::path::PathBuf;

use st_model::claim::Claim;
use st_model::coverage::SkipReason;
use st_model::id::{AttemptId, BootId, Fence, TaskId};
use st_model::path::RepoPath;
use st_model::problem::ErrorCode;
use st_model::retry::FailureClass;
use st_model::review::RunnerName;
use st_model::state::{ChangeState, LeaseRef, Phase};
use st_model::task::{Limits, NewTask, TaskContext};
use uuid::Uuid;

use super::*;

fn task(state: TaskState) -> Task {
    let id = TaskId(Uuid::from_u128(7));
    let source = ReviewSource::PatchFile { path: PathBuf::from("/home/ada/fix.patch") };
    let submitted = NewTask {
        id,
        title: "Review fix.patch".into(),
        kind: TaskKind::Review { source, runner: RunnerName::Rules },
        context: TaskContext::default(),
        claims: ClaimSet::default(),
        priority: Priority::Normal,
        limits: Limits::default(),
        rerun_of: None,
    };
    Task {
        id,
        number: TaskNumber(42),
        submitted,
        state,
        change_state: ChangeState::None,
        priority: Priority::High,
        attempt: None,
        attempts: 1,
        findings: FindingCounts::default(),
        covered: 4,
        created_at: Timestamp(1_796_032_138_007),
        pinned_at: None,
        started_at: None,
        finished_at: None,
    }
}

fn running(activity: Activity) -> TaskState {
    let lease = LeaseRef { attempt: AttemptId(Uuid::from_u128(1)), number: 2, fence: Fence(3), boot: BootId(Uuid::from_u128(2)) };
    TaskState::Running { lease, activity }
}

fn done() -> TaskState {
    TaskState::Resting { rest: RestState::Done }
}

fn problem() -> Problem {
    Problem::no_change(ErrorCode::TimedOut, "The time limit of 10 min was reached.", "Raise the limit.")
}

fn entry(name: &str, status: CoverageStatus) -> CoverageEntry {
    CoverageEntry { file: RepoPath::parse(name.as_bytes()).unwrap(), status }
}

fn summary(ledger: &[CoverageEntry]) -> LedgerSummary {
    let parts: Vec<LedgerSummary> = ledger.iter().map(|entry| LedgerSummary::of_files(&entry.status, 1)).collect();
    // The model's own rule, on the same ledger.
    assert_eq!(LedgerSummary::sum(&parts).allows_clean, !ledger.is_empty() && st_model::coverage::allows_clean(ledger));
    LedgerSummary::sum(&parts)
}

fn place(position: u32, slots: u32, holders: &[u64]) -> Place {
    Place { position, slots, holders: holders.iter().map(|number| TaskNumber(*number)).collect(), paused: false, stopping: false }
}

fn queued_reason(place: Place) -> String {
    TaskDto::from_task(&task(TaskState::Queued), &Context { place: Some(place), ..Context::default() }).reason
}

#[test]
fn a_waiting_task_says_what_for_who_has_it_and_its_place_in_line() {
    let context = Context { place: Some(place(2, 2, &[40, 41])), ..Context::default() };
    let row = TaskDto::from_task(&task(TaskState::Queued), &context);
    assert_eq!(row.reason, "All 2 slots are busy. 2nd in line.");
    assert_eq!(row.position, Some(2));
    let since = "2026-11-30T09:48:58.007Z".to_owned();
    assert_eq!(
        row.waiting_for,
        [WaitingForDto { resource: "a worker slot".into(), mode: "slot".into(), holder: "#40, #41".into(), since }]
    );

    assert_eq!(queued_reason(place(1, 1, &[40])), "The only slot is busy. Next in line.");
    assert_eq!(queued_reason(place(1, 2, &[40])), "Next in line.");
    assert_eq!(queued_reason(Place { paused: true, ..place(1, 2, &[]) }), "New tasks are paused");
    assert!(queued_reason(Place { stopping: true, ..place(1, 2, &[]) }).starts_with("The engine is ending"));
}

#[test]
fn places_are_ordinals() {
    let words: Vec<String> = [1, 2, 3, 4, 11, 12, 13, 21, 22, 101, 111, 112].into_iter().map(ordinal).collect();
    assert_eq!(words.join(" "), "1st 2nd 3rd 4th 11th 12th 13th 21st 22nd 101st 111th 112th");
}

#[test]
fn every_state_has_its_name_and_its_reason() {
    let throttled = Activity::Throttled { retry_at: Timestamp(0), n: 1, of: 5, cause: "Rate limited".into() };
    let stopping = |cause| running(Activity::Stopping { cause });
    let retrying = TaskState::Retrying { retry_at: Timestamp(0), class: FailureClass::Transient, problem: problem() };
    let cases = [
        (TaskState::Queued, "queued", ""),
        (running(Activity::Working { phase: Phase::Review }), "running", ""),
        (running(throttled), "running", "Rate limited. Try 1 of 5."),
        (stopping(StopCause::Cancelled), "running", "Stopping"),
        (stopping(StopCause::TimedOut), "running", "Stopping: the time limit was reached"),
        (stopping(StopCause::EngineStop), "running", "Stopping: the engine is ending"),
        (retrying, "retrying", "The time limit of 10 min was reached. Attempt 2 of 3 follows."),
        (TaskState::RollingBack { then: RestState::Done }, "rolling_back", "Undoing its changes"),
        (TaskState::NeedsRecovery { then: RestState::Done }, "needs_recovery", "The undoing needs you"),
        (done(), "done", ""),
        (TaskState::Resting { rest: RestState::Partial { problem: problem() } }, "partial", "The time limit of 10 min was reached."),
        (TaskState::Resting { rest: RestState::Failed { problem: problem() } }, "failed", "The time limit of 10 min was reached."),
        (TaskState::Resting { rest: RestState::Cancelled }, "cancelled", "Cancelled by you"),
    ];
    for (state, name, reason) in cases {
        let row = TaskDto::from_task(&task(state.clone()), &Context::default());
        assert_eq!((row.state.name(), row.reason.as_str()), (name, reason));
        assert_eq!(row.state.name(), state.name());
        assert_eq!(serde_json::to_value(row.state).unwrap(), name);
        assert_eq!(row.state.is_at_rest(), state.is_at_rest());
        assert_eq!(row.error.is_some(), matches!(name, "retrying" | "partial" | "failed"));
        assert_eq!(row.retry_at.is_some(), name == "retrying");
    }
}

#[test]
fn clean_is_said_only_of_a_finished_review_that_saw_every_file_and_found_nothing() {
    let clean = |state: TaskState, ledger: &[CoverageEntry], found: u32| {
        let mut task = task(state);
        task.findings.low = found;
        TaskDto::from_task(&task, &Context { ledger: summary(ledger), ..Context::default() }).clean
    };
    let seen = || entry("a", CoverageStatus::Reviewed);
    let binary = || entry("b", CoverageStatus::Skipped(SkipReason::Binary));
    assert!(clean(done(), &[seen(), binary()], 0));
    assert!(!clean(done(), &[seen()], 1));
    assert!(!clean(done(), &[], 0));
    assert!(!clean(done(), &[seen(), entry("b", CoverageStatus::Skipped(SkipReason::TooLarge))], 0));
    assert!(!clean(done(), &[seen(), entry("b", CoverageStatus::Partial("cut".into()))], 0));
    assert!(!clean(done(), &[seen(), entry("b", CoverageStatus::Failed("died".into()))], 0));
    assert!(!clean(running(Activity::Working { phase: Phase::Report }), &[seen()], 0));
    assert!(!clean(TaskState::Resting { rest: RestState::Cancelled }, &[seen()], 0));
}

#[test]
fn the_ledger_is_counted_by_status() {
    let ledger = [
        entry("a", CoverageStatus::Reviewed),
        entry("b", CoverageStatus::Reviewed),
        entry("c", CoverageStatus::Skipped(SkipReason::LockFile)),
        entry("d", CoverageStatus::Failed("died".into())),
    ];
    let row = TaskDto::from_task(&task(done()), &Context { ledger: summary(&ledger), ..Context::default() });
    let expected = [("failed", 1), ("reviewed", 2), ("skipped", 1)].map(|(status, count)| (status.to_owned(), count));
    assert_eq!(row.covered, BTreeMap::from(expected));
}

#[test]
fn progress_is_the_newest_tick_while_running_and_the_ledger_after() {
    let tick = Progress { done: 3, total: Some(9), unit: "files".into(), line: "src/a.rs".into() };
    let context = Context { progress: Some(tick), ..Context::default() };
    let row = TaskDto::from_task(&task(running(Activity::Working { phase: Phase::Review })), &context);
    assert_eq!(
        row.progress,
        ProgressDto { done: 3, total: Some(9), unit: "files".into(), phase: "review".into(), line: "src/a.rs".into() }
    );
    assert_eq!(row.attempt, 2);

    let row = TaskDto::from_task(&task(done()), &context);
    assert_eq!((row.progress.done, row.progress.total), (4, Some(4)));
    // How many files there were is not known of a review that stopped early.
    let row = TaskDto::from_task(&task(TaskState::Resting { rest: RestState::Cancelled }), &Context::default());
    assert_eq!((row.progress.done, row.progress.total), (4, None));
}

#[test]
fn a_source_is_told_in_words_with_where_it_came_from() {
    let repo = || PathBuf::from("/home/ada/api");
    let words = |source| source_words(&TaskKind::Review { source, runner: RunnerName::Rules });
    let at = |path: &str| Some(path.to_owned());
    assert_eq!(words(ReviewSource::PatchFile { path: "/tmp/a b.patch".into() }), ("a b.patch".into(), at("/tmp/a b.patch")));
    assert_eq!(words(ReviewSource::Uncommitted { repo: repo() }), ("uncommitted work of api".into(), at("/home/ada/api")));
    let range = ReviewSource::Range { repo: repo(), base: "main".into(), head: "feature".into() };
    assert_eq!(words(range).0, "api main..feature");
    let branch = |base: Option<&str>| ReviewSource::Branch { repo: repo(), branch: "feature".into(), base: base.map(str::to_owned) };
    assert_eq!(words(branch(None)).0, "api feature");
    assert_eq!(words(branch(Some("dev"))).0, "api feature against dev");
    assert_eq!(words(ReviewSource::Link { url: "https://x/1".into() }), ("https://x/1".into(), None));
}

#[test]
fn claims_are_listed_by_kind() {
    let claim = |resource, mode| Claim { resource, mode };
    let set = ClaimSet {
        claims: vec![
            claim(Resource::Path("src/**".into()), ClaimMode::Shared),
            claim(Resource::Path("docs/**".into()), ClaimMode::Exclusive),
            claim(Resource::Sqlite("app.db".into()), ClaimMode::Exclusive),
            claim(Resource::Named("port".into()), ClaimMode::Shared),
        ],
        hold: ClaimHold::Held,
    };
    let expected = ClaimsDto {
        read: vec!["src/**".into()],
        write: vec!["docs/**".into()],
        sqlite: vec!["app.db".into()],
        named: vec!["port".into()],
        mode: "held".into(),
    };
    assert_eq!(ClaimsDto::from(&set), expected);
}

#[test]
fn every_event_carries_its_documented_data() {
    let event = |kind| {
        let event =
            Event { seq: st_model::id::EventSeq(5), task: TaskId(Uuid::from_u128(7)), number: TaskNumber(42), at: Timestamp(0), kind };
        let dto = EventDto::from(&event);
        assert_eq!((dto.seq, dto.task, dto.kind.as_str()), (Some(5), 42, event.kind.name()));
        dto.data
    };
    let data = event(EventKind::Settled { state: "failed".into(), problem: Some(problem()) });
    assert_eq!(data["problem"]["code"], "timed_out");
    let data = event(EventKind::Retrying { retry_at: Timestamp(0), attempt: 1, class: FailureClass::Transient, problem: problem() });
    assert_eq!(data["retry_at"], "1970-01-01T00:00:00.000Z");
    let data = event(EventKind::Covered { entry: entry("a.bin", CoverageStatus::Skipped(SkipReason::Binary)) });
    assert_eq!(data, serde_json::json!({ "entry": { "file": "a.bin", "status": "skipped", "reason": "binary" } }));
    let data = event(EventKind::PhaseEntered { phase: Phase::Pin });
    assert_eq!(data, serde_json::json!({ "phase": "pin" }));
    let data = event(EventKind::Stopping { cause: StopCause::EngineStop });
    assert_eq!(data, serde_json::json!({ "cause": "engine_stop" }));

    let tick = EventDto::tick(TaskNumber(42), Timestamp(0), &ProgressDto::default());
    assert!(serde_json::to_value(&tick).unwrap().get("seq").is_none());
}

#[test]
fn an_urgency_is_read_as_it_is_written() {
    for priority in [Priority::Low, Priority::Normal, Priority::High] {
        assert_eq!(parse_priority(priority_name(priority)).unwrap(), priority);
    }
    assert_eq!(parse_priority("urgent").unwrap_err().code, ErrorCode::Usage);
}

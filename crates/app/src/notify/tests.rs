use std::collections::BTreeMap;

use super::*;
use crate::dto::{ClaimsDto, CountsDto, ErrorDto, ProgressDto, TokensDto};

fn task(state: StateDto) -> TaskDto {
    TaskDto {
        id: String::new(),
        number: 42,
        title: "Add rate limiting".into(),
        kind: "review".into(),
        runner: "rules".into(),
        state,
        reason: String::new(),
        change_state: "none".into(),
        complete: false,
        priority: "normal".into(),
        attempt: 1,
        max_attempts: 3,
        retry_at: None,
        throttled: None,
        position: None,
        waiting_for: vec![],
        claims: ClaimsDto::default(),
        progress: ProgressDto::default(),
        timeout_ms: 0,
        tokens: TokensDto::default(),
        created_at: String::new(),
        pinned_at: None,
        started_at: None,
        finished_at: None,
        findings: CountsDto::default(),
        coverage: vec![],
        covered: BTreeMap::new(),
        clean: false,
        conflicts: vec![],
        error: None,
        source: "rate-limit.patch".into(),
        origin: None,
        rerun_of: None,
    }
}

fn failed(state: StateDto) -> TaskDto {
    let error = ErrorDto {
        code: "timed_out".into(),
        message: "The time limit of 10 min was reached".into(),
        disk_effect: "No file was changed.".into(),
        fix: vec![],
    };
    TaskDto { error: Some(error), ..task(state) }
}

fn words(task: &TaskDto) -> (String, String) {
    let notice = notice_for(Some(&self::task(StateDto::Running)), task).unwrap();
    (notice.title, notice.body)
}

#[test]
fn only_an_end_that_the_user_did_not_make_is_worth_a_notice() {
    for state in StateDto::ALL {
        let worth = matches!(state, StateDto::Done | StateDto::Partial | StateDto::Failed | StateDto::NeedsRecovery);
        let before = task(if state == StateDto::Running { StateDto::Queued } else { StateDto::Running });
        assert_eq!(notice_for(Some(&before), &task(state)).is_some(), worth, "{}", state.name());
        assert_eq!(notice_for(None, &task(state)).is_some(), worth, "{}", state.name());
        assert_eq!(notice_for(Some(&task(state)), &task(state)), None, "{} again", state.name());
    }
}

#[test]
fn a_notice_says_outcome_and_count() {
    let found = |high, low| TaskDto { findings: CountsDto { high, low, ..CountsDto::default() }, ..task(StateDto::Done) };
    assert_eq!(words(&found(2, 5)), ("Review finished: 7 findings (2 high)".into(), "Add rate limiting · rate-limit.patch".into()));
    assert_eq!(words(&found(0, 1)).0, "Review finished: 1 finding");
    assert_eq!(words(&TaskDto { clean: true, ..task(StateDto::Done) }).0, "Review finished: no findings");
}

#[test]
fn no_findings_is_not_said_of_a_review_that_did_not_see_every_file() {
    let covered = BTreeMap::from([("reviewed".to_owned(), 9), ("partial".to_owned(), 3)]);
    let (title, body) = words(&TaskDto { covered, ..task(StateDto::Done) });
    assert_eq!(title, "Review finished: not every file was reviewed");
    assert!(body.ends_with("9 of 12 files reviewed, nothing found in them"), "{body}");
}

#[test]
fn a_failure_says_its_cause_and_what_is_on_disk() {
    let (title, body) = words(&failed(StateDto::Failed));
    assert_eq!(title, "Review failed");
    assert_eq!(body, "Add rate limiting · rate-limit.patch · The time limit of 10 min was reached. No file was changed.");
    assert_eq!(words(&failed(StateDto::Partial)).0, "Review stopped early: 0 findings kept");
    assert!(notice_for(None, &failed(StateDto::NeedsRecovery)).unwrap().urgent);
}

#[test]
fn a_body_is_one_bounded_line() {
    let mut long = failed(StateDto::Failed);
    long.title = "line\none\u{1b}[31m".repeat(100);
    let (_, body) = words(&long);
    assert!(body.chars().count() <= BODY_CHARS + 1 && body.ends_with('…') && !body.contains(char::is_control));
}

#[test]
fn a_title_that_names_the_source_is_enough() {
    let row = TaskDto { title: "Review rate-limit.patch".into(), ..failed(StateDto::Failed) };
    assert!(words(&row).1.starts_with("Review rate-limit.patch · The time"));
}

fn notice(outcome: Outcome) -> Notice {
    Notice { task: 1, title: "t".into(), body: "b".into(), urgent: outcome == Outcome::NeedsYou, outcome }
}

#[test]
fn the_fourth_notice_within_ten_seconds_becomes_a_summary() {
    let mut folding = Folding::default();
    let at = Duration::from_secs;
    for (second, outcome) in [(0, Outcome::Findings), (1, Outcome::Findings), (2, Outcome::Failed)] {
        assert_eq!(folding.take(notice(outcome), at(second)), Shown::Alone(notice(outcome)));
    }
    let Shown::Folded(summary) = folding.take(notice(Outcome::Clean), at(3)) else { panic!("not folded") };
    assert_eq!((summary.title.as_str(), summary.body.as_str()), ("4 reviews finished", "2 with findings, 1 failed, 1 clean"));
    let Shown::Folded(summary) = folding.take(notice(Outcome::Clean), at(12)) else { panic!("the burst goes on") };
    assert_eq!(summary.title, "5 reviews finished");
    // Ten quiet seconds end it.
    assert_eq!(folding.take(notice(Outcome::Clean), at(22)), Shown::Alone(notice(Outcome::Clean)));
}

#[test]
fn a_slow_trickle_is_no_burst() {
    let mut folding = Folding::default();
    for number in 0..20 {
        let shown = folding.take(notice(Outcome::Clean), Duration::from_secs(number * 4));
        assert_eq!(shown, Shown::Alone(notice(Outcome::Clean)), "{number}");
    }
}

#[test]
fn what_needs_the_user_is_never_folded() {
    let mut folding = Folding::default();
    for _ in 0..10 {
        folding.take(notice(Outcome::Clean), Duration::ZERO);
    }
    assert_eq!(folding.take(notice(Outcome::NeedsYou), Duration::ZERO), Shown::Alone(notice(Outcome::NeedsYou)));
}

use std::fmt::Write as _;

use uuid::Uuid;

use super::*;
use crate::problem::ErrorCode;

fn lease(fence: u64) -> LeaseRef {
    LeaseRef { attempt: AttemptId(Uuid::from_u128(1)), number: 1, fence: Fence(fence), boot: BootId(Uuid::from_u128(2)) }
}

fn problem() -> Problem {
    Problem::no_change(ErrorCode::WorkerDied, "The worker ended without saying how", "Run it again")
}

fn rests() -> [RestState; 4] {
    [RestState::Done, RestState::Partial { problem: problem() }, RestState::Failed { problem: problem() }, RestState::Cancelled]
}

fn states() -> Vec<(String, TaskState)> {
    let running = |activity| TaskState::Running { lease: lease(1), activity };
    let mut all = vec![
        ("queued".to_owned(), TaskState::Queued),
        ("running working".to_owned(), running(Activity::Working { phase: Phase::Review })),
        ("running throttled".to_owned(), running(Activity::Throttled { retry_at: Timestamp(5), n: 1, of: 3, cause: "429".into() })),
        ("retrying".to_owned(), TaskState::Retrying { retry_at: Timestamp(9), class: FailureClass::Transient, problem: problem() }),
    ];
    for cause in [StopCause::Cancelled, StopCause::TimedOut, StopCause::EngineStop] {
        all.push((format!("running stopping {cause:?}"), running(Activity::Stopping { cause })));
    }
    for rest in rests() {
        all.push((format!("rolling_back {}", rest.name()), TaskState::RollingBack { then: rest.clone() }));
        all.push((format!("needs_recovery {}", rest.name()), TaskState::NeedsRecovery { then: rest.clone() }));
        all.push((rest.name().to_owned(), TaskState::Resting { rest }));
    }
    all
}

fn events() -> Vec<(String, TaskEvent)> {
    let mut all = vec![
        ("claim".to_owned(), TaskEvent::Claim(lease(2))),
        ("throttle".to_owned(), TaskEvent::Throttle { retry_at: Timestamp(7), n: 2, of: 3, cause: "429".into() }),
        ("cancel".to_owned(), TaskEvent::Cancel),
        (
            "settle retry".to_owned(),
            TaskEvent::Settle(Settlement::Retry { retry_at: Timestamp(8), class: FailureClass::Infrastructure, problem: problem() }),
        ),
        ("settle requeue".to_owned(), TaskEvent::Settle(Settlement::Requeue)),
        ("settle roll back".to_owned(), TaskEvent::Settle(Settlement::RollBack { then: RestState::Cancelled })),
        ("engine lost".to_owned(), TaskEvent::EngineLost),
        ("due".to_owned(), TaskEvent::Due),
        ("roll back".to_owned(), TaskEvent::RollBack),
        ("rolled back".to_owned(), TaskEvent::RolledBack),
        ("stuck".to_owned(), TaskEvent::Stuck),
        ("resume".to_owned(), TaskEvent::Resume),
        ("finish".to_owned(), TaskEvent::Finish),
    ];
    for phase in [Phase::Pin, Phase::Review, Phase::Report] {
        all.push((format!("enter {phase}"), TaskEvent::Enter(phase)));
    }
    for cause in [StopCause::Cancelled, StopCause::TimedOut, StopCause::EngineStop] {
        all.push((format!("stop {cause:?}"), TaskEvent::Stop(cause)));
    }
    for rest in rests() {
        all.push((format!("settle {}", rest.name()), TaskEvent::Settle(Settlement::Rest(rest))));
    }
    all
}

fn label(state: &TaskState) -> String {
    match state {
        TaskState::Running { activity: Activity::Working { phase }, .. } => format!("running working {phase}"),
        TaskState::Running { activity: Activity::Throttled { .. }, .. } => "running throttled".into(),
        TaskState::Running { activity: Activity::Stopping { cause }, .. } => format!("running stopping {cause:?}"),
        TaskState::RollingBack { then } | TaskState::NeedsRecovery { then } => format!("{} {}", state.name(), then.name()),
        TaskState::Queued | TaskState::Retrying { .. } | TaskState::Resting { .. } => state.name().into(),
    }
}

/// The whole table on one page: every state against every event.
#[test]
fn the_transition_table() {
    let mut page = String::new();
    for (state_name, state) in states() {
        for (event_name, event) in events() {
            if let Ok(next) = state.next(&event) {
                writeln!(page, "{state_name:34} + {event_name:18} -> {}", label(&next)).unwrap();
            }
        }
    }
    insta::assert_snapshot!(page);
}

#[test]
fn an_illegal_event_names_the_state_and_itself() {
    for (_, state) in states() {
        for (_, event) in events() {
            if let Err(error) = state.next(&event) {
                assert_eq!((error.state, error.event), (state.name(), event.name()));
            }
        }
    }
}

#[test]
fn a_resting_task_leaves_only_by_rolling_back() {
    for rest in rests() {
        let state = TaskState::Resting { rest };
        for (name, event) in events() {
            assert_eq!(state.next(&event).is_ok(), name == "roll back", "{} + {name}", state.name());
        }
    }
}

#[test]
fn cancelled_is_reached_from_running_only_through_a_user_stop() {
    let cancelled = TaskState::Resting { rest: RestState::Cancelled };
    for (name, state) in states().into_iter().filter(|(_, state)| state.lease().is_some()) {
        let reached = events().iter().any(|(_, event)| state.next(event).as_ref() == Ok(&cancelled));
        assert_eq!(reached, name == "running stopping Cancelled", "{name}");
    }
}

proptest::proptest! {
    #[test]
    fn any_run_of_events_keeps_a_lease_exactly_while_running(picks in proptest::collection::vec(0usize..64, 0..60)) {
        let all = events();
        let mut state = TaskState::Queued;
        for pick in picks {
            if let Ok(next) = state.next(&all[pick % all.len()].1) {
                state = next;
            }
            proptest::prop_assert_eq!(state.lease().is_some(), state.name() == "running");
        }
    }
}

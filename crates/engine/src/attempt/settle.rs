//! How an attempt's end becomes its settlement: a pure decision.

use std::time::Duration;

use st_model::broker::WorkerEnd;
use st_model::problem::Problem;
use st_model::retry::{FailureClass, RetryDecision, RetryPolicy};
use st_model::state::{RestState, Settlement, StopCause};
use st_model::time::Timestamp;

/// How an attempt ended, before what follows is decided.
#[derive(Debug, PartialEq)]
pub(super) enum Outcome {
    /// The worker said so itself.
    Said(WorkerEnd),
    /// It failed before or without saying so.
    Failed { class: FailureClass, problem: Problem },
    /// It was told to stop and did, before it had ended by itself.
    Stopped,
}

/// What the decision rests on.
#[derive(Debug)]
pub(super) struct Facts {
    /// Why it was told to stop, if it was.
    pub(super) stop: Option<StopCause>,
    /// What to say when the time limit was the cause.
    pub(super) timed_out: Problem,
    /// Whether there are findings or ledger lines worth keeping.
    pub(super) has_results: bool,
    /// The attempt's number, from 1.
    pub(super) attempt: u32,
    pub(super) policy: RetryPolicy,
    /// In `0.0..1.0`.
    pub(super) jitter: f64,
    pub(super) now: Timestamp,
}

/// Decides. A worker that finished before its stop keeps its outcome; one that failed meanwhile is
/// not tried again against the user's will.
pub(super) fn settlement(outcome: Outcome, facts: Facts) -> Settlement {
    match (outcome, facts.stop) {
        (Outcome::Said(WorkerEnd::Done), _) => Settlement::Rest(RestState::Done),
        (Outcome::Said(WorkerEnd::Partial { problem }), _) => Settlement::Rest(RestState::Partial { problem }),
        (Outcome::Said(WorkerEnd::Failed { class, problem }) | Outcome::Failed { class, problem }, None) => {
            match facts.policy.after_failure(facts.attempt, class, facts.jitter, None) {
                RetryDecision::After(wait) => {
                    Settlement::Retry { retry_at: facts.now.plus(wait.max(Duration::from_millis(1))), class, problem }
                }
                RetryDecision::GiveUp => Settlement::Rest(RestState::Failed { problem }),
            }
        }
        (
            Outcome::Said(WorkerEnd::Failed { class: FailureClass::Permanent, problem })
            | Outcome::Failed { class: FailureClass::Permanent, problem },
            Some(_),
        ) => Settlement::Rest(RestState::Failed { problem }),
        (Outcome::Said(WorkerEnd::Failed { .. }) | Outcome::Failed { .. } | Outcome::Stopped, Some(StopCause::Cancelled)) => {
            Settlement::Rest(RestState::Cancelled)
        }
        (Outcome::Said(WorkerEnd::Failed { .. }) | Outcome::Failed { .. } | Outcome::Stopped, Some(StopCause::TimedOut)) => {
            let problem = facts.timed_out;
            Settlement::Rest(if facts.has_results { RestState::Partial { problem } } else { RestState::Failed { problem } })
        }
        (Outcome::Said(WorkerEnd::Failed { .. }) | Outcome::Failed { .. } | Outcome::Stopped, Some(StopCause::EngineStop))
        | (Outcome::Stopped, None) => Settlement::Requeue,
    }
}

#[cfg(test)]
mod tests {
    use st_model::problem::ErrorCode;
    use st_model::state::{Activity, LeaseRef, Phase, TaskEvent, TaskState};

    use super::*;

    fn problem(text: &str) -> Problem {
        Problem::no_change(ErrorCode::Internal, text, "fix")
    }

    fn facts(stop: Option<StopCause>, has_results: bool, attempt: u32) -> Facts {
        Facts { stop, timed_out: problem("time"), has_results, attempt, policy: RetryPolicy::default(), jitter: 0.5, now: Timestamp(1000) }
    }

    fn outcomes() -> Vec<Outcome> {
        let mut all =
            vec![Outcome::Said(WorkerEnd::Done), Outcome::Said(WorkerEnd::Partial { problem: problem("partial") }), Outcome::Stopped];
        for class in [FailureClass::Infrastructure, FailureClass::RateLimit, FailureClass::Transient, FailureClass::Permanent] {
            all.push(Outcome::Said(WorkerEnd::Failed { class, problem: problem("said") }));
            all.push(Outcome::Failed { class, problem: problem("died") });
        }
        all
    }

    #[test]
    fn every_settlement_is_one_that_the_transition_table_takes() {
        let lease = LeaseRef {
            attempt: st_model::id::AttemptId(uuid::Uuid::nil()),
            number: 1,
            fence: st_model::id::Fence(1),
            boot: st_model::id::BootId(uuid::Uuid::nil()),
        };
        for stop in [None, Some(StopCause::Cancelled), Some(StopCause::TimedOut), Some(StopCause::EngineStop)] {
            let activity = stop.map_or(Activity::Working { phase: Phase::Review }, |cause| Activity::Stopping { cause });
            let state = TaskState::Running { lease, activity };
            for attempt in [1, 3] {
                for outcome in outcomes() {
                    let words = format!("{outcome:?} {stop:?}");
                    let settled = settlement(outcome, facts(stop, true, attempt));
                    assert!(state.next(&TaskEvent::Settle(settled.clone())).is_ok(), "{words} → {settled:?}");
                }
            }
        }
    }

    #[test]
    fn a_worker_that_finished_first_keeps_its_outcome() {
        for stop in [StopCause::Cancelled, StopCause::TimedOut, StopCause::EngineStop] {
            assert_eq!(settlement(Outcome::Said(WorkerEnd::Done), facts(Some(stop), true, 1)), Settlement::Rest(RestState::Done));
        }
    }

    #[test]
    fn a_time_limit_keeps_what_there_is_and_is_not_tried_again() {
        let at = |has_results| settlement(Outcome::Stopped, facts(Some(StopCause::TimedOut), has_results, 1));
        assert_eq!(at(true), Settlement::Rest(RestState::Partial { problem: problem("time") }));
        assert_eq!(at(false), Settlement::Rest(RestState::Failed { problem: problem("time") }));
    }

    #[test]
    fn a_failure_is_tried_again_until_its_attempts_are_used_up() {
        let died = || Outcome::Failed { class: FailureClass::Infrastructure, problem: problem("died") };
        assert_eq!(
            settlement(died(), facts(None, false, 1)),
            Settlement::Retry { retry_at: Timestamp(3500), class: FailureClass::Infrastructure, problem: problem("died") }
        );
        assert_eq!(settlement(died(), facts(None, false, 3)), Settlement::Rest(RestState::Failed { problem: problem("died") }));
        assert_eq!(settlement(died(), facts(Some(StopCause::Cancelled), false, 1)), Settlement::Rest(RestState::Cancelled));
    }
}

//! Which failures are worth another attempt, and when.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Failures told apart by what should happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// Ours or the machine's: a spawn that failed, a worker that died.
    Infrastructure,
    /// A provider said "slow down".
    RateLimit,
    /// The network or a server stumbled.
    Transient,
    /// Trying again would end the same way.
    Permanent,
}

/// How often and how far apart attempts are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// Attempts in all, the first one included; at least 1.
    pub max_attempts: u32,
    /// Backoff before the second attempt; doubles with each further one.
    pub base: Duration,
    /// Longest backoff.
    pub cap: Duration,
}

impl Default for RetryPolicy {
    /// Three attempts, 5 s doubling to 10 min (research/engine.md §4.8).
    fn default() -> Self {
        Self { max_attempts: 3, base: Duration::from_secs(5), cap: Duration::from_secs(600) }
    }
}

/// What to do after a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryDecision {
    /// Another attempt after this long.
    After(Duration),
    /// No more.
    GiveUp,
}

impl RetryPolicy {
    /// Decides what follows the failure of attempt number `attempt` (from 1).
    ///
    /// `jitter` is a random number in `0.0..1.0` (full jitter); `hint` is the server's own wait,
    /// which is never undercut.
    #[must_use]
    pub fn after_failure(&self, attempt: u32, class: FailureClass, jitter: f64, hint: Option<Duration>) -> RetryDecision {
        if class == FailureClass::Permanent || attempt >= self.max_attempts {
            return RetryDecision::GiveUp;
        }
        let doublings = attempt.saturating_sub(1).min(30);
        let ceiling = self.base.saturating_mul(1 << doublings).min(self.cap);
        let backoff = ceiling.mul_f64(jitter.clamp(0.0, 1.0));
        RetryDecision::After(hint.map_or(backoff, |hint| hint.min(self.cap).max(backoff)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn delays_stay_within_bounds(attempt in 1u32..40, jitter in 0.0f64..1.0, hint in proptest::option::of(0u64..10_000)) {
            let policy = RetryPolicy { max_attempts: 100, ..RetryPolicy::default() };
            let hint = hint.map(Duration::from_secs);
            let RetryDecision::After(delay) = policy.after_failure(attempt, FailureClass::Transient, jitter, hint) else {
                return Err(TestCaseError::fail("gave up early"));
            };
            prop_assert!(delay <= policy.cap);
            prop_assert!(delay >= hint.unwrap_or_default().min(policy.cap));
        }
    }

    #[test]
    fn a_permanent_failure_is_not_tried_again() {
        let policy = RetryPolicy::default();
        assert_eq!(policy.after_failure(1, FailureClass::Permanent, 0.5, None), RetryDecision::GiveUp);
        assert_eq!(policy.after_failure(3, FailureClass::Transient, 0.5, None), RetryDecision::GiveUp);
        assert_eq!(policy.after_failure(1, FailureClass::Transient, 0.5, None), RetryDecision::After(Duration::from_millis(2500)));
    }
}

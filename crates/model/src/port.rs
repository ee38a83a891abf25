//! What the rules need from the outside, passed in by whoever runs them.

use std::time::Duration;

use uuid::Uuid;

use crate::time::Timestamp;

/// The two clocks. Deadlines are judged on the monotonic one.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Wall-clock time.
    fn now(&self) -> Timestamp;
    /// Time since some fixed moment; never goes back.
    fn monotonic(&self) -> Duration;
}

/// Fresh ids and random numbers.
pub trait Random: Send + Sync + std::fmt::Debug {
    /// A fresh UUID v7.
    fn uuid(&self) -> Uuid;
    /// A number in `0.0..1.0`.
    fn unit(&self) -> f64;
}

/// Doubles for tests.
#[cfg(feature = "test-support")]
pub mod testing {
    use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

    use super::{Clock, Duration, Random, Timestamp, Uuid};

    /// A clock that stands still until told to move.
    #[derive(Debug)]
    pub struct ManualClock(AtomicI64);

    impl ManualClock {
        /// A clock at `millis` after 1970.
        #[must_use]
        pub fn at(millis: i64) -> Self {
            Self(AtomicI64::new(millis))
        }

        /// Moves both clocks forward.
        pub fn advance(&self, duration: Duration) {
            self.0.fetch_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX), Ordering::SeqCst);
        }
    }

    impl Clock for ManualClock {
        fn now(&self) -> Timestamp {
            Timestamp(self.0.load(Ordering::SeqCst))
        }

        fn monotonic(&self) -> Duration {
            Duration::from_millis(u64::try_from(self.0.load(Ordering::SeqCst)).unwrap_or(0))
        }
    }

    /// Ids that count up and a jitter of one half.
    #[derive(Debug, Default)]
    pub struct Counting(AtomicU64);

    impl Random for Counting {
        fn uuid(&self) -> Uuid {
            Uuid::from_u128(u128::from(self.0.fetch_add(1, Ordering::SeqCst)) + 1)
        }

        fn unit(&self) -> f64 {
            0.5
        }
    }
}

//! The real clock and the real random source: the only place that reads them.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub use st_model::port::{Clock, Random};
use st_model::time::Timestamp;
use uuid::Uuid;

/// The machine's clocks.
#[derive(Debug)]
pub struct SystemClock {
    started: Instant,
}

impl Default for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
    fn default() -> Self {
        Self { started: Instant::now() }
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }
}

/// The machine's random source.
#[derive(Debug, Default)]
pub struct SystemRandom;

impl Random for SystemRandom {
    fn uuid(&self) -> Uuid {
        Uuid::now_v7()
    }

    fn unit(&self) -> f64 {
        // The low 53 bits of a v4 UUID are random; that many fit a double exactly.
        let bits = Uuid::new_v4().as_u128() & ((1 << 53) - 1);
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit a double exactly")]
        let unit = bits as f64 / (1u64 << 53) as f64;
        unit
    }
}

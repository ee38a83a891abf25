//! What the review asks of the machine it runs on: the clock, and how much memory it took.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use st_model::port::Clock;
use st_model::time::Timestamp;

/// The machine's clocks, for the worker process, which is handed none.
#[derive(Debug)]
pub(super) struct MachineClock {
    started: Instant,
}

impl Default for MachineClock {
    #[expect(clippy::disallowed_methods, reason = "the worker's one place that reads the clock")]
    fn default() -> Self {
        Self { started: Instant::now() }
    }
}

impl Clock for MachineClock {
    #[expect(clippy::disallowed_methods, reason = "the worker's one place that reads the clock")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }
}

/// Most memory this process held at once, in KiB, where the system tells (`VmHWM`).
pub(super) fn peak_memory_kib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

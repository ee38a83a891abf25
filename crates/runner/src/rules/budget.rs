//! The time a file may take, so that no input can hang a review.

use std::cell::Cell;
use std::time::Duration;

use st_model::port::Clock;

/// A deadline on the monotonic clock.
#[derive(Debug)]
pub struct Budget<'a> {
    clock: &'a dyn Clock,
    until: Duration,
    calls: Cell<u32>,
}

impl<'a> Budget<'a> {
    /// `limit` from now.
    #[must_use]
    pub fn new(clock: &'a dyn Clock, limit: Duration) -> Self {
        Self { clock, until: clock.monotonic() + limit, calls: Cell::new(0) }
    }

    /// Whether the time is up.
    #[must_use]
    pub fn is_spent(&self) -> bool {
        self.clock.monotonic() >= self.until
    }

    /// Whether the time is up, reading the clock at every 64th call only: for inner loops.
    #[must_use]
    pub fn is_spent_coarse(&self) -> bool {
        let calls = self.calls.get().wrapping_add(1);
        self.calls.set(calls);
        calls.is_multiple_of(64) && self.is_spent()
    }
}

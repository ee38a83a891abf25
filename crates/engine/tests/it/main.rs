//! The engine with real worker processes: this test binary, re-executed, speaks the broker's
//! protocol as a script tells it to.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers fail as its tests do")]

mod cancel;
mod crash;
mod fixtures;
mod killed_engine;
mod links;
mod queue;
mod results;
mod worker;

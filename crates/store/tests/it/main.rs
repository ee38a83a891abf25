//! The store's promises, each tried from outside.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers fail as its tests do")]

mod checks;
mod conformance;
mod crash;
mod fixtures;
mod full;
mod open;
mod random;
mod stream;

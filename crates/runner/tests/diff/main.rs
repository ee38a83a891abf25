//! The patch reader against real git, against hostile input, and against its own rules.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, outside of `#[test]` functions")]

mod corpus;
mod git;
mod hostile;
mod properties;
mod series;
mod support;

//! Whole reviews: from a manifest and blobs on disk to findings and ledger.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "test support: a failure here is a failed test"
)]

mod corpus;
mod hostile;
mod real;
mod support;

#[allow(unreachable_pub, dead_code, reason = "a module of the test kit, which depends on this crate")]
#[path = "../../../testkit/src/real_crate.rs"]
mod real_crate;

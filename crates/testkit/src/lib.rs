//! Support for the end-to-end suites: a machine of one's own (data directory, home, engine), git
//! repositories, a host that answers as told.
//!
//! A failure in here is a failed test, so it panics with words.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test support: a failure here is a failed test")]

pub mod host;
pub mod machine;
pub mod patch;
pub mod repo;

pub use host::{Answer, Host};
pub use machine::{Engine, Machine, Ran};
pub use repo::Repo;

//! What tests need to try Sidetrack from outside.
//!
//! | module | gives |
//! |---|---|
//! | [`machine`] | a machine of one's own (data directory, home) and the real binary on it |
//! | [`engine`] | an engine behind its socket in the test's own process |
//! | [`worker`] | a worker that does what a script says, for tests of everything around it |
//! | [`stream`] | waiting for events instead of for time |
//! | [`repo`], [`patch`] | git repositories and patches |
//! | [`host`] | a host on the loopback interface that answers as told |
//!
//! A failure in here is a failed test, so it panics with words. Every wait has a deadline.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::exit, reason = "test support: a failure here is a failed test")]

pub mod engine;
pub mod host;
pub mod machine;
pub mod patch;
pub mod real_crate;
pub mod repo;
pub mod stream;
pub mod worker;

use std::time::Duration;

pub use host::{Answer, Host};
pub use machine::{Engine, Machine, Ran};
pub use repo::Repo;

/// Longest wait for anything in a test. Far above what is needed on a machine under heavy load:
/// it turns a hang into a failure and measures nothing.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Between two looks at a condition that nobody tells about.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Waits until `condition` holds.
///
/// # Panics
/// When it does not within [`PATIENCE`].
pub async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let mut looks = tokio::time::interval(LOOK_EVERY);
    let held = tokio::time::timeout(PATIENCE, async {
        while !condition().await {
            looks.tick().await;
        }
    });
    held.await.unwrap_or_else(|_| panic!("waited in vain until {what}"));
}

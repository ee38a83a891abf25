//! The words and the rules of Sidetrack.
//!
//! This crate decides what a task may do next, what a finding is and when a retry is worth
//! making. It never reads a clock, a disk, a network or a random source: time, ids and jitter
//! are passed in.
//!
//! | word | type |
//! |---|---|
//! | Task, Attempt | [`task::Task`], [`id::AttemptId`] |
//! | state, transition | [`state::TaskState`], [`state::TaskState::next`] |
//! | Claim, ClaimSet | [`claim::Claim`], [`claim::ClaimSet`] |
//! | Event, EventSeq | [`event::Event`], [`id::EventSeq`] |
//! | Finding | [`finding::Finding`] |
//! | Version pointer | [`version::VersionPointer`] |
//! | the net change under review | [`change::ChangeSet`] |
//! | coverage ledger | [`coverage::CoverageEntry`] |
//! | an error a user meets | [`problem::Problem`] |

pub mod broker;
pub mod change;
pub mod claim;
pub mod coverage;
pub mod event;
pub mod finding;
pub mod id;
pub mod path;
pub mod port;
pub mod problem;
pub mod retry;
pub mod review;
pub mod state;
pub mod task;
pub mod time;
pub mod version;

//! Runners: what does the thinking.
//!
//! Runs inside the worker process. It sees the pinned blobs in its temp folder and the broker's
//! socket, and no path of the user's repository.

pub mod diff;
pub mod remote;
pub mod review;
pub mod rules;
pub mod worker;

//! Fetching a pull request's patch from its address.
//!
//! One request without credentials, bounded in time and size, and an answer that is checked
//! before it is called a patch.

mod address;
mod answer;
mod fetch;
mod link;

pub use fetch::{FetchLimits, fetch_patch, fetch_patch_within};
pub use link::{RequestLink, parse_link};

//! Whole reviews: from a manifest and blobs on disk to findings and ledger.

mod corpus;
mod hostile;
mod real;
mod support;

#[allow(unreachable_pub, dead_code, reason = "a module of the test kit, which depends on this crate")]
#[path = "../../../testkit/src/real_crate.rs"]
mod real_crate;

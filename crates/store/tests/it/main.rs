//! The store's promises, each tried from outside.

mod conformance;
mod fixtures;

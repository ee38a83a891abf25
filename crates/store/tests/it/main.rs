//! The store's promises, each tried from outside.

mod checks;
mod conformance;
mod crash;
mod fixtures;
mod full;
mod open;
mod random;
mod stream;

//! Time, concurrency and order: the only crate that spawns.
//!
//! [`Engine::start`] takes the data directory's lock, recovers what an earlier engine left,
//! and runs tasks until told to stop.

pub mod engine;
pub mod error;

pub use engine::{Engine, EngineConfig, EngineStatus, Submission, Tick};
pub use error::EngineError;

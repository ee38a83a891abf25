//! Time, concurrency and order: the only crate that spawns.
//!
//! [`Engine::start`] takes the data directory's lock, recovers what an earlier engine left,
//! and runs tasks until told to stop.
//!
//! | module | job |
//! |---|---|
//! | `schedule` | what starts next, as a pure plan |
//! | `dispatch` | the loop that carries plans out |
//! | `attempt` | one execution of a task, from pin to settlement |
//! | `broker` | what a worker says, checked and recorded |
//! | `recover` | what an earlier engine left behind |
//! | `data_dir` | where everything lies, and the lock |

mod attempt;
mod broker;
mod data_dir;
mod dispatch;
pub mod engine;
pub mod error;
mod log;
mod recover;
mod registry;
pub mod schedule;
mod socket;
mod words;

pub use engine::{Engine, EngineConfig, EngineStatus, Submission, Tick};
pub use error::EngineError;

//! Child processes that can't outlive or surprise us.
//!
//! The only crate with `unsafe`. Today: an own session, an allow-listed environment, rlimits,
//! no inherited descriptor, and death with the engine. Workspaces and confinement stand on the
//! same [`spawn::Spawner`] later.
//!
//! What this level promises: every process of the worker's *session* is gone when
//! [`spawn::WorkerProcess::stop`] returns, whatever its process group and however fast it forks.
//! A descendant that calls `setsid` leaves the session and this level's reach; holding those
//! takes a process namespace.

mod harden;
mod process;
mod session;
pub mod spawn;

//! Child processes that can't outlive or surprise us.
//!
//! The only crate with `unsafe`. Today: an own process group, an allow-listed environment, an
//! own temp folder, rlimits, and death with the engine. Workspaces and confinement stand on the
//! same [`spawn::Spawner`] later.

pub mod spawn;

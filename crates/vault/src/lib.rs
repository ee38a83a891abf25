//! Bytes outside the user's repository, and careful reading of what is inside it.
//!
//! Blobs are named by git's blob id of their raw bytes. Host-side git runs no hook, filter or
//! fsmonitor of the repository, fetches nothing lazily, and writes nothing under `.git`
//! (design.md P8).

mod disk;
pub mod error;
mod git;
mod hash;
pub mod pin;
pub mod vault;

pub use error::VaultError;
pub use hash::blob_id;
pub use pin::{PinLimits, Pinned, pin, refuse_root};
pub use vault::Vault;

//! What can go wrong in the engine.

use std::path::PathBuf;

use st_model::problem::Problem;
use st_store::StoreError;
use st_vault::VaultError;

/// What can go wrong in the engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Another engine holds this data directory.
    #[error("another engine runs on `{}`", data_dir.display())]
    Locked {
        /// Which.
        data_dir: PathBuf,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The vault failed.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// A file of the data directory could not be used.
    #[error("failed to {doing} `{}`", path.display())]
    Io {
        /// What was attempted.
        doing: &'static str,
        /// Where.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The request was refused with words for the user.
    #[error(transparent)]
    Refused(#[from] Problem),
    /// The engine is stopping and takes nothing new.
    #[error("the engine is stopping")]
    Stopping,
}

//! What can go wrong in the vault, and when reading what a user named.

use std::io;
use std::path::PathBuf;

use st_model::version::BlobId;

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// Reading or writing a file failed.
    #[error("failed to {doing} `{}`", path.display())]
    Io {
        /// What was attempted, such as `read`.
        doing: &'static str,
        /// Where.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A blob is not in the vault.
    #[error("blob {0} is not in the vault")]
    MissingBlob(BlobId),
}

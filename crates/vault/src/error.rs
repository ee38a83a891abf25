//! What can go wrong in the vault, and when reading what a user named.

use std::io;
use std::path::{Path, PathBuf};

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
    /// What was handed over to be kept could not be read.
    #[error("failed to read what should be kept")]
    Input(#[source] io::Error),
    /// More bytes came than were allowed; nothing was kept.
    #[error("there are more than {limit} bytes")]
    OverLimit {
        /// Most bytes that were allowed.
        limit: u64,
    },
    /// A blob is not in the vault.
    #[error("blob {0} is not in the vault")]
    MissingBlob(BlobId),
    /// A blob's bytes are not what its id says.
    #[error("blob {0} is damaged: its bytes do not match its id")]
    DamagedBlob(BlobId),
}

impl VaultError {
    /// Wraps an I/O error with what was being done where.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }

    /// Whether the disk is full or a quota is reached.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Self::Io { source, .. } if matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
    }
}

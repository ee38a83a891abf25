//! Content-addressed blobs.

use std::io::Read;
use std::path::Path;

use st_model::version::BlobId;

use crate::error::VaultError;

/// A blob store in one folder (0700).
#[derive(Clone, Debug)]
pub struct Vault {}

impl Vault {
    /// Opens or makes the vault at `root`, and sweeps what an earlier crash left half-written.
    ///
    /// # Errors
    /// When the folder can't be made or read.
    pub fn open(root: &Path) -> Result<Self, VaultError> {
        todo!("{root:?}")
    }

    /// Keeps `bytes`: written aside, synced, renamed into place. Keeping them twice costs nothing.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn put(&self, bytes: &[u8]) -> Result<BlobId, VaultError> {
        todo!("{bytes:?}")
    }

    /// Keeps all that `reader` gives, without holding it in memory; returns id and size.
    ///
    /// # Errors
    /// When reading or the disk fails, or more than `limit` bytes come.
    pub fn put_reader(&self, reader: &mut dyn Read, limit: u64) -> Result<(BlobId, u64), VaultError> {
        let _ = reader;
        todo!("{limit}")
    }

    /// The bytes of a blob, checked against its id.
    ///
    /// # Errors
    /// When it is missing, damaged or unreadable.
    pub fn get(&self, id: BlobId) -> Result<Vec<u8>, VaultError> {
        todo!("{id}")
    }

    /// Puts a private copy of a blob at `to` (a new file, mode 0400).
    ///
    /// # Errors
    /// When it is missing or the disk refuses.
    pub fn export(&self, id: BlobId, to: &Path) -> Result<(), VaultError> {
        todo!("{id} {to:?}")
    }
}

//! Git's name for a byte string.

use std::io::{self, Read};

use sha1::{Digest, Sha1};
use st_model::version::BlobId;

/// Bytes read at a time.
pub(crate) const CHUNK: usize = 64 << 10;

/// Computes a blob id piece by piece; the length is part of it and has to be known first.
#[derive(Debug)]
pub(crate) struct BlobHasher(Sha1);

impl BlobHasher {
    /// Begins the id of `length` bytes.
    pub(crate) fn new(length: u64) -> Self {
        Self(Sha1::new_with_prefix(format!("blob {length}\0")))
    }

    /// Takes the next bytes.
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The id.
    pub(crate) fn finish(self) -> BlobId {
        BlobId(self.0.finalize().into())
    }
}

/// The git blob id of `bytes`.
#[must_use]
pub fn blob_id(bytes: &[u8]) -> BlobId {
    let mut hasher = BlobHasher::new(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
    hasher.update(bytes);
    hasher.finish()
}

/// Calls `each` with all that `reader` gives, a piece at a time.
pub(crate) fn pump(reader: &mut dyn Read, mut each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => each(&buffer[..read])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

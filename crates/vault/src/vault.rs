//! Content-addressed blobs.
//!
//! `ROOT/blobs/ab/cdef…` holds the bytes of blob `abcdef…`; `ROOT/tmp/SESSION/` holds what is
//! being written. Each open vault owns one session folder and an exclusive lock on the file
//! inside it, so a sweep removes the folders of the dead and never those of the living.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::FlockOperation;
use st_model::version::BlobId;
use tempfile::{NamedTempFile, TempDir, TempPath};

use crate::error::VaultError;
use crate::hash::{BlobHasher, blob_id, pump};

/// A blob store in one folder (0700).
#[derive(Clone, Debug)]
pub struct Vault {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    root: PathBuf,
    blobs: PathBuf,
    /// Where this process writes aside; removed with the last clone of the vault.
    session: TempDir,
    /// Locked while the session lives.
    _alive: File,
}

impl Vault {
    /// Opens or makes the vault at `root`, and sweeps what an earlier crash left half-written.
    ///
    /// # Errors
    /// When the folder can't be made or read.
    pub fn open(root: &Path) -> Result<Self, VaultError> {
        let blobs = root.join("blobs");
        let tmp = root.join("tmp");
        for folder in [root, &blobs, &tmp] {
            private_folder(folder)?;
        }
        // One opener at a time, so that no sweep meets a session that is not locked yet.
        let gate_path = root.join("lock");
        let gate = private_file().create(true).truncate(false).write(true).open(&gate_path).map_err(VaultError::io("open", &gate_path))?;
        rustix::fs::flock(&gate, FlockOperation::LockExclusive).map_err(|error| VaultError::io("lock", &gate_path)(error.into()))?;
        sweep(&tmp)?;
        let session = tempfile::Builder::new()
            .prefix("session-")
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(&tmp)
            .map_err(VaultError::io("make a folder in", &tmp))?;
        let alive_path = session.path().join("alive");
        let alive = private_file().create_new(true).write(true).open(&alive_path).map_err(VaultError::io("make", &alive_path))?;
        rustix::fs::flock(&alive, FlockOperation::NonBlockingLockExclusive)
            .map_err(|error| VaultError::io("lock", &alive_path)(error.into()))?;
        Ok(Self { inner: Arc::new(Inner { root: root.to_owned(), blobs, session, _alive: alive }) })
    }

    /// The vault's folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.inner.root
    }

    /// Keeps `bytes`: written aside, synced, renamed into place. Keeping them twice costs nothing.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn put(&self, bytes: &[u8]) -> Result<BlobId, VaultError> {
        let id = blob_id(bytes);
        let length = length_of(bytes);
        if !self.holds(id, length) {
            let mut aside = self.aside()?;
            aside.write_all(bytes).map_err(VaultError::io("write", aside.path()))?;
            self.settle(aside, id)?;
        }
        Ok(id)
    }

    /// Keeps all that `reader` gives, without holding it in memory; returns id and size.
    ///
    /// The id needs the length first, so the bytes are written aside and hashed from there.
    ///
    /// # Errors
    /// When reading or the disk fails, or more than `limit` bytes come.
    pub fn put_reader(&self, reader: &mut dyn Read, limit: u64) -> Result<(BlobId, u64), VaultError> {
        let mut aside = self.aside()?;
        let path = aside.path().to_owned();
        let mut length = 0u64;
        let mut failed = None;
        let read = pump(&mut reader.take(limit.saturating_add(1)), |bytes| {
            length = length.saturating_add(length_of(bytes));
            aside.write_all(bytes).inspect_err(|error| failed = Some(error.kind()))
        });
        match (read, failed) {
            (Err(source), Some(_)) => return Err(VaultError::Io { doing: "write", path, source }),
            (Err(source), None) => return Err(VaultError::Input(source)),
            (Ok(()), _) => {}
        }
        if length > limit {
            return Err(VaultError::OverLimit { limit });
        }
        aside.as_file_mut().rewind().map_err(VaultError::io("rewind", &path))?;
        let mut hasher = BlobHasher::new(length);
        pump(aside.as_file_mut(), |bytes| {
            hasher.update(bytes);
            Ok(())
        })
        .map_err(VaultError::io("read", &path))?;
        let id = hasher.finish();
        if !self.holds(id, length) {
            self.settle(aside, id)?;
        }
        Ok((id, length))
    }

    /// Begins keeping many blobs that become durable together ([`Batch::commit`]).
    pub(crate) fn batch(&self) -> Batch<'_> {
        Batch { vault: self, staged: BTreeMap::new() }
    }

    /// Whether the blob is there. Says nothing about its bytes.
    #[must_use]
    pub fn contains(&self, id: BlobId) -> bool {
        self.path_of(id).is_file()
    }

    /// The bytes of a blob, checked against its id.
    ///
    /// # Errors
    /// When it is missing, damaged or unreadable.
    pub fn get(&self, id: BlobId) -> Result<Vec<u8>, VaultError> {
        let (mut file, length, path) = self.open_blob(id)?;
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
        file.read_to_end(&mut bytes).map_err(VaultError::io("read", &path))?;
        if blob_id(&bytes) == id { Ok(bytes) } else { Err(VaultError::DamagedBlob(id)) }
    }

    /// Puts a private copy of a blob at `to` (a new file, mode 0400).
    ///
    /// Always a copy, never a hard link: whoever gets the file can't reach the vault's bytes
    /// through it. The bytes are checked on the way; a copy that fails leaves no file.
    ///
    /// # Errors
    /// When it is missing, damaged or unreadable, when `to` exists, or the disk refuses.
    pub fn export(&self, id: BlobId, to: &Path) -> Result<(), VaultError> {
        let (mut file, length, path) = self.open_blob(id)?;
        let mut copy = OpenOptions::new().write(true).create_new(true).mode(0o400).open(to).map_err(VaultError::io("make", to))?;
        let mut hasher = BlobHasher::new(length);
        let mut write_failed = false;
        let copied = pump(&mut file, |bytes| {
            hasher.update(bytes);
            copy.write_all(bytes).inspect_err(|_| write_failed = true)
        });
        let outcome = match copied {
            Err(source) if write_failed => Err(VaultError::Io { doing: "write", path: to.to_owned(), source }),
            Err(source) => Err(VaultError::Io { doing: "read", path, source }),
            Ok(()) if hasher.finish() != id => Err(VaultError::DamagedBlob(id)),
            Ok(()) => Ok(()),
        };
        if outcome.is_err() {
            fs::remove_file(to).map_err(VaultError::io("remove", to))?;
        }
        outcome
    }

    fn open_blob(&self, id: BlobId) -> Result<(File, u64, PathBuf), VaultError> {
        let path = self.path_of(id);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(VaultError::MissingBlob(id)),
            Err(source) => return Err(VaultError::Io { doing: "open", path, source }),
        };
        let length = file.metadata().map_err(VaultError::io("read", &path))?.len();
        Ok((file, length, path))
    }

    fn path_of(&self, id: BlobId) -> PathBuf {
        let name = id.to_string();
        let (fan, rest) = name.split_at(2);
        self.inner.blobs.join(fan).join(rest)
    }

    /// Whether the blob is there in full length. A shorter one, left by a power cut on a file
    /// system that renames before it writes, is written anew.
    fn holds(&self, id: BlobId, length: u64) -> bool {
        fs::symlink_metadata(self.path_of(id)).is_ok_and(|found| found.is_file() && found.len() == length)
    }

    fn aside(&self) -> Result<NamedTempFile, VaultError> {
        let folder = self.inner.session.path();
        NamedTempFile::new_in(folder).map_err(VaultError::io("make a file in", folder))
    }

    /// Syncs a finished file and renames it to its name; both are durable afterwards.
    fn settle(&self, aside: NamedTempFile, id: BlobId) -> Result<(), VaultError> {
        aside.as_file().sync_all().map_err(VaultError::io("sync", aside.path()))?;
        let path = self.place(aside, id)?;
        if let Some(folder) = path.parent() {
            sync_folder(folder)?;
        }
        sync_folder(&self.inner.blobs)
    }

    /// Renames a finished file to its name.
    fn place(&self, aside: NamedTempFile, id: BlobId) -> Result<PathBuf, VaultError> {
        let path = self.path_of(id);
        if let Some(folder) = path.parent() {
            private_folder(folder)?;
        }
        aside.persist(&path).map_err(|error| VaultError::io("rename to", &path)(error.error))?;
        Ok(path)
    }
}

/// Many blobs kept at the price of two syncs: all are written aside, synced together, renamed,
/// and synced again. Dropping it uncommitted keeps nothing.
#[derive(Debug)]
pub(crate) struct Batch<'vault> {
    vault: &'vault Vault,
    staged: BTreeMap<BlobId, TempPath>,
}

impl Batch<'_> {
    /// Writes `bytes` aside; they are in the vault once the batch is committed.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<BlobId, VaultError> {
        let id = blob_id(bytes);
        if !self.staged.contains_key(&id) && !self.vault.holds(id, length_of(bytes)) {
            let mut aside = self.vault.aside()?;
            aside.write_all(bytes).map_err(VaultError::io("write", aside.path()))?;
            // The open file is given up: a batch may be larger than the limit on open files.
            self.staged.insert(id, aside.into_temp_path());
        }
        Ok(id)
    }

    /// The bytes of a blob of the batch or of the vault.
    pub(crate) fn get(&self, id: BlobId) -> Result<Vec<u8>, VaultError> {
        match self.staged.get(&id) {
            Some(aside) => fs::read(aside).map_err(VaultError::io("read", aside)),
            None => self.vault.get(id),
        }
    }

    /// Makes those blobs of the batch durable that `wanted` names, and drops the others.
    pub(crate) fn commit(self, wanted: &BTreeSet<BlobId>) -> Result<(), VaultError> {
        let blobs = &self.vault.inner.blobs;
        let folder = File::open(blobs).map_err(VaultError::io("open", blobs))?;
        let sync = || rustix::fs::syncfs(&folder).map_err(|error| VaultError::io("sync", blobs)(error.into()));
        let staged: Vec<_> = self.staged.into_iter().filter(|(id, _)| wanted.contains(id)).collect();
        if staged.is_empty() {
            return Ok(());
        }
        sync()?;
        for (id, aside) in staged {
            let path = self.vault.path_of(id);
            if let Some(fan) = path.parent() {
                private_folder(fan)?;
            }
            aside.persist(&path).map_err(|error| VaultError::io("rename to", &path)(error.error))?;
        }
        sync()
    }
}

fn length_of(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

fn private_folder(folder: &Path) -> Result<(), VaultError> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(VaultError::io("make", folder))
}

fn sync_folder(folder: &Path) -> Result<(), VaultError> {
    File::open(folder).and_then(|opened| opened.sync_all()).map_err(VaultError::io("sync", folder))
}

/// Removes the session folders whose owner is dead.
fn sweep(tmp: &Path) -> Result<(), VaultError> {
    for entry in fs::read_dir(tmp).map_err(VaultError::io("list", tmp))? {
        let path = entry.map_err(VaultError::io("list", tmp))?.path();
        let alive = match File::open(path.join("alive")) {
            Ok(file) => rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err(),
            Err(_) => false,
        };
        if !alive {
            let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.map_err(VaultError::io("remove", &path))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;

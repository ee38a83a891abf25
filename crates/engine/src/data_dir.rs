//! Where everything lies, and the lock that makes one engine its owner.
//!
//! ```text
//! DATA_DIR/
//!   engine.lock            held exclusively while an engine runs; its pid and boot id
//!   sidetrack.db           the store
//!   vault/                 blobs
//!   pins/TASK.json         what a task that is not at rest froze, so that a later attempt sees the same
//!   attempts/ATTEMPT/log   what an attempt said; kept
//!   attempts/ATTEMPT/work/ the worker's own folder; removed when the attempt ends
//!   attempts/ATTEMPT/broker.sock
//! ```

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use rustix::io::Errno;
use st_model::id::{AttemptId, BootId, TaskId};

use crate::error::EngineError;

/// The data directory, owned for as long as this lives.
#[derive(Debug)]
pub(crate) struct DataDir {
    root: PathBuf,
    lock: File,
}

impl DataDir {
    /// Makes what is missing and takes the lock.
    pub(crate) fn own(root: &Path, boot: BootId) -> Result<Self, EngineError> {
        private_folder(root)?;
        let path = root.join("engine.lock");
        let mut lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(io_error("open", &path))?;
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(EngineError::Locked { data_dir: root.to_owned() }),
            Err(errno) => return Err(io_error("lock", &path)(errno.into())),
        }
        // For people and for error messages; who holds the lock is the kernel's to say.
        lock.set_len(0).and_then(|()| writeln!(lock, "{} {boot}", std::process::id())).map_err(io_error("write", &path))?;
        let dir = Self { root: root.to_owned(), lock };
        private_folder(&dir.attempts())?;
        private_folder(&dir.pins())?;
        Ok(dir)
    }

    /// Lets another engine have the directory. Nothing of ours may touch it afterwards.
    pub(crate) fn release(&self) {
        if let Err(error) = rustix::fs::flock(&self.lock, FlockOperation::Unlock) {
            tracing::warn!(%error, "failed to let go of the data directory's lock; it goes with this process");
        }
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.root.join("sidetrack.db")
    }

    pub(crate) fn vault(&self) -> PathBuf {
        self.root.join("vault")
    }

    pub(crate) fn attempts(&self) -> PathBuf {
        self.root.join("attempts")
    }

    pub(crate) fn attempt(&self, id: AttemptId) -> AttemptDir {
        AttemptDir { root: self.attempts().join(id.to_string()) }
    }

    pub(crate) fn pins(&self) -> PathBuf {
        self.root.join("pins")
    }

    pub(crate) fn pin(&self, task: TaskId) -> PathBuf {
        self.pins().join(format!("{task}.json"))
    }
}

/// One attempt's folder.
#[derive(Clone, Debug)]
pub(crate) struct AttemptDir {
    root: PathBuf,
}

impl AttemptDir {
    /// Makes the folder with an empty work folder in it.
    pub(crate) fn make(&self) -> Result<(), EngineError> {
        for folder in [&self.root, &self.work(), &self.blobs(), &self.temp()] {
            private_folder(folder)?;
        }
        Ok(())
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.root.join("log")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    pub(crate) fn blobs(&self) -> PathBuf {
        self.work().join("blobs")
    }

    pub(crate) fn temp(&self) -> PathBuf {
        self.work().join("tmp")
    }

    pub(crate) fn job(&self) -> PathBuf {
        self.work().join("job.json")
    }

    /// Removes all but the log.
    pub(crate) fn clear(&self) -> io::Result<()> {
        gone(fs::remove_dir_all(self.work()))?;
        gone(fs::remove_file(self.root.join(crate::socket::NAME)))
    }
}

/// What is not there need not be removed.
pub(crate) fn gone(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

/// Writes a file whole (0600): aside, synced, renamed into place.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), EngineError> {
    let aside = path.with_extension("part");
    gone(fs::remove_file(&aside)).map_err(io_error("remove", &aside))?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&aside).map_err(io_error("make", &aside))?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(io_error("write", &aside))?;
    fs::rename(&aside, path).map_err(io_error("put in place", path))
}

fn private_folder(path: &Path) -> Result<(), EngineError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(io_error("make the folder", path))
}

/// Wraps an I/O error with what was being done where.
pub(crate) fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> EngineError {
    let path = path.to_owned();
    move |source| EngineError::Io { doing, path, source }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_second_owner_is_refused_until_the_first_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("data");
        let boot = BootId(Uuid::from_u128(1));
        let first = DataDir::own(&root, boot).unwrap();
        assert!(matches!(DataDir::own(&root, boot), Err(EngineError::Locked { data_dir }) if data_dir == root));
        assert_eq!(fs::read_to_string(root.join("engine.lock")).unwrap(), format!("{} {boot}\n", std::process::id()));
        drop(first);
        DataDir::own(&root, boot).unwrap();
    }

    #[test]
    fn everything_is_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("data");
        let dir = DataDir::own(&root, BootId(Uuid::from_u128(1))).unwrap();
        let attempt = dir.attempt(AttemptId(Uuid::from_u128(2)));
        attempt.make().unwrap();
        write_whole(&attempt.job(), b"{}").unwrap();
        write_whole(&attempt.job(), b"{\"again\":1}").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        for path in [&root, &dir.attempts(), &dir.pins(), &attempt.work(), &attempt.blobs(), &attempt.temp()] {
            assert_eq!(mode(path), 0o700, "{}", path.display());
        }
        assert_eq!(mode(&attempt.job()), 0o600);
        attempt.clear().unwrap();
        attempt.clear().unwrap();
        assert!(attempt.root().exists() && !attempt.work().exists());
    }
}

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
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::event::Timespec;
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

/// Tries and pause for a lock whose writer is dead: about one second in all.
const TRIES: u32 = 200;
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };

/// Takes the lock; `false` when an engine that lives has it.
///
/// An engine that is killed while it starts a worker leaves the lock with the forked child until
/// that has called `exec` (descriptors close there and not before). So a lock whose writer is dead
/// is waited for.
fn take(lock: &File) -> io::Result<bool> {
    for _ in 0..TRIES {
        match rustix::fs::flock(lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK) if writer_lives(lock) => return Ok(false),
            Err(Errno::WOULDBLOCK) => {
                // Ends early at a signal, which only means one more try.
                let _ = rustix::event::poll(&mut [], Some(&PAUSE));
            }
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(false)
}

/// Whether the process that wrote the lock file still runs. A file that names none counts as
/// alive: its engine is just about to write.
fn writer_lives(lock: &File) -> bool {
    let mut text = [0; 32];
    let read = lock.read_at(&mut text, 0).unwrap_or(0);
    let pid = String::from_utf8_lossy(&text[..read]).split_whitespace().next().and_then(|word| word.parse::<u32>().ok());
    let Some(pid) = pid else { return true };
    // After the name, which is in parentheses and may hold anything: `Z` and `X` are dead and not yet reaped.
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with(['Z', 'X'])))
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
        if !take(&lock).map_err(io_error("lock", &path))? {
            return Err(EngineError::Locked { data_dir: root.to_owned() });
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
    fn a_lock_that_a_dead_engines_child_still_holds_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("data");
        let dead = DataDir::own(&root, BootId(Uuid::from_u128(1))).unwrap();
        // Above the kernel's largest pid, so nobody's.
        fs::write(root.join("engine.lock"), "4194305 1\n").unwrap();
        std::thread::scope(|threads| {
            let next = threads.spawn(|| DataDir::own(&root, BootId(Uuid::from_u128(2))));
            dead.release();
            next.join().unwrap().unwrap();
        });
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

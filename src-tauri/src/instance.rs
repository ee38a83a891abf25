//! One window a data directory: a file lock decides, a socket hands a later launch's wishes over.
//!
//! The lock is ours and not the desktop's, so it also holds without a session bus.

use std::fs::{self, File, TryLockError};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use st_app::{ErrorCode, Problem};

use crate::args::Opening;

/// How long a later launch waits for the standing window to take its wishes.
const HAND_OVER: Duration = Duration::from_secs(5);

/// The right to be the window of a data directory. Held until the process ends.
#[derive(Debug)]
pub(crate) struct Instance {
    _lock: File,
    _dir: File,
    listener: UnixListener,
}

/// What a launch turned out to be.
#[derive(Debug)]
pub(crate) enum Launch {
    /// The window.
    First(Instance),
    /// A later one, whose wishes the window has taken.
    HandedOver,
}

/// Becomes the window of `data_dir`, or hands `opening` to the one that stands.
pub(crate) fn launch(data_dir: &Path, opening: &Opening) -> Result<Launch, Problem> {
    let trouble = |doing: &str, error: &dyn std::fmt::Display| {
        Problem::refused(
            ErrorCode::Internal,
            format!("Failed to {doing} in `{}`: {error}", data_dir.display()),
            "Check that the data directory is yours and writable",
        )
    };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(data_dir).map_err(|error| trouble("make the data directory", &error))?;
    let dir = File::open(data_dir).map_err(|error| trouble("open the data directory", &error))?;
    let lock = fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(data_dir.join("window.lock"))
        .map_err(|error| trouble("open `window.lock`", &error))?;
    let socket = socket_path(&dir);
    match lock.try_lock() {
        Ok(()) => {
            let _ = fs::remove_file(&socket);
            let listener = UnixListener::bind(&socket).map_err(|error| trouble("listen on `window.sock`", &error))?;
            fs::set_permissions(&socket, fs::Permissions::from_mode(0o600)).map_err(|error| trouble("protect `window.sock`", &error))?;
            Ok(Launch::First(Instance { _lock: lock, _dir: dir, listener }))
        }
        Err(TryLockError::WouldBlock) => {
            hand_over(&socket, opening).map(|()| Launch::HandedOver).map_err(|error| trouble("reach the window that stands", &error))
        }
        Err(TryLockError::Error(error)) => Err(trouble("lock `window.lock`", &error)),
    }
}

/// Through the open folder, so that a long data directory does not exceed a socket address's 108 bytes.
fn socket_path(dir: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/window.sock", dir.as_raw_fd()))
}

fn hand_over(socket: &Path, opening: &Opening) -> std::io::Result<()> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(HAND_OVER))?;
    let mut line = serde_json::to_vec(opening)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    if answer == "ok\n" { Ok(()) } else { Err(std::io::Error::other("it did not answer")) }
}

impl Instance {
    /// Listens for later launches on a thread of its own.
    pub(crate) fn listen(self, mut on_opening: impl FnMut(Opening) + Send + 'static) -> std::io::Result<()> {
        std::thread::Builder::new().name("instance".into()).spawn(move || {
            // The whole of it moves here: a closure that names one field would drop the lock at once.
            let instance = self;
            while let Ok((stream, _)) = instance.listener.accept() {
                if let Some(opening) = take(&stream) {
                    on_opening(opening);
                }
            }
        })?;
        Ok(())
    }
}

fn take(stream: &UnixStream) -> Option<Opening> {
    stream.set_read_timeout(Some(HAND_OVER)).ok()?;
    let mut line = String::new();
    // A launch hands over at most a few thousand paths.
    BufReader::new(std::io::Read::take(stream, 1 << 20)).read_line(&mut line).ok()?;
    let opening = serde_json::from_str(&line).ok()?;
    (&*stream).write_all(b"ok\n").ok()?;
    Some(opening)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_later_launch_hands_its_wishes_to_the_first() {
        let dir = tempfile::tempdir().unwrap();
        // Far beyond what a socket address holds.
        let data_dir = dir.path().join("d".repeat(120));
        let Launch::First(first) = launch(&data_dir, &Opening::default()).unwrap() else { panic!("the first launch is the window") };
        let (told, heard) = mpsc::channel();
        first.listen(move |opening| told.send(opening).unwrap()).unwrap();
        let wish = Opening { task: Some(3), items: vec!["/tmp/a b.patch".into()] };
        assert!(matches!(launch(&data_dir, &wish).unwrap(), Launch::HandedOver));
        assert_eq!(heard.recv_timeout(Duration::from_secs(10)).unwrap(), wish);
        assert_eq!(fs::metadata(data_dir.join("window.sock")).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_crashed_window_leaves_the_place_free() {
        let dir = tempfile::tempdir().unwrap();
        drop(launch(dir.path(), &Opening::default()).unwrap());
        assert!(dir.path().join("window.sock").exists(), "the stale socket stays behind");
        assert!(matches!(launch(dir.path(), &Opening::default()).unwrap(), Launch::First(_)));
    }
}

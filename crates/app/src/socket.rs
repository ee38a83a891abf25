//! The engine's socket: where it is, and how it is reached when its path is too long for a
//! socket address.

use std::io;
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

/// Name of the socket in the data directory.
pub const SOCKET_NAME: &str = "engine.sock";

/// Longest path a socket address holds, in bytes, its closing NUL not counted (`sun_path` of
/// `unix(7)` is 108 bytes; 104 on macOS).
const LONGEST_PATH: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// The socket of a data directory.
#[must_use]
pub fn socket_path(data_dir: &Path) -> PathBuf {
    data_dir.join(SOCKET_NAME)
}

/// A path that reaches the socket and fits a socket address. A long one goes through an open
/// handle of its folder, which lives as long as this does.
struct Address {
    path: PathBuf,
    #[cfg(target_os = "linux")]
    _folder: Option<std::os::fd::OwnedFd>,
}

impl Address {
    #[cfg(target_os = "linux")]
    fn of(data_dir: &Path) -> io::Result<Self> {
        use rustix::fs::{CWD, Mode, OFlags, openat};
        use std::os::fd::AsRawFd as _;

        let path = socket_path(data_dir);
        if path.as_os_str().len() <= LONGEST_PATH {
            return Ok(Self { path, _folder: None });
        }
        let folder = openat(CWD, data_dir, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let path = PathBuf::from(format!("/proc/self/fd/{}/{SOCKET_NAME}", folder.as_raw_fd()));
        Ok(Self { path, _folder: Some(folder) })
    }

    #[cfg(not(target_os = "linux"))]
    fn of(data_dir: &Path) -> io::Result<Self> {
        let path = socket_path(data_dir);
        if path.as_os_str().len() > LONGEST_PATH {
            return Err(io::Error::new(
                io::ErrorKind::InvalidFilename,
                format!("the path is longer than the {LONGEST_PATH} bytes that a socket address holds"),
            ));
        }
        Ok(Self { path })
    }
}

/// Listens on the data directory's socket (0600). Removes a stale socket: the caller holds the
/// engine's lock, so nobody else can be listening.
pub(crate) fn bind(data_dir: &Path) -> io::Result<UnixListener> {
    use std::os::unix::fs::PermissionsExt as _;

    let real = socket_path(data_dir);
    match std::fs::remove_file(&real) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let address = Address::of(data_dir)?;
    let listener = UnixListener::bind(&address.path)?;
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Connects to the data directory's socket.
pub(crate) async fn connect(data_dir: &Path) -> io::Result<UnixStream> {
    let address = Address::of(data_dir)?;
    UnixStream::connect(&address.path).await
}

/// Whether a process of user `peer` may speak with an engine of user `own`. Only the very same
/// user may, root included: what another user queues would run with our rights.
#[must_use]
pub(crate) fn peer_is_allowed(peer: u32, own: u32) -> bool {
    peer == own
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[tokio::test]
    async fn a_path_longer_than_a_socket_address_is_bound_and_reached() {
        let root = tempfile::tempdir().unwrap();
        let long = root.path().join("x".repeat(120)).join("y".repeat(120));
        std::fs::create_dir_all(&long).unwrap();
        let listener = bind(&long).unwrap();
        let (accepted, connected) = tokio::join!(listener.accept(), connect(&long));
        accepted.unwrap();
        connected.unwrap();
        assert_eq!(std::fs::metadata(socket_path(&long)).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[tokio::test]
    async fn a_stale_socket_is_replaced() {
        let root = tempfile::tempdir().unwrap();
        drop(bind(root.path()).unwrap());
        assert!(connect(root.path()).await.is_err());
        let _listener = bind(root.path()).unwrap();
        connect(root.path()).await.unwrap();
    }

    #[test]
    fn only_the_same_user_may_speak() {
        assert!(peer_is_allowed(1000, 1000));
        assert!(!peer_is_allowed(0, 1000));
        assert!(!peer_is_allowed(65534, 0));
    }
}

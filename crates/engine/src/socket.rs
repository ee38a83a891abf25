//! The broker's socket, at paths of any length.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use tokio::net::UnixListener;

use crate::data_dir::gone;

/// The socket's name in its attempt's folder.
pub(crate) const NAME: &str = "broker.sock";

/// How a worker in its attempt's work folder reaches it: short, whatever lies above.
pub(crate) const FROM_WORK: &str = "../broker.sock";

/// Listens on `broker.sock` (0600) in `dir`.
///
/// A socket address holds 107 bytes of path, so the name is bound through an open descriptor of
/// the folder and never by its full path.
pub(crate) fn listen(dir: &Path) -> io::Result<UnixListener> {
    gone(fs::remove_file(dir.join(NAME)))?;
    let folder = rustix::fs::open(dir, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let listener = std::os::unix::net::UnixListener::bind(format!("/proc/self/fd/{}/{NAME}", folder.as_raw_fd()))?;
    fs::set_permissions(dir.join(NAME), Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    UnixListener::from_std(listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_path_longer_than_a_socket_address_works() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("d".repeat(120)).join("e".repeat(120));
        fs::create_dir_all(&deep).unwrap();
        let listener = listen(&deep).unwrap();
        assert_eq!(fs::metadata(deep.join(NAME)).unwrap().permissions().mode() & 0o777, 0o600);
        let inside = rustix::fs::open(&deep, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap();
        let connected = tokio::net::UnixStream::connect(format!("/proc/self/fd/{}/{NAME}", inside.as_raw_fd()));
        let (accepted, connected) = tokio::join!(listener.accept(), connected);
        accepted.unwrap();
        connected.unwrap();
        listen(&deep).unwrap();
    }
}

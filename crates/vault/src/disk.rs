//! Careful reading of files that belong to someone else.
//!
//! Nothing here follows a symbolic link below the folder it was given, waits on a FIFO, opens a
//! device, or writes. A path is walked one component at a time from an open folder, so a parent
//! that is swapped for a link under the reader leads nowhere.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};

/// What a path is, by `lstat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Regular file.
    File,
    /// Symbolic link.
    Link,
    /// Folder.
    Folder,
    /// FIFO, socket or device, in words; never opened.
    Special(&'static str),
}

/// Identity and version of a file: when two are equal, nobody wrote to it in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) kind: Kind,
    pub(crate) dev: u64,
    pub(crate) ino: u64,
    pub(crate) size: u64,
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) mtime: (i64, u32),
    pub(crate) ctime: (i64, u32),
}

impl Stamp {
    #[allow(clippy::useless_conversion, clippy::unnecessary_fallible_conversions, reason = "the fields differ in width between systems")]
    fn of(stat: &Stat) -> Self {
        let nanos = |value: i64| u32::try_from(value).unwrap_or(0);
        Self {
            kind: match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => Kind::File,
                FileType::Symlink => Kind::Link,
                FileType::Directory => Kind::Folder,
                FileType::Fifo => Kind::Special("a FIFO"),
                FileType::Socket => Kind::Special("a socket"),
                FileType::CharacterDevice | FileType::BlockDevice => Kind::Special("a device"),
                FileType::Unknown => Kind::Special("no file, link or folder"),
            },
            dev: u64::try_from(stat.st_dev).unwrap_or(0),
            ino: u64::try_from(stat.st_ino).unwrap_or(0),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mode: u32::from(stat.st_mode),
            uid: stat.st_uid,
            gid: stat.st_gid,
            mtime: (stat.st_mtime.into(), nanos(i64::try_from(stat.st_mtime_nsec).unwrap_or(0))),
            ctime: (stat.st_ctime.into(), nanos(i64::try_from(stat.st_ctime_nsec).unwrap_or(0))),
        }
    }

    /// Whether the owner may run it.
    pub(crate) fn executable(&self) -> bool {
        self.mode & 0o100 != 0
    }
}

const OPEN: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// An open folder.
#[derive(Debug)]
pub(crate) struct Folder(OwnedFd);

impl Folder {
    /// Opens the folder a user named; links on the way to it are followed, as the user meant.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::open(path, flags, Mode::empty())?))
    }

    /// Opens a folder directly below; a link is an error.
    pub(crate) fn child(&self, name: &[u8]) -> io::Result<Self> {
        Ok(Self(rustix::fs::openat(&self.0, c_name(name)?.as_c_str(), OPEN | OFlags::DIRECTORY, Mode::empty())?))
    }

    /// Names directly below, unsorted, without `.` and `..`.
    pub(crate) fn names(&self) -> io::Result<Vec<Vec<u8>>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let name: &CStr = entry.file_name();
            if !matches!(name.to_bytes(), b"." | b"..") {
                names.push(name.to_bytes().to_vec());
            }
        }
        Ok(names)
    }

    /// `lstat` of a name directly below.
    pub(crate) fn stamp(&self, name: &[u8]) -> io::Result<Stamp> {
        Ok(Stamp::of(&rustix::fs::statat(&self.0, c_name(name)?.as_c_str(), AtFlags::SYMLINK_NOFOLLOW)?))
    }

    /// Target of a link directly below.
    pub(crate) fn link_target(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(&self.0, c_name(name)?.as_c_str(), Vec::new())?.into_bytes())
    }

    /// Opens a regular file directly below, and nothing else: a FIFO never blocks, a link is an
    /// error, and what turns out not to be a regular file is closed unread.
    pub(crate) fn file(&self, name: &[u8]) -> io::Result<(File, Stamp)> {
        // A device can act on being opened, so its kind is asked first.
        if !matches!(self.stamp(name)?.kind, Kind::File) {
            return Err(not_a_file());
        }
        regular(File::from(rustix::fs::openat(&self.0, c_name(name)?.as_c_str(), OPEN, Mode::empty())?))
    }

    /// The folder that holds the last component of `path`, and that component.
    pub(crate) fn parent_of<'path>(&self, path: &'path [u8]) -> io::Result<(Option<Self>, &'path [u8])> {
        let mut folder: Option<Self> = None;
        let mut rest = path;
        while let Some(slash) = rest.iter().position(|&byte| byte == b'/') {
            folder = Some(folder.as_ref().unwrap_or(self).child(&rest[..slash])?);
            rest = &rest[slash + 1..];
        }
        Ok((folder, rest))
    }

    /// `lstat` of a path below, no component followed.
    pub(crate) fn stamp_beneath(&self, path: &[u8]) -> io::Result<Stamp> {
        let (parent, name) = self.parent_of(path)?;
        parent.as_ref().unwrap_or(self).stamp(name)
    }

    /// The whole of a small regular file below, or `None` when it is not there, is something
    /// else, or is larger than `limit`.
    pub(crate) fn small_file(&self, path: &[u8], limit: u64) -> io::Result<Option<Vec<u8>>> {
        let opened = self.parent_of(path).and_then(|(parent, name)| parent.as_ref().unwrap_or(self).file(name));
        let (file, stamp) = match opened {
            Ok(opened) => opened,
            Err(error) if is_absent(&error) || is_not_a_file(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        if stamp.size > limit {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }
}

/// Opens the regular file a user named; links on the way to it are followed, as the user meant.
pub(crate) fn open_named(path: &Path) -> io::Result<(File, Stamp)> {
    if !matches!(stamp_named(path)?.kind, Kind::File) {
        return Err(not_a_file());
    }
    regular(File::from(rustix::fs::open(path, OPEN.difference(OFlags::NOFOLLOW), Mode::empty())?))
}

/// `stat` of a path a user named.
pub(crate) fn stamp_named(path: &Path) -> io::Result<Stamp> {
    Ok(Stamp::of(&rustix::fs::stat(path)?))
}

/// `fstat`.
pub(crate) fn stamp_of(file: impl AsFd) -> io::Result<Stamp> {
    Ok(Stamp::of(&rustix::fs::fstat(file)?))
}

fn regular(file: File) -> io::Result<(File, Stamp)> {
    let stamp = stamp_of(&file)?;
    if matches!(stamp.kind, Kind::File) { Ok((file, stamp)) } else { Err(not_a_file()) }
}

fn c_name(name: &[u8]) -> io::Result<CString> {
    CString::new(name).map_err(|_| io::ErrorKind::InvalidInput.into())
}

fn not_a_file() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")
}

fn is_not_a_file(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidInput || is_link(error)
}

/// Whether a component was a link where a file or folder was wanted.
fn is_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

/// Whether the error says that nothing is at the path: no such name, or a parent that is no folder.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) || is_link(error)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_below_the_folder_is_never_followed() {
        let root = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), b"secret").unwrap();
        symlink(outside.path(), root.path().join("way")).unwrap();
        symlink(outside.path().join("secret"), root.path().join("file")).unwrap();
        let folder = Folder::open(root.path()).unwrap();
        assert!(is_absent(&folder.stamp_beneath(b"way/secret").unwrap_err()));
        assert!(folder.child(b"way").is_err());
        assert!(folder.file(b"file").is_err());
        assert_eq!(folder.small_file(b"way/secret", 100).unwrap(), None);
        assert_eq!(folder.small_file(b"file", 100).unwrap(), None);
        assert_eq!(folder.stamp(b"file").unwrap().kind, Kind::Link);
        assert_eq!(folder.link_target(b"file").unwrap(), outside.path().join("secret").as_os_str().as_encoded_bytes());
    }

    #[test]
    fn a_fifo_is_never_waited_for() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let folder = Folder::open(root.path()).unwrap();
        assert_eq!(folder.stamp(b"pipe").unwrap().kind, Kind::Special("a FIFO"));
        assert!(folder.file(b"pipe").is_err());
        assert!(open_named(&path).is_err());
        assert_eq!(folder.small_file(b"pipe", 100).unwrap(), None);
    }
}

//! Git LFS pointers: a small text that stands for a large file.

use std::io::{self, Read};

use gix::ObjectId;
use gix::hash::Kind;

use crate::hash::pump;

/// Longest pointer, in bytes; the format's own bound.
const POINTER_BYTES: usize = 1024;

/// What a pointer says of the file it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pointer {
    sha256: ObjectId,
    size: u64,
}

impl Pointer {
    /// Reads a blob as a pointer.
    pub(crate) fn parse(blob: &[u8]) -> Option<Self> {
        if blob.len() > POINTER_BYTES {
            return None;
        }
        let text = std::str::from_utf8(blob).ok()?;
        let mut lines = text.lines();
        lines.next()?.strip_prefix("version https://git-lfs.github.com/spec/")?;
        let (mut sha256, mut size) = (None, None);
        for line in lines {
            match line.split_once(' ')? {
                ("oid", value) => {
                    sha256 = ObjectId::from_hex(value.strip_prefix("sha256:")?.as_bytes()).ok().filter(|id| id.kind() == Kind::Sha256)
                }
                ("size", value) => size = Some(value.parse().ok()?),
                _ => {}
            }
        }
        Some(Self { sha256: sha256?, size: size? })
    }

    /// Whether all that `reader` gives, `size` bytes long, is the file.
    pub(crate) fn stands_for(&self, size: u64, reader: &mut dyn Read) -> io::Result<bool> {
        if size != self.size {
            return Ok(false);
        }
        let mut hasher = gix::hash::hasher(Kind::Sha256);
        pump(reader, |bytes| {
            hasher.update(bytes);
            Ok(())
        })?;
        let id: ObjectId = hasher.try_finalize().map_err(|error| io::Error::other(error.to_string()))?;
        Ok(id == self.sha256)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1\noid sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\nsize 3\n";

    #[test]
    fn a_pointer_stands_for_the_file_with_its_hash_and_size() {
        let pointer = Pointer::parse(POINTER).unwrap();
        assert!(pointer.stands_for(3, &mut &b"abc"[..]).unwrap());
        assert!(!pointer.stands_for(3, &mut &b"abd"[..]).unwrap());
        assert!(!pointer.stands_for(4, &mut &b"abc\n"[..]).unwrap());
        assert_eq!(Pointer::parse(b"version 1\noid sha256:00\nsize 3\n"), None);
        assert_eq!(Pointer::parse(b"version https://git-lfs.github.com/spec/v1\nsize 3\n"), None);
    }
}

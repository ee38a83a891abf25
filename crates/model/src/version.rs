//! Version pointers: what a path held at one moment.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The git blob id of a byte string: SHA-1 over `blob LEN\0` and the raw bytes, no filters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BlobId(pub [u8; 20]);

/// The text is not 40 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a blob id of 40 hexadecimal digits")]
pub struct ParseBlobIdError(pub String);

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for BlobId {
    type Err = ParseBlobIdError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || ParseBlobIdError(text.to_owned());
        if text.len() != 40 || !text.is_ascii() {
            return Err(bad());
        }
        let mut id = [0; 20];
        for (index, byte) in id.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[index * 2..index * 2 + 2], 16).map_err(|_| bad())?;
        }
        Ok(Self(id))
    }
}

impl TryFrom<String> for BlobId {
    type Error = ParseBlobIdError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<BlobId> for String {
    fn from(id: BlobId) -> Self {
        id.to_string()
    }
}

/// A file's kind and permissions as git sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileMode {
    /// 100644
    Regular,
    /// 100755
    Executable,
    /// 120000; the blob is the link's target.
    Symlink,
    /// 160000: a submodule's commit, which is no blob of this repository.
    Gitlink,
}

impl FileMode {
    /// The mode for git's octal number; group-writable spellings of old repositories included.
    #[must_use]
    pub fn from_git(mode: u32) -> Option<Self> {
        match mode & 0o170_000 {
            0o120_000 => Some(Self::Symlink),
            0o160_000 => Some(Self::Gitlink),
            0o100_000 if mode & 0o100 != 0 => Some(Self::Executable),
            0o100_000 => Some(Self::Regular),
            _ => None,
        }
    }

    /// Git's octal number.
    #[must_use]
    pub fn git(self) -> u32 {
        match self {
            Self::Regular => 0o100_644,
            Self::Executable => 0o100_755,
            Self::Symlink => 0o120_000,
            Self::Gitlink => 0o160_000,
        }
    }
}

/// What a path held: bytes and mode, or nothing at all. Absence is said, never implied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VersionPointer {
    /// These bytes with this mode.
    Present {
        /// Blob id of the raw bytes.
        blob: BlobId,
        /// Kind and permissions.
        mode: FileMode,
    },
    /// No file.
    Absent,
}

impl fmt::Display for VersionPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Present { blob, mode } => write!(f, "git:sha1:{blob}:{:06o}", mode.git()),
            Self::Absent => f.write_str("absent"),
        }
    }
}

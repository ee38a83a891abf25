//! Paths inside a repository, as bytes.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// A path relative to a repository's root, `/`-separated, in the bytes git stores.
///
/// Parsed once at the edge by [`RepoPath::parse`]; after that it never names anything outside
/// the root. Serialises as a string when it is UTF-8, else as `{"b64": …}`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Wire", into = "Wire")]
pub struct RepoPath(Vec<u8>);

/// Why a byte string is no path inside a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Nothing there.
    #[error("the path is empty")]
    Empty,
    /// A NUL byte, which no file system takes.
    #[error("the path holds a NUL byte")]
    Nul,
    /// `/x`, or a Windows drive or share.
    #[error("the path is absolute")]
    Absolute,
    /// A `..`, `.` or empty component.
    #[error("the path leaves the repository or is not in plain form")]
    NotPlain,
    /// The base64 form does not decode.
    #[error("the path's base64 form does not decode")]
    BadEncoding,
}

impl RepoPath {
    /// Takes `bytes` as a path inside a repository.
    ///
    /// # Errors
    /// When it is empty, absolute, holds a NUL, or has a `..`, `.` or empty component.
    pub fn parse(bytes: &[u8]) -> Result<Self, PathError> {
        if bytes.is_empty() {
            return Err(PathError::Empty);
        }
        if bytes.contains(&0) {
            return Err(PathError::Nul);
        }
        let drive = bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' && matches!(bytes[2], b'/' | b'\\');
        if bytes[0] == b'/' || bytes.starts_with(b"\\\\") || drive {
            return Err(PathError::Absolute);
        }
        if bytes.split(|&byte| byte == b'/').any(|part| matches!(part, b"" | b"." | b"..")) {
            return Err(PathError::NotPlain);
        }
        Ok(Self(bytes.to_vec()))
    }

    /// The bytes as git stores them.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The path as text when it is UTF-8.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// The path as text for a person; bytes that are not UTF-8 show as U+FFFD.
    #[must_use]
    pub fn lossy(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }

    /// Base64 of the bytes, only when the path is not UTF-8 (the contract's `…_b64` twin).
    #[must_use]
    pub fn b64_twin(&self) -> Option<String> {
        self.as_str().is_none().then(|| STANDARD.encode(&self.0))
    }

    /// The last component.
    #[must_use]
    pub fn file_name(&self) -> &[u8] {
        self.0.rsplit(|&byte| byte == b'/').next().unwrap_or_default()
    }

    /// The file name's extension as lower-case text, without the dot; the rest of the name need
    /// not be text.
    #[must_use]
    pub fn extension(&self) -> Option<String> {
        let name = self.file_name();
        let dot = name.iter().rposition(|&byte| byte == b'.').filter(|&dot| dot > 0)?;
        std::str::from_utf8(&name[dot + 1..]).ok().map(str::to_ascii_lowercase)
    }
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl fmt::Debug for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(&self.0))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Wire {
    Text(String),
    Bytes { b64: String },
}

impl From<RepoPath> for Wire {
    fn from(path: RepoPath) -> Self {
        match String::from_utf8(path.0) {
            Ok(text) => Self::Text(text),
            Err(error) => Self::Bytes { b64: STANDARD.encode(error.as_bytes()) },
        }
    }
}

impl TryFrom<Wire> for RepoPath {
    type Error = PathError;
    fn try_from(wire: Wire) -> Result<Self, PathError> {
        match wire {
            Wire::Text(text) => Self::parse(text.as_bytes()),
            Wire::Bytes { b64 } => Self::parse(&STANDARD.decode(b64).map_err(|_| PathError::BadEncoding)?),
        }
    }
}

/// Serde form of a path of this machine: a string when it is UTF-8, else `{"b64": …}` of its bytes.
/// (Serde's own form refuses a path that is not UTF-8.) Use with `#[serde(with = "os_path")]`.
pub mod os_path {
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Wire;

    /// Writes the path.
    ///
    /// # Errors
    /// What the serializer says.
    pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        match path.to_str() {
            Some(text) => text.serialize(serializer),
            None => Wire::Bytes { b64: STANDARD.encode(path.as_os_str().as_encoded_bytes()) }.serialize(serializer),
        }
    }

    /// Reads the path.
    ///
    /// # Errors
    /// What the deserializer says, or that the base64 form does not decode.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        match Wire::deserialize(deserializer)? {
            Wire::Text(text) => Ok(PathBuf::from(text)),
            Wire::Bytes { b64 } => {
                let bytes = STANDARD.decode(b64).map_err(D::Error::custom)?;
                os_string(bytes).map(PathBuf::from).ok_or_else(|| D::Error::custom("these bytes are no path of this machine"))
            }
        }
    }

    #[cfg(unix)]
    #[expect(clippy::unnecessary_wraps, reason = "elsewhere not every byte string is a path")]
    fn os_string(bytes: Vec<u8>) -> Option<OsString> {
        use std::os::unix::ffi::OsStringExt as _;
        Some(OsString::from_vec(bytes))
    }

    #[cfg(not(unix))]
    fn os_string(bytes: Vec<u8>) -> Option<OsString> {
        String::from_utf8(bytes).ok().map(OsString::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_source_whose_path_is_not_utf8_survives_json() {
        use crate::review::ReviewSource;
        use std::os::unix::ffi::OsStringExt as _;
        let odd = std::path::PathBuf::from(std::ffi::OsString::from_vec(b"/tmp/caf\xe9.patch".to_vec()));
        for path in [odd, std::path::PathBuf::from("/tmp/a b.patch")] {
            let source = ReviewSource::PatchFile { path };
            let json = serde_json::to_string(&source).unwrap();
            assert_eq!(serde_json::from_str::<ReviewSource>(&json).unwrap(), source, "{json}");
        }
    }

    #[test]
    fn refuses_what_would_leave_the_repository() {
        for (bytes, error) in [
            (&b""[..], PathError::Empty),
            (b"a\0b", PathError::Nul),
            (b"/etc/passwd", PathError::Absolute),
            (b"C:\\x", PathError::Absolute),
            (b"\\\\host\\share", PathError::Absolute),
            (b"../x", PathError::NotPlain),
            (b"a/../../x", PathError::NotPlain),
            (b"a//b", PathError::NotPlain),
            (b"./a", PathError::NotPlain),
        ] {
            assert_eq!(RepoPath::parse(bytes), Err(error), "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn an_extension_is_found_in_any_name() {
        let extension = |name: &[u8]| RepoPath::parse(name).unwrap().extension();
        assert_eq!(extension(b"a/b.PY").as_deref(), Some("py"));
        assert_eq!(extension(b"caf\xe9.py").as_deref(), Some("py"));
        assert_eq!(extension(b"a.tar.gz").as_deref(), Some("gz"));
        assert_eq!(extension(b"a.b/.profile"), None);
        assert_eq!(extension(b"x.\xe9"), None);
        assert_eq!(extension(b"Makefile"), None);
    }

    #[test]
    fn names_that_are_not_utf8_survive_json() {
        let path = RepoPath::parse(b"caf\xe9.txt").unwrap();
        let json = serde_json::to_string(&path).unwrap();
        assert_eq!(json, r#"{"b64":"Y2Fm6S50eHQ="}"#);
        assert_eq!(serde_json::from_str::<RepoPath>(&json).unwrap(), path);
        assert_eq!(path.b64_twin().as_deref(), Some("Y2Fm6S50eHQ="));
        assert!(serde_json::from_str::<RepoPath>("\"../x\"").is_err());
    }
}

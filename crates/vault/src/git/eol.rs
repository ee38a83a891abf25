//! Whether two versions differ in more than the line endings that git itself converts.
//!
//! `text`, `eol`, `crlf` and `core.autocrlf` make git commit LF for a file with CRLF on disk. The
//! conversion is done here in code; a `filter` is never run, only noticed.

use std::fs;
use std::path::{Path, PathBuf};

use gix::attrs::search::{MetadataCollection, Outcome};
use gix::attrs::{Search, StateRef};
use gix::bstr::ByteSlice;
use gix::glob::pattern::Case;

use super::settings::AutoCrlf;
use crate::disk::Folder;

/// Largest attributes file that is read, in bytes; git's own bound is higher.
const ATTRIBUTES_BYTES: u64 = 4 << 20;

/// What git does to the line endings of a path when it is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conversion {
    /// Nothing.
    None,
    /// CRLF becomes LF.
    Text,
    /// CRLF becomes LF unless the bytes look binary or the committed version has CRLF.
    Auto,
}

/// What the attributes of a path say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathAttributes {
    /// What happens to its line endings.
    pub(crate) conversion: Conversion,
    /// Name of the `filter` it passes through, or of the encoding git would convert it from;
    /// neither is done here.
    pub(crate) filter: Option<String>,
}

/// Looks attributes up, with the files that say them.
#[derive(Debug)]
pub(crate) struct Attributes<'a> {
    top: &'a Folder,
    /// Weakest first: the user's file; `info/attributes` is the strongest and comes last.
    user: Option<Vec<u8>>,
    info: Option<Vec<u8>>,
    auto_crlf: AutoCrlf,
    case: Case,
}

impl<'a> Attributes<'a> {
    /// Reads the files that hold for all paths.
    pub(crate) fn new(top: &'a Folder, user: Option<&Path>, info: &Path, auto_crlf: AutoCrlf, ignore_case: bool) -> Self {
        let plain = |file: &Path| {
            let plain = fs::metadata(file).is_ok_and(|found| found.is_file() && found.len() <= ATTRIBUTES_BYTES);
            plain.then(|| fs::read(file).ok()).flatten()
        };
        let case = if ignore_case { Case::Fold } else { Case::Sensitive };
        Self { top, user: user.and_then(plain), info: plain(info), auto_crlf, case }
    }

    /// The attributes of `path`, by the files of the working tree.
    pub(crate) fn of(&self, path: &[u8]) -> PathAttributes {
        let mut search = Search::default();
        let mut names = MetadataCollection::default();
        let root = Path::new("/");
        let mut add = |bytes: &[u8], folder: Option<&[u8]>, macros: bool| {
            let source = root.join(folder.unwrap_or_default().to_path_lossy()).join(".gitattributes");
            // A file that does not parse says nothing, as with git.
            let _: std::io::Result<()> = search.add_patterns_buffer(bytes, source, folder.map(|_| root), &mut names, macros);
        };
        add(b"[attr]binary -diff -merge -text", None, true);
        if let Some(bytes) = &self.user {
            add(bytes, None, true);
        }
        for folder in folders_of(path) {
            if let Ok(Some(bytes)) = self.top.small_file(&super::walk::join(folder, b".gitattributes"), ATTRIBUTES_BYTES) {
                add(&bytes, Some(folder), folder.is_empty());
            }
        }
        if let Some(bytes) = &self.info {
            add(bytes, None, true);
        }
        let mut outcome = Outcome::default();
        outcome.initialize_with_selection(&names, ["text", "crlf", "eol", "filter", "working-tree-encoding"]);
        search.pattern_matching_relative_path(path.as_bstr(), self.case, Some(false), &mut outcome);
        let mut states = outcome.iter_selected().map(|found| found.assignment.state.to_owned()).collect::<Vec<_>>().into_iter();
        let mut next = || states.next().unwrap_or(gix::attrs::State::Unspecified);
        let (text, crlf, eol, filter, encoding) = (next(), next(), next(), next(), next());
        PathAttributes {
            conversion: self.conversion(text.as_ref(), crlf.as_ref(), eol.as_ref()),
            filter: value(filter.as_ref()).or_else(|| value(encoding.as_ref())),
        }
    }

    /// The order in which git asks: `text`, else the older `crlf`, else `eol`, else the setting.
    fn conversion(&self, text: StateRef<'_>, crlf: StateRef<'_>, eol: StateRef<'_>) -> Conversion {
        let says = |state: StateRef<'_>| match state {
            StateRef::Set => Some(Conversion::Text),
            StateRef::Unset => Some(Conversion::None),
            StateRef::Value(value) if value.as_bstr() == "auto" => Some(Conversion::Auto),
            StateRef::Value(value) if value.as_bstr() == "input" => Some(Conversion::Text),
            StateRef::Value(_) | StateRef::Unspecified => None,
        };
        let by_eol = match eol {
            StateRef::Value(value) if value.as_bstr() == "lf" || value.as_bstr() == "crlf" => Some(Conversion::Text),
            StateRef::Value(_) | StateRef::Set | StateRef::Unset | StateRef::Unspecified => None,
        };
        says(text).or_else(|| says(crlf)).or(by_eol).unwrap_or(match self.auto_crlf {
            AutoCrlf::On => Conversion::Auto,
            AutoCrlf::Off => Conversion::None,
        })
    }
}

fn value(state: StateRef<'_>) -> Option<String> {
    match state {
        StateRef::Value(value) => Some(value.as_bstr().to_string()),
        StateRef::Set | StateRef::Unset | StateRef::Unspecified => None,
    }
}

/// The folders of a path from the top down, the top as the empty path.
fn folders_of(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::once(&path[..0]).chain(path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at]))
}

/// What git would commit for `disk`, when that is something else than `disk`. `committed` is the
/// version before.
pub(crate) fn to_git(conversion: Conversion, disk: &[u8], committed: &[u8]) -> Option<Vec<u8>> {
    let applies = match conversion {
        Conversion::None => false,
        Conversion::Text => true,
        Conversion::Auto => !looks_binary(disk) && !has_crlf(committed),
    };
    (applies && has_crlf(disk)).then(|| without_cr(disk))
}

/// The version before as it lay on disk, for a file whose every line ends with CRLF there and
/// with LF in git: so that only the lines that changed differ.
pub(crate) fn as_checked_out(conversion: Conversion, disk: &[u8], committed: &[u8]) -> Option<Vec<u8>> {
    let all_crlf = || disk.iter().enumerate().all(|(at, &byte)| byte != b'\n' || (at > 0 && disk[at - 1] == b'\r'));
    if to_git(conversion, disk, committed).is_none() || has_crlf(committed) || !all_crlf() {
        return None;
    }
    let mut bytes = Vec::with_capacity(committed.len() + committed.len() / 32);
    for &byte in committed {
        if byte == b'\n' {
            bytes.push(b'\r');
        }
        bytes.push(byte);
    }
    Some(bytes)
}

fn has_crlf(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|pair| pair == b"\r\n")
}

fn without_cr(bytes: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(bytes.len());
    for (at, &byte) in bytes.iter().enumerate() {
        if !(byte == b'\r' && bytes.get(at + 1) == Some(&b'\n')) {
            kept.push(byte);
        }
    }
    kept
}

/// Git's guess (`convert_is_binary`): a NUL, a lone CR, or more than one control byte in 128.
fn looks_binary(bytes: &[u8]) -> bool {
    let (mut printable, mut control) = (0usize, 0usize);
    let trimmed = bytes.strip_suffix(b"\x1a").unwrap_or(bytes);
    for (at, &byte) in trimmed.iter().enumerate() {
        match byte {
            0 => return true,
            b'\r' if trimmed.get(at + 1) != Some(&b'\n') => return true,
            b'\r' | b'\n' => {}
            0x08 | b'\t' | 0x1b | 0x0c => printable += 1,
            0x7f | 0x01..=0x1f => control += 1,
            _ => printable += 1,
        }
    }
    printable >> 7 < control
}

/// Paths of the files in which attributes are kept, beside the working tree's own.
pub(crate) fn info_file(common_dir: &Path) -> PathBuf {
    common_dir.join("info/attributes")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(auto_crlf: AutoCrlf, rules: &str, path: &str, expected: Conversion) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(".gitattributes"), rules).unwrap();
        let top = Folder::open(folder.path()).unwrap();
        let attributes = Attributes::new(&top, None, Path::new("/nowhere"), auto_crlf, false);
        assert_eq!(attributes.of(path.as_bytes()).conversion, expected, "{rules} on {path}");
    }

    #[test]
    fn attributes_decide_before_the_setting() {
        use AutoCrlf::{Off, On};
        check(Off, "", "a.txt", Conversion::None);
        check(On, "", "a.txt", Conversion::Auto);
        check(On, "*.txt -text", "a.txt", Conversion::None);
        check(On, "*.png binary", "a.png", Conversion::None);
        check(Off, "* text=auto\n*.sh eol=lf", "d/a.txt", Conversion::Auto);
        check(Off, "*.bat text eol=crlf", "d/a.bat", Conversion::Text);
        check(Off, "*.bat eol=crlf", "a.bat", Conversion::Text);
        check(Off, "*.c crlf", "a.c", Conversion::Text);
        check(Off, "/a.txt text", "d/a.txt", Conversion::None);
    }

    #[test]
    fn a_nested_file_says_more_than_the_top_one() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("d")).unwrap();
        fs::write(folder.path().join(".gitattributes"), "*.txt text\n*.big filter=store").unwrap();
        fs::write(folder.path().join("d/.gitattributes"), "a.txt -text").unwrap();
        let top = Folder::open(folder.path()).unwrap();
        let attributes = Attributes::new(&top, None, Path::new("/nowhere"), AutoCrlf::Off, false);
        assert_eq!(attributes.of(b"a.txt").conversion, Conversion::Text);
        assert_eq!(attributes.of(b"d/a.txt").conversion, Conversion::None);
        assert_eq!(attributes.of(b"d/x.big").filter.as_deref(), Some("store"));
    }

    #[test]
    fn line_endings_convert_as_git_converts_them() {
        assert_eq!(to_git(Conversion::Text, b"a\r\nb\n", b""), Some(b"a\nb\n".to_vec()));
        assert_eq!(to_git(Conversion::None, b"a\r\n", b"a\n"), None);
        assert_eq!(to_git(Conversion::Auto, b"a\r\n\0", b"a\n"), None, "binary");
        assert_eq!(to_git(Conversion::Auto, b"a\r\n", b"a\r\n"), None, "committed with CRLF");
        assert_eq!(as_checked_out(Conversion::Auto, b"a\r\nx\r\n", b"a\nb\n"), Some(b"a\r\nb\r\n".to_vec()));
        assert_eq!(as_checked_out(Conversion::Auto, b"a\r\nx\n", b"a\nb\n"), None, "mixed");
    }
}

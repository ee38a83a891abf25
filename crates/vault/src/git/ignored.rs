//! Which untracked files are left alone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice;
use gix::glob::pattern::Case;
use gix::ignore::Search;
use gix::ignore::search::Ignore;

/// Largest ignore file that is read, in bytes.
pub(crate) const IGNORE_BYTES: u64 = 4 << 20;

/// Ignore files in force, from the user's own to the one of the deepest folder.
#[derive(Debug)]
pub(crate) struct Ignored {
    search: Search,
    case: Case,
}

impl Ignored {
    /// Begins with the user's file and the repository's `info/exclude`, weakest first.
    pub(crate) fn new(files: &[PathBuf], ignore_case: bool) -> Self {
        let case = if ignore_case { Case::Fold } else { Case::Sensitive };
        let mut ignored = Self { search: Search::default(), case };
        for file in files {
            // A device or FIFO put here would hang the read; only plain files count.
            let plain = fs::metadata(file).is_ok_and(|found| found.is_file() && found.len() <= IGNORE_BYTES);
            if let Some(bytes) = plain.then(|| fs::read(file).ok()).flatten() {
                // The patterns hold from the top, wherever the file lies.
                let _: io::Result<()> = ignored.search.add_patterns_buffer(&bytes, file, None, Ignore::default());
            }
        }
        ignored
    }

    /// Enters a folder that has an ignore file; [`Ignored::leave`] undoes it.
    pub(crate) fn enter(&mut self, folder: &[u8], bytes: &[u8]) -> io::Result<()> {
        let root = Path::new("/");
        let source = root.join(folder.to_path_lossy()).join(".gitignore");
        self.search.add_patterns_buffer(bytes, source, Some(root), Ignore::default())?;
        // Set again, since the way through a path loses bytes that are not UTF-8 on some systems.
        if let Some(list) = self.search.patterns.last_mut() {
            list.base = (!folder.is_empty()).then(|| [folder, b"/"].concat().into());
        }
        Ok(())
    }

    /// Forgets the ignore file entered last.
    pub(crate) fn leave(&mut self) {
        self.search.patterns.pop();
    }

    /// Whether a path whose parents are not ignored is.
    pub(crate) fn matches(&self, path: &[u8], is_folder: bool) -> bool {
        self.search
            .pattern_matching_relative_path(path.as_bstr(), Some(is_folder), self.case)
            .is_some_and(|found| !found.pattern.is_negative())
    }
}

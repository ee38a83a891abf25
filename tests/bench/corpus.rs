//! Real source to measure on: the packages the workspace itself is built with.

use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::MetadataCommand;

/// Files copied into one folder.
pub(crate) struct Corpus {
    pub(crate) root: PathBuf,
    pub(crate) files: usize,
    pub(crate) lines: usize,
    pub(crate) bytes: u64,
}

impl Corpus {
    /// Copies `count` Rust files of 1 to 100 kB, in a fixed order, keeping package and path.
    pub(crate) fn gather(root: &Path, count: usize) -> Self {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("Cargo.toml");
        let metadata = MetadataCommand::new().manifest_path(manifest).other_options(["--locked".to_owned()]).exec().unwrap();
        let mut packages: Vec<_> = metadata.packages.iter().filter(|package| package.source.is_some()).collect();
        packages.sort_by_key(|package| (package.name.to_string(), package.version.clone()));
        let mut corpus = Self { root: root.to_owned(), files: 0, lines: 0, bytes: 0 };
        for package in packages {
            let from = package.manifest_path.parent().unwrap().as_std_path();
            let to = root.join(format!("{}-{}", package.name, package.version));
            corpus.copy(&from.join("src"), &to, count);
        }
        corpus
    }

    fn copy(&mut self, from: &Path, to: &Path, count: usize) {
        let Ok(entries) = fs::read_dir(from) else { return };
        let mut entries: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            if self.files == count {
                return;
            }
            let target = to.join(path.file_name().unwrap());
            if path.is_dir() {
                self.copy(&path, &target, count);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read(&path).unwrap();
                if (1 << 10..100 << 10).contains(&text.len()) {
                    fs::create_dir_all(to).unwrap();
                    fs::write(&target, &text).unwrap();
                    self.files += 1;
                    self.lines += text.split(|&byte| byte == b'\n').count();
                    self.bytes += u64::try_from(text.len()).unwrap();
                }
            }
        }
    }
}

//! Two published versions of a real crate that the lock file already brings: a change of more
//! than fifty files that nobody made up.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Two versions of one package, unpacked.
#[derive(Clone, Debug)]
pub struct TwoVersions {
    /// The package.
    pub name: String,
    /// The older version and its folder.
    pub old: (String, PathBuf),
    /// The newer version and its folder.
    pub new: (String, PathBuf),
}

/// Crates of which the lock file has two versions, in order of preference; the first that is
/// there with enough changed files is taken.
const PREFERRED: &[&str] = &["syn", "winnow", "toml_edit", "zbus", "jni", "schemars", "similar"];

/// Finds a package of which the workspace's lock file holds two versions that differ in at least
/// `least` files. Sources are found through `cargo metadata`, so nothing is downloaded.
///
/// # Errors
/// In words, when cargo does not answer or no such package is there.
pub fn two_versions(least: usize) -> Result<TwoVersions, String> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--format-version", "1", "--offline", "--locked"])
        .output()
        .map_err(|error| format!("cargo metadata did not start: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata is no JSON: {error}"))?;
    let mut versions: BTreeMap<String, Vec<(String, PathBuf)>> = BTreeMap::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let (Some(name), Some(version), Some(manifest)) =
            (package["name"].as_str(), package["version"].as_str(), package["manifest_path"].as_str())
        else {
            continue;
        };
        if let Some(folder) = Path::new(manifest).parent().filter(|folder| folder.is_dir()) {
            versions.entry(name.to_owned()).or_default().push((version.to_owned(), folder.to_owned()));
        }
    }
    for name in PREFERRED {
        let Some(found) = versions.get_mut(*name) else { continue };
        found.sort_by_key(|(version, _)| numbers(version));
        if let [old, .., new] = found.as_slice()
            && changed_files(&old.1, &new.1).len() >= least
        {
            return Ok(TwoVersions { name: (*name).to_owned(), old: old.clone(), new: new.clone() });
        }
    }
    Err(format!("none of {PREFERRED:?} is in the lock file in two versions that differ in {least} files"))
}

fn numbers(version: &str) -> Vec<u64> {
    version.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
}

/// The files that differ between two folders, by path relative to them, in order.
#[must_use]
pub fn changed_files(old: &Path, new: &Path) -> Vec<String> {
    let (before, after) = (files(old), files(new));
    let mut names: Vec<&String> = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name))).collect();
    names.sort();
    let read = |path: Option<&PathBuf>| path.and_then(|path| std::fs::read(path).ok());
    names.into_iter().filter(|name| read(before.get(*name)) != read(after.get(*name))).cloned().collect()
}

/// Every regular file below a folder.
#[must_use]
pub fn files(root: &Path) -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(path),
                Ok(kind) if kind.is_file() => {
                    if let Some(name) = path.strip_prefix(root).ok().and_then(Path::to_str) {
                        found.insert(name.to_owned(), path);
                    }
                }
                _ => {}
            }
        }
    }
    found
}

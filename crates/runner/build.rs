//! Lists every rule file under `rules/`, so that adding a file is all it takes to add a rule.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?).join("rules");
    let out = PathBuf::from(env::var("OUT_DIR").map_err(io::Error::other)?).join("rule_files.rs");
    let mut files = Vec::new();
    collect(&root, &mut files)?;
    files.sort();
    let mut code = String::from("&[\n");
    for file in &files {
        let name = file.strip_prefix(&root).map_err(io::Error::other)?.display().to_string();
        writeln!(code, "    ({name:?}, include_str!({:?})),", file.display().to_string()).map_err(io::Error::other)?;
    }
    code.push_str("]\n");
    fs::write(out, code)
}

/// Gathers the rule files below `dir`. A folder is watched too: a new file changes its time.
fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    tell_cargo(dir);
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "yml") {
            tell_cargo(&path);
            files.push(path);
        }
    }
    Ok(())
}

fn tell_cargo(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
}

//! The rules about the source itself: who may know whom, and where a thing may be done.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a failure here is a failed test"
)]

mod arrows;
mod lists;
mod places;
mod text;

use std::path::{Path, PathBuf};
use std::process::Command;

/// The top of the checkout.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every file git knows or would add, as paths from the top.
fn files() -> Vec<String> {
    let out =
        Command::new("git").args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root()).output().unwrap();
    assert!(out.status.success(), "git ls-files: {}", String::from_utf8_lossy(&out.stderr));
    let names = String::from_utf8(out.stdout).unwrap();
    let mut files: Vec<_> = names.split('\0').filter(|name| !name.is_empty() && root().join(name).is_file()).map(str::to_owned).collect();
    files.sort();
    files.dedup();
    assert!(files.iter().any(|name| name == "Cargo.toml"), "the list holds the workspace");
    files
}

/// The files under `prefix` that end in `suffix`, with their text.
fn sources(prefix: &str, suffix: &str) -> Vec<(String, String)> {
    files()
        .into_iter()
        .filter(|name| name.starts_with(prefix) && name.ends_with(suffix))
        .map(|name| {
            let text = std::fs::read_to_string(root().join(&name)).unwrap();
            (name, text)
        })
        .collect()
}

/// Fails with every breach at once.
#[track_caller]
fn no_breaches(rule: &str, breaches: &[String]) {
    assert!(breaches.is_empty(), "{rule}:\n  {}", breaches.join("\n  "));
}

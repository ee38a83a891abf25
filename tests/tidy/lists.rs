//! Lists that stand twice and must agree.

use std::collections::BTreeSet;
use std::process::Command;

use super::{root, sources};

/// Quoted words after `marker` up to `end`.
fn words_between(text: &str, marker: &str, end: char) -> BTreeSet<String> {
    let start = text.find(marker).unwrap_or_else(|| panic!("`{marker}` is there")) + marker.len();
    let body = &text[start..start + text[start..].find(end).unwrap()];
    body.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

#[test]
fn command_names_match_on_both_sides() {
    let rust = std::fs::read_to_string(root().join("src-tauri/src/run.rs")).unwrap();
    let registered: BTreeSet<_> = words_between(&rust, "generate_handler![", ']').into_iter().filter(|word| word != "commands").collect();
    let ui = std::fs::read_to_string(root().join("ui/src/lib/backend/commands.ts")).unwrap();
    let known = words_between(&ui, "= [", ']');
    assert_eq!(registered, known, "left: src-tauri/src/run.rs, right: ui/src/lib/backend/commands.ts");
}

#[test]
fn generated_types_are_fresh() {
    // The app crate's own tests write the types; a difference to what is committed means that
    // somebody changed the JSON and not the window.
    let out = Command::new("git").args(["status", "--porcelain", "--", "ui/src/lib/generated"]).current_dir(root()).output().unwrap();
    assert!(out.status.success());
    assert_eq!(String::from_utf8_lossy(&out.stdout), "", "commit what `cargo test` wrote into ui/src/lib/generated");
}

#[test]
fn every_generated_type_has_its_rust_source() {
    let rust = sources("crates/app/src/", ".rs");
    for (name, _) in sources("ui/src/lib/generated/", ".ts") {
        let type_name = name.rsplit('/').next().unwrap().trim_end_matches(".ts");
        assert!(
            rust.iter().any(|(_, text)| text.contains(&format!("struct {type_name}")) || text.contains(&format!("enum {type_name}"))),
            "{name} has no source any more: remove it"
        );
    }
}

#[test]
fn the_bundle_and_the_workspace_have_one_version() {
    let conf: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(root().join("src-tauri/tauri.conf.json")).unwrap()).unwrap();
    let manifest: toml::Table = toml::from_str(&std::fs::read_to_string(root().join("Cargo.toml")).unwrap()).unwrap();
    assert_eq!(conf["version"].as_str(), manifest["workspace"]["package"]["version"].as_str());
}

#[test]
fn the_versions_in_the_readme_are_those_the_makefile_checks() {
    let makefile = std::fs::read_to_string(root().join("Makefile")).unwrap();
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let manifest: toml::Table = toml::from_str(&std::fs::read_to_string(root().join("Cargo.toml")).unwrap()).unwrap();
    for (tool, variable) in [("Rust", "RUST_MIN"), ("Node", "NODE_MIN"), ("git", "GIT_MIN")] {
        let line = makefile.lines().find(|line| line.starts_with(&format!("{variable} :="))).unwrap();
        let minimum = line.rsplit(' ').next().unwrap().trim_end_matches(".0");
        assert!(readme.contains(&format!("{tool} {minimum}")), "README.md says nothing of {tool} {minimum}");
        if tool == "Rust" {
            assert_eq!(Some(minimum), manifest["workspace"]["package"]["rust-version"].as_str());
        }
    }
}

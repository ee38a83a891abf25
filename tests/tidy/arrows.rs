//! Which crate may know which, and under what licences the rest comes.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

use super::{no_breaches, root};

fn metadata() -> Metadata {
    MetadataCommand::new().manifest_path(root().join("Cargo.toml")).other_options(["--locked".to_owned()]).exec().unwrap()
}

/// The floors of the design: a crate knows only what is named here. The same table stands in ARCHITECTURE.md.
const ARROWS: &[(&str, &[&str])] = &[
    ("st-model", &[]),
    ("st-store", &["st-model"]),
    ("st-vault", &["st-model"]),
    ("st-sandbox", &["st-model", "st-vault"]),
    ("st-runner", &["st-model", "st-sandbox", "st-vault"]),
    ("st-engine", &["st-model", "st-runner", "st-sandbox", "st-store", "st-vault"]),
    ("st-app", &["st-engine", "st-model", "st-runner", "st-sandbox", "st-store", "st-vault"]),
    ("st-cli", &["st-app"]),
    ("st-desktop", &["st-app"]),
    ("st-testkit", &["st-app", "st-model"]),
    ("st-tests", &[]),
];

#[test]
fn crates_know_only_the_floors_below() {
    let metadata = metadata();
    let table: BTreeMap<&str, BTreeSet<&str>> = ARROWS.iter().map(|(name, known)| (*name, known.iter().copied().collect())).collect();
    let mut breaches = Vec::new();
    for package in metadata.workspace_packages() {
        let Some(allowed) = table.get(package.name.as_str()) else {
            breaches.push(format!("{} is not in the table", package.name));
            continue;
        };
        for dependency in
            package.dependencies.iter().filter(|dependency| dependency.kind == DependencyKind::Normal && dependency.name.starts_with("st-"))
        {
            if !allowed.contains(dependency.name.as_str()) {
                breaches.push(format!("{} -> {}", package.name, dependency.name));
            }
        }
    }
    no_breaches("a crate knows more than its floor allows", &breaches);
}

#[test]
fn the_table_in_the_architecture_page_is_this_one() {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut breaches = Vec::new();
    for (name, known) in ARROWS {
        let row = page.lines().find(|line| line.starts_with("| ") && line.contains(&format!("`{name}`")));
        let Some(row) = row else {
            breaches.push(format!("{name} has no row"));
            continue;
        };
        let last = row.trim_end_matches([' ', '|']).rsplit('|').next().unwrap_or_default();
        let said: BTreeSet<_> = last.split('`').skip(1).step_by(2).collect();
        if said != known.iter().copied().collect() {
            breaches.push(format!("{name}: the page says {said:?}, the manifest {known:?}"));
        }
    }
    no_breaches("ARCHITECTURE.md and the crates disagree", &breaches);
}

/// Third parties that only one crate may use.
const HOMES: &[(&str, &[&str])] = &[
    ("sqlx", &["st-store"]),
    ("libsqlite3-sys", &["st-store"]),
    ("tauri", &["st-desktop"]),
    ("gix", &["st-vault"]),
    ("libc", &["st-sandbox"]),
    ("ast-grep-core", &["st-runner"]),
    ("notify-rust", &["st-app"]),
    ("clap", &["st-cli"]),
    ("anyhow", &[]),
];

#[test]
fn each_heavy_library_has_one_home() {
    let metadata = metadata();
    let mut breaches = Vec::new();
    for package in metadata.workspace_packages() {
        for dependency in package.dependencies.iter().filter(|dependency| dependency.kind == DependencyKind::Normal) {
            if let Some((_, homes)) = HOMES.iter().find(|(name, _)| *name == dependency.name)
                && !homes.contains(&package.name.as_str())
            {
                breaches.push(format!("{} uses {}", package.name, dependency.name));
            }
        }
    }
    no_breaches("a library is used outside its home", &breaches);
}

#[test]
fn every_dependency_has_an_allowed_licence() {
    let deny: toml::Table = toml::from_str(&std::fs::read_to_string(root().join("deny.toml")).unwrap()).unwrap();
    let allowed: BTreeSet<&str> = deny["licenses"]["allow"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let metadata = metadata();
    let mut breaches = Vec::new();
    for package in metadata.packages.iter().filter(|package| package.source.is_some()) {
        let Some(licence) = &package.license else {
            breaches.push(format!("{} {} names no licence", package.name, package.version));
            continue;
        };
        // `A/B` is the old spelling of `A OR B`. One side of each OR must do; all of an AND must.
        let expression = licence.replace('/', " OR ").replace(['(', ')'], " ");
        let fits = expression.split(" AND ").all(|part| part.split(" OR ").any(|name| allowed.contains(name.trim())));
        if !fits {
            breaches.push(format!("{} {}: {licence}", package.name, package.version));
        }
    }
    no_breaches("a licence is not on the list in deny.toml", &breaches);
}

#[test]
fn sqlite_stays_pinned_where_the_log_bug_is_fixed() {
    let metadata = metadata();
    let versions: Vec<_> = metadata
        .packages
        .iter()
        .filter(|package| package.name.as_str() == "libsqlite3-sys")
        .map(|package| package.version.to_string())
        .collect();
    assert_eq!(versions, ["0.37.0"], "SQLite before 3.51.3 can lose committed writes in WAL mode");
}

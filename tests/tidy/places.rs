//! Where a thing may be done.

use super::{files, no_breaches, root, sources};

/// Rust files of the product, without tests.
fn product() -> Vec<(String, String)> {
    let mut all = sources("crates/", ".rs");
    all.extend(sources("src-tauri/", ".rs"));
    all.retain(|(name, _)| !name.contains("/tests/") && !name.ends_with("/tests.rs") && !name.starts_with("crates/testkit/"));
    all
}

/// Lines that hold code, numbered, up to an in-file test module.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .take_while(|(_, line)| line.trim() != "#[cfg(test)]")
        .map(|(index, line)| (index + 1, line))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
}

#[track_caller]
fn only_in(rule: &str, home: &str, is_breach: impl Fn(&str) -> bool) {
    let mut breaches = Vec::new();
    for (name, text) in product().iter().filter(|(name, _)| !name.starts_with(home)) {
        breaches.extend(code(text).filter(|(_, line)| is_breach(line)).map(|(number, line)| format!("{name}:{number}: {}", line.trim())));
    }
    no_breaches(rule, &breaches);
}

#[test]
fn sql_is_only_in_the_store() {
    let statement = |line: &str| {
        ["SELECT ", "INSERT INTO", "DELETE FROM", "CREATE TABLE", "PRAGMA ", "BEGIN IMMEDIATE"]
            .iter()
            .any(|word| line.contains(&format!("\"{word}")))
            || ["use sqlx", "sqlx::query", "sqlx::Sqlite"].iter().any(|word| line.contains(word))
    };
    only_in("SQL outside the store", "crates/store/", statement);
}

#[test]
fn unsafe_is_only_in_the_sandbox() {
    only_in("unsafe outside the sandbox", "crates/sandbox/", |line| {
        line.contains("unsafe {") || line.contains("unsafe fn") || line.contains("allow(unsafe_code")
    });
}

#[test]
fn tauri_is_only_in_the_shell() {
    only_in("Tauri outside the shell", "src-tauri/", |line| line.contains("tauri::") || line.contains("tauri_plugin"));
}

#[test]
fn tasks_are_spawned_only_from_the_engine_up() {
    let mut breaches = Vec::new();
    for (name, text) in product().iter().filter(|(name, _)| {
        ["model", "store", "vault", "sandbox", "runner"].iter().any(|floor| name.starts_with(&format!("crates/{floor}/")))
    }) {
        // The store's one writer is its own actor.
        let writer = name.starts_with("crates/store/");
        breaches.extend(
            code(text)
                .filter(|(_, line)| line.contains("tokio::spawn") && !writer)
                .map(|(number, line)| format!("{name}:{number}: {}", line.trim())),
        );
    }
    no_breaches("a lower crate spawns", &breaches);
}

#[test]
fn only_the_backend_folder_of_the_ui_knows_tauri() {
    let mut breaches = Vec::new();
    for suffix in [".ts", ".svelte", ".js"] {
        for (name, text) in sources("ui/src/", suffix).iter().filter(|(name, _)| !name.starts_with("ui/src/lib/backend/")) {
            if text.contains("@tauri-apps") {
                breaches.push(name.clone());
            }
        }
    }
    no_breaches("`@tauri-apps` outside ui/src/lib/backend", &breaches);
}

#[test]
fn the_ui_has_no_inline_script_or_style() {
    let page = std::fs::read_to_string(root().join("ui/index.html")).unwrap();
    assert!(
        !page.contains("<style") && !page.contains("style=") && !page.contains("<script>"),
        "an inline tag makes Tauri add nonces that void 'unsafe-inline'"
    );
}

#[test]
fn the_workspace_is_always_built_whole() {
    let makefile = std::fs::read_to_string(root().join("Makefile")).unwrap();
    let breaches: Vec<_> = makefile
        .lines()
        .enumerate()
        .filter(|(_, line)| {
            line.contains("cargo ")
                && !line.trim_start().starts_with('#')
                && !line.contains("cargo fmt")
                && (line.contains(" -p ") || !line.contains("--workspace"))
        })
        .map(|(index, line)| format!("Makefile:{}: {}", index + 1, line.trim()))
        .collect();
    no_breaches("cargo is called for a part of the workspace, which compiles the dependencies again", &breaches);
}

#[test]
fn files_stay_small_enough_to_read() {
    let mut breaches = Vec::new();
    for name in
        files().iter().filter(|name| [".rs", ".ts", ".svelte"].iter().any(|suffix| name.ends_with(suffix)) && !name.contains("/generated/"))
    {
        let lines = std::fs::read_to_string(root().join(name)).unwrap().lines().count();
        if lines > 800 {
            breaches.push(format!("{name}: {lines} lines"));
        }
    }
    no_breaches("look for the seam in these", &breaches);
}

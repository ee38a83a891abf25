//! What may not stand in the text.

use super::{files, no_breaches, root};

fn texts() -> Vec<(String, String)> {
    files()
        .into_iter()
        .filter(|name| {
            !name.ends_with(".lock")
                && !name.ends_with("package-lock.json")
                && !name.starts_with("tests/tidy/")
                && !name.starts_with("tests/bench/")
        })
        .filter_map(|name| std::fs::read_to_string(root().join(&name)).ok().map(|text| (name, text)))
        .collect()
}

#[test]
fn no_test_is_left_out_and_no_work_left_undone() {
    // Put together here so that the list does not find itself. Rule data and their examples speak of these things by trade.
    let words = [concat!("#[ig", "nore"), concat!("to", "do!("), concat!("unimpl", "emented!("), concat!("FIX", "ME")];
    let mut breaches = Vec::new();
    for (name, text) in texts().iter().filter(|(name, _)| name.ends_with(".rs") && !name.contains("/rules")) {
        for (index, line) in text.lines().enumerate() {
            if words.iter().any(|word| line.contains(word)) {
                breaches.push(format!("{name}:{}: {}", index + 1, line.trim()));
            }
        }
    }
    no_breaches("unfinished", &breaches);
}

#[test]
fn no_test_sleeps() {
    let mut breaches = Vec::new();
    for (name, text) in texts().iter().filter(|(name, _)| name.ends_with(".rs") && (name.starts_with("tests/") || name.contains("/tests")))
    {
        for (index, line) in text.lines().enumerate() {
            if line.contains("thread::sleep") || line.contains("time::sleep(") {
                breaches.push(format!("{name}:{}: {}", index + 1, line.trim()));
            }
        }
    }
    no_breaches("wait on a condition instead", &breaches);
}

#[test]
fn locks_name_no_download_address_but_the_registry() {
    let cargo = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let odd: Vec<_> = cargo
        .lines()
        .filter(|line| line.starts_with("source = ") && !line.contains("github.com/rust-lang/crates.io-index"))
        .map(str::to_owned)
        .collect();
    no_breaches("Cargo.lock names another source", &odd);
    let npm = std::fs::read_to_string(root().join("ui/package-lock.json")).unwrap();
    let odd: Vec<_> =
        npm.lines().filter(|line| line.contains("\"resolved\"") && line.contains("http")).map(|line| line.trim().to_owned()).collect();
    no_breaches("ui/package-lock.json names download addresses", &odd);
}

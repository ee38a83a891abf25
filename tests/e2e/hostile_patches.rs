//! Patches made to break a reviewer. Each ends in a clear refusal or a listed limit; nothing
//! hangs and nothing is lost.

use std::fmt::Write as _;

use serde_json::Value;
use st_testkit::Machine;
use st_testkit::patch::{LEFTOVER, adding, harmless};

use crate::{findings, ledger, refused, reviewed};

/// A review that came to rest in one of these states, with an honest ledger: a file that was not
/// reviewed has a reason, and an unsound result has a cause.
fn honest(machine: &Machine, patch: &[u8], states: &[&str]) -> Value {
    let path = machine.file("hostile.patch", patch);
    let (code, task) = reviewed(machine, &[path.to_str().unwrap()]);
    let state = task["state"].as_str().unwrap();
    assert!(states.contains(&state), "{state}: {}", task["error"]);
    let expected = match state {
        "done" => 0,
        "failed" => 1,
        "partial" => 4,
        other => panic!("{other}"),
    };
    assert_eq!(code, expected);
    if state != "done" {
        let error = &task["error"];
        assert!(!error["message"].as_str().unwrap().is_empty() && !error["fix"].as_array().unwrap().is_empty(), "{task}");
    }
    for (file, status, reason) in ledger(&task) {
        assert!(status == "reviewed" || !reason.is_empty(), "{file} is {status} without a reason");
    }
    task
}

#[test]
fn one_of_200_megabytes() {
    let machine = Machine::new();
    let path = machine.file("huge.patch", adding("a.py", &LEFTOVER));
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(200 << 20).unwrap();
    let ran = machine.run(&["review", path.to_str().unwrap(), "--json"]);
    let said = refused(&machine, &ran, 2, "too_large");
    assert!(said["message"].as_str().unwrap().contains("64 MiB"), "{said}");
}

#[test]
fn one_of_200_megabytes_through_a_pipe() {
    let machine = Machine::new();
    let mut patch = adding("a.py", &LEFTOVER).into_bytes();
    patch.resize(200 << 20, b' ');
    let ran = machine.pipe(&["review", "-", "--json"], &patch);
    refused(&machine, &ran, 2, "too_large");
}

#[test]
fn one_of_100_000_files() {
    let machine = Machine::new();
    let mut patch = harmless(100_000, 1);
    patch.push_str(&adding("zz_last.py", &LEFTOVER));
    let task = honest(&machine, patch.as_bytes(), &["done", "partial", "failed"]);
    let files = ledger(&task).len();
    if task["state"] == "failed" {
        assert!(task["error"]["message"].as_str().unwrap().contains("100"), "the limit is said: {}", task["error"]);
    } else {
        assert_eq!(files, 100_001, "every file has its line");
    }
}

#[test]
fn an_archive_by_another_name() {
    let machine = Machine::new();
    let path = machine.file("a.patch", b"PK\x03\x04\x14\x00\x00\x00\x08\x00rest of a zip");
    let ran = machine.run(&["review", path.to_str().unwrap(), "--json"]);
    let said = refused(&machine, &ran, 2, "unsupported_input");
    assert!(said["message"].as_str().unwrap().contains("zip archive"), "{said}");
}

#[test]
fn one_with_hunks_cut_off() {
    let machine = Machine::new();
    let mut patch = adding("whole.py", &LEFTOVER);
    patch.push_str("diff --git a/cut.py b/cut.py\n--- a/cut.py\n+++ b/cut.py\n@@ -1,9 +1,9 @@\n one\n-two\n+three\n");
    let task = honest(&machine, patch.as_bytes(), &["done", "partial"]);
    let cut = ledger(&task).into_iter().find(|(file, _, _)| file == "cut.py").unwrap();
    assert!(cut.1 == "failed" || cut.1 == "partial", "{cut:?}");
    assert_eq!(task["clean"], false);
    assert!(findings(&machine, &task).iter().any(|finding| finding["file"] == "whole.py"), "one broken file takes no other with it");
}

#[test]
fn one_whose_names_lead_outside() {
    let machine = Machine::new();
    let mut patch = adding("good.py", &LEFTOVER);
    for name in ["../../outside.py", "/etc/sidetrack-outside", "a/../../b.py", "C:/windows.py", ".git/hooks/pre-commit"] {
        let _ = write!(patch, "--- /dev/null\n+++ {name}\n@@ -0,0 +1 @@\n+x\n");
    }
    let task = honest(&machine, patch.as_bytes(), &["done", "partial"]);
    assert_eq!(task["clean"], false, "a file that could not be taken is no clean review");
    assert!(findings(&machine, &task).iter().any(|finding| finding["file"] == "good.py"));
    assert!(!machine.work().join("../outside.py").exists() && !std::path::Path::new("/etc/sidetrack-outside").exists());
}

#[test]
fn one_with_nul_bytes_in_text_and_names() {
    let machine = Machine::new();
    let mut patch = adding("good.py", &LEFTOVER).into_bytes();
    patch.extend_from_slice(b"diff --git a/n.py b/n.py\nnew file mode 100644\n--- /dev/null\n+++ b/n.py\n@@ -0,0 +1,2 @@\n+a\0b\n+c\n");
    patch.extend_from_slice(
        b"diff --git \"a/x\\000y\" \"b/x\\000y\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/x\\000y\"\n@@ -0,0 +1 @@\n+c\n",
    );
    let task = honest(&machine, &patch, &["done", "partial"]);
    assert!(ledger(&task).len() >= 2, "{:?}", ledger(&task));
    assert!(findings(&machine, &task).iter().any(|finding| finding["file"] == "good.py"));
}

#[test]
fn one_with_a_line_of_ten_megabytes() {
    let machine = Machine::new();
    let long = "x".repeat(10 << 20);
    let mut patch = adding("long.js", &[&long]);
    patch.push_str(&adding("good.py", &LEFTOVER));
    let task = honest(&machine, patch.as_bytes(), &["done", "partial"]);
    let line = ledger(&task).into_iter().find(|(file, _, _)| file == "long.js").unwrap();
    assert_ne!(line.1, "reviewed", "{line:?}");
    assert!(findings(&machine, &task).iter().any(|finding| finding["file"] == "good.py"));
}

#[test]
fn a_merges_combined_diff() {
    let machine = Machine::new();
    let patch = "diff --cc a.py\nindex 1,2..3\n--- a/a.py\n+++ b/a.py\n@@@ -1,1 -1,1 +1,1 @@@\n- one\n -two\n++three\n";
    let path = machine.file("merge.patch", patch);
    let ran = machine.run(&["review", path.to_str().unwrap(), "--json"]);
    refused(&machine, &ran, 2, "combined_diff");
}

#[test]
fn code_nested_deeper_than_a_parser_likes() {
    let machine = Machine::new();
    let deep = format!("x = {}1{}", "(".repeat(20_000), ")".repeat(20_000));
    let mut patch = adding("deep.py", &[&deep]);
    patch.push_str(&adding("deep.js", &[&format!("let x = {}{};", "[".repeat(20_000), "]".repeat(20_000))]));
    patch.push_str(&adding("good.py", &LEFTOVER));
    let task = honest(&machine, patch.as_bytes(), &["done", "partial"]);
    assert_eq!(ledger(&task).len(), 3);
    assert!(findings(&machine, &task).iter().any(|finding| finding["file"] == "good.py"));
}

#[test]
fn one_that_tries_to_drive_the_terminal() {
    let machine = Machine::new();
    let patch = adding("a\u{1b}]0;owned\u{7}.py", &["<<<<<<< \u{1b}[2J\u{1b}]8;;file:///etc/passwd\u{7}", "=======", ">>>>>>> \u{202e}x"]);
    let _ = honest(&machine, patch.as_bytes(), &["done", "partial"]);
    for args in [
        &["findings", "1"][..],
        &["findings", "1", "--format", "markdown"],
        &["show", "1"],
        &["list"],
        &["watch", "1", "--since", "0"],
        &["logs", "1"],
    ] {
        let ran = machine.run(args);
        assert!(!ran.stdout.contains('\u{1b}') && !ran.stdout.contains('\u{7}'), "{args:?}: {:?}", ran.stdout);
    }
}

#[test]
fn random_bytes_after_a_good_beginning() {
    let machine = Machine::new();
    let mut patch = adding("good.py", &LEFTOVER).into_bytes();
    patch.extend_from_slice(b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,4294967295 +18446744073709551616,1 @@\n");
    let mut state = 1u32;
    patch.extend((0..50_000).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_le_bytes()[3]
    }));
    let task = honest(&machine, &patch, &["done", "partial", "failed"]);
    if task["state"] != "failed" {
        assert!(findings(&machine, &task).iter().any(|finding| finding["file"] == "good.py"));
    }
}

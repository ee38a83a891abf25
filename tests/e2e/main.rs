//! The real `sidetrack` binary on a real data directory: every source, every verb, every exit
//! code, and what must not happen when the input is hostile.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a failure here is a failed test")]

mod contract;
mod hostile_patches;
mod hostile_submissions;
mod sources;
mod two_versions;
mod verbs;

use serde_json::Value;
use st_testkit::{Machine, Ran};

/// Runs a command that must be refused with `code` of the exit codes and this error code, in
/// words with a fix, and nothing queued.
fn refused(machine: &Machine, ran: &Ran, code: i32, error: &str) -> Value {
    assert_eq!(ran.code, code, "{ran:?}");
    assert!(ran.stdout.is_empty(), "{ran:?}");
    let said = ran.error();
    assert_eq!(said["code"], error, "{said}");
    assert!(!said["message"].as_str().unwrap().is_empty() && !said["disk_effect"].as_str().unwrap().is_empty(), "{said}");
    assert!(!said["fix"].as_array().unwrap().is_empty(), "{said}");
    assert_eq!(machine.json(&["list"])["tasks"].as_array().unwrap().len(), 0, "nothing may be queued");
    said
}

/// `review WHAT --wait --json`, and the final task.
fn reviewed(machine: &Machine, args: &[&str]) -> (i32, Value) {
    let ran = machine.run(&[&["review", "--wait", "--json"], args].concat());
    let last = ran.stdout.lines().last().unwrap_or_else(|| panic!("no task: {ran:?}"));
    (ran.code, serde_json::from_str(last).unwrap())
}

/// A task's findings.
fn findings(machine: &Machine, task: &Value) -> Vec<Value> {
    let number = task["number"].to_string();
    machine.json(&["findings", &number])["findings"].as_array().unwrap().clone()
}

/// The ledger as `(file, status, reason)`, by file.
fn ledger(task: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let lines = task["coverage"].as_array().unwrap().iter();
    let mut lines: Vec<_> = lines.map(|line| (text(&line["file"]), text(&line["status"]), text(&line["reason"]))).collect();
    lines.sort();
    lines
}

//! The shapes that scripts rely on.

use std::collections::BTreeSet;

use serde_json::Value;
use st_testkit::Machine;
use st_testkit::patch::{LEFTOVER, adding};

use crate::reviewed;

const TASK: &str = "id number title kind runner state reason change_state complete priority attempt max_attempts retry_at throttled position waiting_for \
    claims progress timeout_ms tokens created_at pinned_at started_at finished_at findings coverage conflicts error";
const FINDING: &str =
    "id file side start_line end_line severity rule title body quote anchor suggestion base runner confidence fingerprint status";

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

fn has_all(value: &Value, names: &str) {
    let missing: Vec<&str> = names.split_whitespace().filter(|name| !keys(value).contains(name)).collect();
    assert!(missing.is_empty(), "missing {missing:?} in {value}");
}

/// `2026-11-30T09:48:58.007Z`.
fn is_time(value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    let shape: String = text.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect();
    shape == "0000-00-00T00:00:00.000Z"
}

#[test]
fn tasks_findings_and_events_have_the_contracts_fields() {
    let machine = Machine::new();
    let path = machine.file("a.patch", adding("a.py", &LEFTOVER));
    let (code, task) = reviewed(&machine, &[path.to_str().unwrap()]);
    assert_eq!(code, 0);
    has_all(&task, TASK);
    has_all(&task["claims"], "read write sqlite named mode");
    has_all(&task["progress"], "done total unit phase line");
    has_all(&task["tokens"], "input output cost_usd");
    has_all(&task["findings"], "high medium low info");
    has_all(&task["coverage"][0], "file status reason");
    for at in ["created_at", "pinned_at", "started_at", "finished_at"] {
        assert!(is_time(&task[at]), "{at}: {}", task[at]);
    }
    assert_eq!((&task["kind"], &task["runner"], &task["change_state"]), (&"review".into(), &"rules".into(), &"none".into()));
    assert_eq!((&task["max_attempts"], &task["timeout_ms"]), (&3.into(), &600_000.into()));

    let findings = machine.json(&["findings", "1"]);
    for finding in findings["findings"].as_array().unwrap() {
        has_all(finding, FINDING);
        assert!(["high", "medium", "low", "info"].contains(&finding["severity"].as_str().unwrap()));
        assert!(["new", "old"].contains(&finding["side"].as_str().unwrap()));
        assert!(["exact", "snapped", "file"].contains(&finding["anchor"].as_str().unwrap()));
    }
    let events = machine.run(&["watch", "1", "--since", "0", "--json"]).lines();
    for event in &events {
        has_all(event, "task at kind data");
        assert!(is_time(&event["at"]), "{event}");
        assert_eq!(event["task"], 1);
        assert_eq!(event.get("seq").is_none(), event["kind"] == "progress", "only ticks carry no number: {event}");
    }
}

#[test]
fn names_that_are_not_utf8_have_a_base64_twin() {
    let machine = Machine::new();
    let mut patch =
        b"diff --git \"a/caf\\351.py\" \"b/caf\\351.py\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/caf\\351.py\"\n".to_vec();
    patch.extend_from_slice(b"@@ -0,0 +1,3 @@\n+<<<<<<< HEAD\n+=======\n+>>>>>>> topic\n");
    let path = machine.file("a.patch", patch);
    let (code, task) = reviewed(&machine, &[path.to_str().unwrap()]);
    assert_eq!(code, 0, "{task}");
    assert_eq!(task["coverage"][0]["file_b64"], "Y2Fm6S5weQ==", "{task}");
    let findings = machine.json(&["findings", "1"]);
    assert_eq!(findings["findings"][0]["file_b64"], "Y2Fm6S5weQ==");
    let sarif = machine.run(&["findings", "1", "--format", "sarif"]).json();
    assert_eq!(sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "caf%E9.py");
}

#[test]
fn with_json_stdout_holds_nothing_else() {
    let machine = Machine::new();
    let path = machine.file("a.patch", adding("a.py", &LEFTOVER));
    let submitted = machine.run(&["review", path.to_str().unwrap(), "--json"]);
    has_all(&submitted.json(), TASK);
    let _ = machine.rested(1);
    let commands: [&[&str]; 10] = [
        &["list"],
        &["show", "1"],
        &["findings", "1"],
        &["status"],
        &["status", "--line"],
        &["pause"],
        &["resume"],
        &["config", "list"],
        &["doctor"],
        &["stop"],
    ];
    for args in commands {
        let ran = machine.run(&[args, &["--json"]].concat());
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
        assert!(ran.json().is_object(), "{args:?}");
        assert_eq!(ran.stdout.lines().count(), 1, "{args:?}");
    }
}

//! Every verb, its words and its exit codes.

use std::time::Duration;

use serde_json::Value;
use st_testkit::Machine;
use st_testkit::machine::wait_until;
use st_testkit::patch::{LEFTOVER, adding, harmless};

use crate::reviewed;

#[test]
fn submitting_prints_the_number_alone_and_the_rest_follows() {
    let machine = Machine::new();
    let path = machine.file("a.patch", adding("a.py", &LEFTOVER));
    let ran = machine.run(&["review", path.to_str().unwrap()]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "1\n"), "{ran:?}");
    let task = machine.rested(1);
    assert_eq!((&task["state"], &task["number"]), (&Value::from("done"), &Value::from(1)));

    let list = machine.run(&["list"]);
    assert!(list.stdout.contains("#1") && list.stdout.contains("✓ done") && list.stdout.contains("a.patch"), "{}", list.stdout);
    assert!(!list.stdout.contains('\u{1b}'), "no colour without a terminal");
    for id in ["1", "#1", task["id"].as_str().unwrap()] {
        assert_eq!(machine.json(&["show", id])["number"], 1, "{id}");
    }
    let show = machine.run(&["show", "1"]);
    assert!(show.stdout.contains("#1 a.patch") && show.stdout.contains("✓ done"), "{}", show.stdout);
    assert_eq!(machine.json(&["list", "--state", "done"])["tasks"].as_array().unwrap().len(), 1);
    assert_eq!(machine.json(&["list", "--state", "failed"])["tasks"].as_array().unwrap().len(), 0);
    assert_eq!(machine.json(&["list", "--limit", "1"])["tasks"].as_array().unwrap().len(), 1);
}

#[test]
fn findings_come_in_every_format() {
    let machine = Machine::new();
    let path = machine.file("a.patch", adding("a.py", &LEFTOVER));
    let (_, task) = reviewed(&machine, &[path.to_str().unwrap()]);
    assert!(task["findings"]["high"].as_u64().unwrap() + task["findings"]["medium"].as_u64().unwrap() > 0, "{task}");
    let text = machine.run(&["findings", "1"]);
    assert!(text.stdout.starts_with("a.py\n") && text.stdout.contains("  1 │ <<<<<<< HEAD"), "{}", text.stdout);
    let coloured = machine.run(&["findings", "1", "--color", "always"]);
    assert!(coloured.stdout.contains("\u{1b}["));
    let markdown = machine.run(&["findings", "1", "--format", "markdown"]);
    assert!(markdown.stdout.starts_with("# Review of a.patch\n"), "{}", markdown.stdout);
    let sarif = machine.run(&["findings", "1", "--format", "sarif"]).json();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert!(results.iter().any(|result| result["locations"][0]["physicalLocation"]["region"]["startLine"] == 1), "{sarif:#}");
    let json = machine.json(&["findings", "1"]);
    assert_eq!(json["findings"].as_array().unwrap().len(), results.len());
    assert_eq!(machine.run(&["findings", "1", "--format", "markdown", "--json"]).code, 2);
}

#[test]
fn fail_on_is_8_only_at_or_above_the_severity() {
    let machine = Machine::new();
    let bad = machine.file("bad.patch", adding("a.py", &LEFTOVER));
    let good = machine.file("good.patch", harmless(1, 3));
    let run = |path: &std::path::Path, level: &str| machine.run(&["review", path.to_str().unwrap(), "--wait", "--fail-on", level]);
    assert_eq!(run(&bad, "info").code, 8);
    assert_eq!(run(&bad, "off").code, 0);
    let clean = run(&good, "info");
    assert_eq!(clean.code, 0, "{clean:?}");
    assert!(clean.stdout.contains("No findings"), "{}", clean.stdout);
}

#[test]
fn unknown_tasks_are_2_with_words() {
    let machine = Machine::new();
    for verb in [&["show"][..], &["findings"], &["logs"], &["cancel"], &["retry"], &["priority"], &["watch"]] {
        for (id, code) in [("99", "unknown_task"), ("nonsense", "usage")] {
            let mut args = vec![verb[0], id];
            if verb[0] == "priority" {
                args.push("high");
            }
            let ran = machine.run(&[args.as_slice(), &["--json"]].concat());
            assert_eq!(ran.code, 2, "{args:?} {ran:?}");
            let said = ran.error();
            assert!(said["code"] == code || said["code"] == "unknown_task", "{args:?} {said}");
            assert!(ran.stdout.is_empty());
        }
    }
}

#[test]
fn pause_holds_new_tasks_and_waiting_ones_can_be_reordered_and_cancelled() {
    let machine = Machine::new();
    let path = machine.file("a.patch", harmless(1, 1));
    assert_eq!(machine.run(&["pause"]).code, 0);
    let (first, second) = (machine.submit(&[path.to_str().unwrap()]), machine.submit(&[path.to_str().unwrap()]));
    let status = machine.json(&["status"]);
    assert_eq!((&status["paused"], &status["waiting"]), (&Value::from(true), &Value::from(2)), "{status}");
    assert_eq!(machine.run(&["status", "--line"]).stdout, "2 waiting · paused\n");
    let shown = machine.json(&["show", &second.to_string()]);
    assert_eq!(shown["state"], "queued");
    assert!(!shown["reason"].as_str().unwrap().is_empty(), "a waiting task says why");
    assert_eq!(machine.json(&["priority", &second.to_string(), "high"])["priority"], "high");
    let positions = |number: u64| machine.json(&["show", &number.to_string()])["position"].clone();
    assert_eq!((positions(second), positions(first)), (Value::from(1), Value::from(2)));

    let cancelled = machine.json(&["cancel", &first.to_string()]);
    assert_eq!(cancelled["state"], "cancelled");
    let again = machine.run(&["cancel", &first.to_string(), "--json"]);
    assert_eq!((again.code, again.error()["code"].as_str()), (6, Some("wrong_state")), "{again:?}");
    assert_eq!(machine.run(&["resume"]).code, 0);
    assert_eq!(machine.rested(second)["state"], "done");

    let number: u64 = machine.run(&["retry", &first.to_string()]).stdout.trim().parse().unwrap();
    assert!(number > second);
    let rerun = machine.rested(number);
    assert_eq!((&rerun["state"], &rerun["rerun_of"]), (&Value::from("done"), &Value::from(first)));
}

#[test]
fn a_cancelled_wait_is_3() {
    let machine = Machine::new();
    let path = machine.file("a.patch", harmless(1, 1));
    assert_eq!(machine.run(&["pause"]).code, 0);
    let mut command = machine.command(&["review", path.to_str().unwrap(), "--wait", "--json"]);
    command.stdout(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    assert!(wait_until(Duration::from_secs(30), || machine.json(&["list"])["tasks"].as_array().unwrap().len() == 1));
    assert_eq!(machine.run(&["cancel", "1"]).code, 0);
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(3));
    let task: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(task["state"], "cancelled");
}

#[test]
fn ctrl_c_on_a_wait_detaches_and_a_second_one_cancels() {
    for presses in [1, 2] {
        let machine = Machine::new();
        let path = machine.file("a.patch", harmless(1, 1));
        assert_eq!(machine.run(&["pause"]).code, 0);
        let mut command = machine.command(&["review", path.to_str().unwrap(), "--wait"]);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut first = [0; 2];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
        assert_eq!(&first, b"1\n");
        let pid = rustix::process::Pid::from_child(&child);
        let mut said = String::new();
        // The handler is up once the stream runs; until then Ctrl-C just ends the command, so wait for it.
        assert!(wait_until(Duration::from_secs(30), || catches_interrupt(child.id())));
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        let stderr = child.stderr.as_mut().unwrap();
        let mut byte = [0];
        while !said.ends_with('\n') && std::io::Read::read(stderr, &mut byte).unwrap() == 1 {
            said.push(char::from(byte[0]));
        }
        assert!(said.contains("Detached: #1 goes on"), "{said}");
        if presses == 2 {
            rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        }
        let code = child.wait().unwrap().code();
        let state = machine.json(&["show", "1"])["state"].clone();
        let expected = if presses == 1 { (Some(0), "queued") } else { (Some(3), "cancelled") };
        assert_eq!((code, state.as_str().unwrap()), expected);
    }
}

/// Whether a process handles SIGINT, by its status in `/proc`.
fn catches_interrupt(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0");
    u64::from_str_radix(caught.trim(), 16).unwrap_or(0) & 0b10 != 0
}

#[test]
fn watch_replays_without_gap_and_resumes_where_it_was() {
    let machine = Machine::new();
    let path = machine.file("a.patch", adding("a.py", &LEFTOVER));
    let _ = machine.rested(machine.submit(&[path.to_str().unwrap()]));
    let all = machine.run(&["watch", "1", "--since", "0", "--json"]).lines();
    let kinds: Vec<&str> = all.iter().filter(|event| event.get("seq").is_some()).map(|event| event["kind"].as_str().unwrap()).collect();
    assert_eq!((kinds.first(), kinds.last()), (Some(&"submitted"), Some(&"settled")), "{kinds:?}");
    assert!(kinds.contains(&"pinned") && kinds.contains(&"finding") && kinds.contains(&"covered"), "{kinds:?}");
    let seqs: Vec<u64> = all.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert!(seqs.windows(2).all(|pair| pair[0] < pair[1]), "{seqs:?}");
    let middle = seqs[seqs.len() / 2];
    let rest = machine.run(&["watch", "1", "--since", &middle.to_string(), "--json"]).lines();
    let rest: Vec<u64> = rest.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(rest, seqs.iter().copied().filter(|seq| *seq > middle).collect::<Vec<_>>());
    let words = machine.run(&["watch", "1", "--since", "0"]);
    assert!(words.stdout.contains("queued: a.patch") && words.stdout.contains("hygiene.conflict-markers"), "{}", words.stdout);
}

#[test]
fn logs_are_printed_whole_in_part_and_as_they_come() {
    let machine = Machine::new();
    let path = machine.file("a.patch", harmless(3, 2));
    let number = machine.submit(&[path.to_str().unwrap()]);
    let followed = machine.run(&["logs", "-f", &number.to_string()]);
    assert_eq!(followed.code, 0, "{followed:?}");
    let _ = machine.rested(number);
    let all = machine.run(&["logs", "1"]);
    assert_eq!(followed.stdout, all.stdout, "following prints what is there in the end");
    assert!(!all.stdout.is_empty(), "an attempt says something");
    let tail = machine.run(&["logs", "1", "--tail", "1"]);
    assert_eq!(tail.stdout.lines().collect::<Vec<_>>(), all.stdout.lines().rev().take(1).collect::<Vec<_>>());
    let json = machine.run(&["logs", "1", "--json"]).lines();
    assert_eq!(json.len(), all.stdout.lines().count());
    assert_eq!(machine.run(&["logs", "1", "--attempt", "9"]).code, 2);
}

#[test]
fn settings_are_read_changed_and_checked() {
    let machine = Machine::new();
    let all = machine.json(&["config", "list"]);
    assert_eq!(all["review.timeout"]["value"], "10m", "{all}");
    assert_eq!(machine.run(&["config", "set", "review.timeout", "20m"]).code, 0);
    assert_eq!(machine.run(&["config", "get", "review.timeout"]).stdout, "20m\n");
    assert_eq!(machine.run(&["config", "set", "review.timeout", "--default"]).code, 0);
    assert_eq!(machine.json(&["config", "get", "review.timeout"])["value"], "10m");
    for bad in [&["config", "get", "no.such"][..], &["config", "set", "review.timeout", "soon"], &["config", "set", "no.such", "1"]] {
        assert_eq!(machine.run(bad).code, 2, "{bad:?}");
    }
}

#[test]
fn doctor_says_what_holds_and_starts_no_engine() {
    let machine = Machine::new();
    let checks = machine.json(&["doctor"]);
    let checks = checks["checks"].as_array().unwrap();
    assert!(!checks.is_empty());
    assert!(checks.iter().all(|check| check["ok"] == true || check["fix"].is_string()), "{checks:?}");
    assert_eq!(machine.run(&["doctor"]).code, 0);
    assert!(machine.engine_pid().is_none());
}

#[test]
fn the_engine_starts_on_demand_once_and_stops_when_told() {
    let machine = Machine::new();
    let detached = machine.run(&["serve", "--detach"]);
    assert_eq!(detached.code, 0, "{detached:?}");
    let pid = machine.engine_pid().unwrap();
    assert_eq!(machine.run(&["serve", "--detach"]).code, 0);
    assert_eq!(machine.engine_pid(), Some(pid), "a second one does not take over");
    let second = machine.run(&["serve", "--json"]);
    assert_eq!(second.code, 7, "{second:?}");
    assert!(!second.error()["message"].as_str().unwrap().is_empty());
    assert_eq!(machine.run(&["stop"]).code, 0);
    assert!(machine.engine_pid().is_none());
    assert_eq!(machine.json(&["status"])["engine"], false);
    let log: Vec<_> = std::fs::read_dir(machine.data_dir().join("logs")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(log.iter().any(|name| name.to_string_lossy().starts_with("engine.")), "{log:?}");
}

#[test]
fn an_idle_engine_ends_by_itself() {
    let machine = Machine::new();
    let mut engine = machine.serve(&["--idle-exit", "1s"]);
    assert!(wait_until(Duration::from_secs(30), || engine.ended() == Some(0)));
}

#[test]
fn commands_at_once_share_one_engine() {
    let machine = Machine::new();
    let path = machine.file("a.patch", harmless(1, 1));
    let children: Vec<_> = (0..8)
        .map(|_| {
            let mut command = machine.command(&["review", path.to_str().unwrap()]);
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    let mut numbers: Vec<u64> = children
        .into_iter()
        .map(|child| {
            let out = child.wait_with_output().unwrap();
            assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
            String::from_utf8(out.stdout).unwrap().trim().parse().unwrap()
        })
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=8).collect::<Vec<_>>());
}

//! Engines that die in the middle: nothing is lost, nothing is said twice.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a failure here is a failed test")]

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;
use st_testkit::Machine;
use st_testkit::machine::{PATIENCE, wait_until};
use st_testkit::patch::{LEFTOVER, adding, harmless};

/// Rounds of the main proof.
const ROUNDS: u64 = 50;

/// A patch whose review takes long enough to be killed in the middle.
fn patch() -> String {
    let mut patch = harmless(60, 40);
    patch.push_str(&adding("zz_last.py", &LEFTOVER));
    patch
}

/// A watcher that outlives engines: `watch --since 0 --json`, line by line.
fn watcher(machine: &Machine) -> (std::process::Child, Receiver<Value>) {
    let mut command = machine.command(&["watch", "--since", "0", "--json"]);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            if sender.send(serde_json::from_str(&line).unwrap()).is_err() {
                return;
            }
        }
    });
    (child, receiver)
}

#[test]
fn a_killed_engine_loses_no_task_and_leaves_no_gap_in_the_stream() {
    let machine = Machine::new();
    let path = machine.file("a.patch", patch());
    let mut engine = machine.serve(&[]);
    let (mut watching, stream) = watcher(&machine);
    let mut seen: Vec<Value> = Vec::new();
    let mut killed_while_running: u64 = 0;

    for round in 1..=ROUNDS {
        let number = machine.submit(&[path.to_str().unwrap()]);
        assert_eq!(number, round);
        // Each round dies at another moment: after so many events of its task.
        let wanted = 1 + usize::try_from(round % 12).unwrap() * 4;
        let mut of_task = 0;
        while of_task < wanted {
            let event = stream.recv_timeout(PATIENCE).expect("the stream stands still");
            let mine = event["task"] == round && event.get("seq").is_some();
            let settled = mine && event["kind"] == "settled";
            of_task += usize::from(mine);
            seen.push(event);
            if settled {
                break;
            }
        }
        let was_open = !seen.iter().any(|event| event["task"] == round && event["kind"] == "settled");
        engine.kill();
        killed_while_running += u64::from(was_open);
        engine = machine.serve(&[]);
        let rested = |seen: &[Value]| seen.iter().any(|event| event["task"] == round && event["kind"] == "settled");
        while !rested(&seen) {
            seen.push(stream.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("round {round}: the task does not finish")));
        }
    }
    assert!(killed_while_running > ROUNDS / 2, "only {killed_while_running} rounds hit a running task");

    for number in 1..=ROUNDS {
        let task = machine.json(&["show", &number.to_string()]);
        assert_eq!(task["state"], "done", "{task}");
        assert_eq!(task["coverage"].as_array().unwrap().len(), 61, "every file once, whatever was killed");
        assert_eq!(task["covered"], serde_json::json!({"reviewed": 61}), "{task}");
        let findings = machine.json(&["findings", &number.to_string()]);
        let prints: Vec<&str> =
            findings["findings"].as_array().unwrap().iter().map(|finding| finding["fingerprint"].as_str().unwrap()).collect();
        assert_eq!(prints.iter().collect::<BTreeSet<_>>().len(), prints.len(), "a finding of a killed attempt must not come twice");
        assert!(!prints.is_empty());
    }

    // The watcher, across fifty deaths, has seen exactly what the log holds.
    let seqs: Vec<u64> = seen.iter().filter_map(|event| event["seq"].as_u64()).collect();
    let last = *seqs.last().unwrap();
    let mut replay = machine.command(&["watch", "--since", "0", "--json"]);
    replay.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut replay = replay.spawn().unwrap();
    let mut all = Vec::new();
    for line in BufReader::new(replay.stdout.take().unwrap()).lines() {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        all.extend(event["seq"].as_u64());
        if all.last().is_some_and(|seq| *seq >= last) {
            break;
        }
    }
    replay.kill().unwrap();
    replay.wait().unwrap();
    assert_eq!(seqs, all, "the stream has gaps or repeats");
    watching.kill().unwrap();
    watching.wait().unwrap();
    println!("{ROUNDS} rounds, {killed_while_running} of them killed an open task; {} events, no gap", all.len());
}

#[test]
fn a_killed_engine_leaves_no_worker_behind() {
    let machine = Machine::new();
    let path = machine.file("a.patch", patch());
    for _ in 0..5 {
        let engine = machine.serve(&[]);
        let number = machine.submit(&[path.to_str().unwrap()]);
        assert!(wait_until(PATIENCE, || machine.json(&["show", &number.to_string()])["state"] != "queued"));
        engine.kill();
        assert!(wait_until(Duration::from_secs(20), || workers_of(&machine).is_empty()), "{:?}", workers_of(&machine));
    }
}

/// Command lines of worker processes that belong to this machine's data directory.
fn workers_of(machine: &Machine) -> Vec<String> {
    let data = machine.data_dir().display().to_string();
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes
        .filter_map(|process| {
            let line = std::fs::read(process.path().join("cmdline")).ok()?;
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            let folder = std::fs::read_link(process.path().join("cwd")).ok()?;
            (line.contains(st_app::reexec::WORKER_ARG) && folder.display().to_string().starts_with(&data)).then_some(line)
        })
        .collect()
}

#[test]
fn a_task_waiting_when_the_engine_dies_is_run_by_the_next_one() {
    let machine = Machine::new();
    let path = machine.file("a.patch", harmless(2, 2));
    let engine = machine.serve(&[]);
    assert_eq!(machine.run(&["pause"]).code, 0);
    let numbers: Vec<u64> = (0..5).map(|_| machine.submit(&[path.to_str().unwrap()])).collect();
    engine.kill();
    let status = machine.json(&["status"]);
    assert_eq!(status["engine"], false);
    let listed = machine.json(&["list", "--state", "queued"]);
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 5, "a durable queue outlives its engine");
    assert_eq!(machine.json(&["status"])["paused"], true, "and so does the pause");
    assert_eq!(machine.run(&["resume"]).code, 0);
    for number in numbers {
        assert_eq!(machine.rested(number)["state"], "done");
    }
}

#[test]
fn a_stopped_engine_drains_and_stop_now_puts_tasks_back_uncounted() {
    let machine = Machine::new();
    let path = machine.file("a.patch", patch());
    let number = machine.submit(&[path.to_str().unwrap()]);
    assert!(wait_until(PATIENCE, || machine.json(&["show", &number.to_string()])["state"] != "queued"));
    assert_eq!(machine.run(&["stop"]).code, 0);
    assert_eq!(machine.json(&["show", &number.to_string()])["state"], "done", "what ran was let finish");

    let number = machine.submit(&[path.to_str().unwrap()]);
    assert!(wait_until(PATIENCE, || machine.json(&["show", &number.to_string()])["state"] != "queued"));
    assert_eq!(machine.run(&["stop", "--now"]).code, 0);
    let task = machine.rested(number);
    assert_eq!(task["state"], "done", "{task}");
}

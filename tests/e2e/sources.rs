//! Every source of a review, end to end.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use serde_json::Value;
use st_testkit::patch::{LEFTOVER, adding};
use st_testkit::{Answer, Host, Machine, Repo};

use crate::{findings, ledger, reviewed};

/// The review is done, looked at exactly these files, and found what the merge left in `file`.
fn found_leftover(machine: &Machine, (code, task): &(i32, Value), files: &[&str], file: &str) {
    assert_eq!((*code, &task["state"]), (0, &Value::from("done")), "{task}");
    let seen: Vec<String> = ledger(task).into_iter().map(|(file, _, _)| file).collect();
    assert_eq!(seen, files);
    let found = findings(machine, task);
    assert!(found.iter().any(|finding| finding["file"] == file && finding["rule"] == "hygiene.conflict-markers"), "{found:?}");
}

#[test]
fn a_patch_file_under_awkward_names() {
    let machine = Machine::new();
    let patch = adding("a.py", &LEFTOVER);
    for name in ["plain.patch", "with space.diff", "café.patch", "quote'd.patch"] {
        let path = machine.file(name, &patch);
        found_leftover(&machine, &reviewed(&machine, &[path.to_str().unwrap()]), &["a.py"], "a.py");
        found_leftover(&machine, &reviewed(&machine, &[name]), &["a.py"], "a.py");
    }
    let odd = OsStr::from_bytes(b"caf\xe9.patch");
    let _ = machine.file(odd, &patch);
    let ran = machine.run(&[OsStr::new("review"), odd, OsStr::new("--wait"), OsStr::new("--json")]);
    found_leftover(&machine, &(ran.code, ran.json()), &["a.py"], "a.py");
}

#[test]
fn standard_input() {
    let machine = Machine::new();
    let ran = machine.pipe(&["review", "-", "--wait", "--json"], adding("a.py", &LEFTOVER).as_bytes());
    found_leftover(&machine, &(ran.code, ran.json()), &["a.py"], "a.py");
}

#[test]
fn uncommitted_work_with_untracked_files() {
    let machine = Machine::new();
    let repo = Repo::init(&machine.work().join("api"));
    repo.write("kept.py", "x = 1\n");
    repo.write(".gitignore", "ignored.py\n");
    repo.commit("one");
    repo.write("kept.py", "x = 2\n");
    repo.write("new.py", LEFTOVER.join("\n") + "\n");
    repo.write("ignored.py", LEFTOVER.join("\n"));
    let before = repo.git(&["status", "--porcelain=v2"]);
    let (code, task) = reviewed(&machine, &[repo.text()]);
    found_leftover(&machine, &(code, task.clone()), &["kept.py", "new.py"], "new.py");
    assert_eq!(task["origin"], repo.text());
    assert!(task["pinned_at"].is_string());
    assert_eq!(repo.git(&["status", "--porcelain=v2"]), before);
}

#[test]
fn ranges_and_branches() {
    let machine = Machine::new();
    let repo = Repo::init(&machine.work().join("api"));
    repo.write("a.py", "x = 1\n");
    let base = repo.commit("one");
    repo.git(&["checkout", "-q", "-b", "feature"]);
    repo.write("b.py", LEFTOVER.join("\n") + "\n");
    let head = repo.commit("two");
    repo.git(&["checkout", "-q", "main"]);
    repo.write("c.py", "y = 1\n");
    repo.commit("three");

    let range = format!("{}@{base}..{head}", repo.text());
    found_leftover(&machine, &reviewed(&machine, &[&range]), &["b.py"], "b.py");
    let range = format!("{}@main...feature", repo.text());
    found_leftover(&machine, &reviewed(&machine, &[&range]), &["b.py"], "b.py");
    let branch = machine.run_in(repo.root(), &["review", "feature", "--wait", "--json"]);
    found_leftover(&machine, &(branch.code, branch.json()), &["b.py"], "b.py");
    repo.git(&["checkout", "-q", "feature"]);
    found_leftover(&machine, &reviewed(&machine, &[repo.text(), "--base", "main"]), &["b.py"], "b.py");
}

#[test]
fn a_folder_counts_as_new() {
    let machine = Machine::new();
    let _ = machine.file("plain/a.py", "x = 1\n");
    let _ = machine.file("plain/sub/b.py", LEFTOVER.join("\n") + "\n");
    found_leftover(&machine, &reviewed(&machine, &["plain"]), &["a.py", "sub/b.py"], "sub/b.py");
}

#[test]
fn a_pull_request_of_a_host_of_ones_own() {
    let machine = Machine::new();
    let patch = Answer::new("200 OK", "text/plain; charset=utf-8", adding("a.py", &LEFTOVER));
    let host = Host::start([("/acme/api/pull/482.patch".to_owned(), patch.clone()), ("/acme/api/pull/482.diff".to_owned(), patch)]);
    let key = format!("forge.{}", host.name());
    let set = machine.run(&["config", "set", &key, &format!("github=http://{}", host.name())]);
    assert_eq!(set.code, 0, "{set:?}");
    let link = format!("http://{}/acme/api/pull/482", host.name());
    let (code, task) = reviewed(&machine, &[&link]);
    found_leftover(&machine, &(code, task.clone()), &["a.py"], "a.py");
    assert_eq!(task["title"], "acme/api #482");
    assert_eq!(host.asked().len(), 1);
}

#[test]
fn later_edits_do_not_move_a_pinned_review() {
    let machine = Machine::new();
    let repo = Repo::init(&machine.work().join("api"));
    repo.write("a.py", "x = 1\n");
    repo.commit("one");
    repo.write("a.py", LEFTOVER.join("\n") + "\n");
    let number = machine.submit(&[repo.text()]);
    let watch = machine.run(&["watch", &number.to_string(), "--since", "0", "--json"]);
    assert!(watch.lines().iter().any(|event| event["kind"] == "pinned"));
    repo.write("a.py", "x = 1\n");
    let quotes: Vec<Value> = findings(&machine, &machine.rested(number)).iter().map(|finding| finding["quote"].clone()).collect();
    assert!(quotes.iter().any(|quote| quote.as_str().unwrap().contains("<<<<<<<")), "{quotes:?}");
}

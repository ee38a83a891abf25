//! Things that are no patch, no repository and no pull request, and hosts that misbehave.

use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;

use serde_json::Value;
use st_testkit::patch::{LEFTOVER, adding};
use st_testkit::{Answer, Host, Machine, Repo};

use crate::{refused, reviewed};

fn refuse(machine: &Machine, what: &str, error: &str) -> Value {
    let ran = machine.run(&["review", what, "--json"]);
    refused(machine, &ran, 2, error)
}

#[test]
fn a_named_pipe_a_socket_and_devices() {
    let machine = Machine::new();
    let pipe = machine.work().join("pipe.patch");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    refuse(&machine, "pipe.patch", "unsupported_input");
    let _socket = UnixListener::bind(machine.work().join("socket")).unwrap();
    refuse(&machine, "socket", "unsupported_input");
    refuse(&machine, "/dev/zero", "unsupported_input");
}

#[test]
fn what_may_not_be_read() {
    let machine = Machine::unprivileged();
    let folder = machine.work().join("closed");
    std::fs::create_dir(&folder).unwrap();
    machine.give(&folder);
    let file = machine.file("closed.patch", adding("a.py", &LEFTOVER));
    for path in [&folder, &file] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o000)).unwrap();
    }
    refuse(&machine, "closed", "unreadable");
    refuse(&machine, "closed.patch", "unreadable");
    refuse(&machine, "closed/inside.patch", "unreadable");
}

#[test]
fn links_that_lead_nowhere_or_round() {
    let machine = Machine::new();
    symlink("round", machine.work().join("round")).unwrap();
    symlink("gone.patch", machine.work().join("dangling.patch")).unwrap();
    refuse(&machine, "round", "unreadable");
    refuse(&machine, "dangling.patch", "not_found");
}

#[test]
fn a_folder_with_a_link_to_itself_and_one_outside() {
    let machine = Machine::new();
    let _ = machine.file("plain/a.py", LEFTOVER.join("\n") + "\n");
    symlink(".", machine.work().join("plain/again")).unwrap();
    symlink("/etc/passwd", machine.work().join("plain/outside.py")).unwrap();
    let (code, task) = reviewed(&machine, &["plain"]);
    assert_eq!(code, 0, "{task}");
    let files: Vec<&str> = task["coverage"].as_array().unwrap().iter().map(|line| line["file"].as_str().unwrap()).collect();
    assert!(files.contains(&"a.py") && files.iter().all(|file| !file.contains('/')), "links are not followed: {files:?}");
}

#[test]
fn roots_that_nobody_means() {
    let machine = Machine::new();
    let home = machine.work().parent().unwrap().join("home");
    for root in ["/", home.to_str().unwrap(), "~"] {
        let ran = machine.run(&["review", root, "--json"]);
        refused(&machine, &ran, 6, "refused_root");
    }
}

#[test]
fn things_that_hold_nothing() {
    let machine = Machine::new();
    let _ = machine.file("empty.patch", "");
    refuse(&machine, "empty.patch", "nothing_to_review");
    std::fs::create_dir(machine.work().join("empty")).unwrap();
    refuse(&machine, "empty", "nothing_to_review");
    let ran = machine.pipe(&["review", "-", "--json"], b" \n");
    refused(&machine, &ran, 2, "nothing_to_review");
    refuse(&machine, "", "usage");
}

#[test]
fn names_and_revisions_that_do_not_exist() {
    let machine = Machine::new();
    let repo = Repo::init(&machine.work().join("api"));
    repo.write("a.py", "x = 1\n");
    repo.commit("one");
    refuse(&machine, "no-such.patch", "not_found");
    refuse(&machine, "no-such-thing", "not_found");
    let said = refuse(&machine, &format!("{}@mian..HEAD", repo.text()), "unknown_revision");
    assert_eq!(said["fix"][0], "Did you mean `main`?");
    refuse(&machine, "api@--upload-pack=touch owned..HEAD", "unknown_revision");
    // What only git can tell comes out when the content is pinned, with a cause.
    let (code, task) = reviewed(&machine, &[&format!("{}@{:040x}..HEAD", repo.text(), 12)]);
    assert_eq!((code, &task["state"], &task["error"]["code"]), (1, &"failed".into(), &"unknown_revision".into()), "{task}");
    assert!(!machine.work().join("owned").exists());
}

#[test]
fn a_repository_that_wants_to_run_programs() {
    let machine = Machine::new();
    let repo = Repo::init(&machine.work().join("trap"));
    repo.write("a.py", "x = 1\n");
    repo.commit("one");
    let mark = machine.work().join("owned");
    let script = repo.root().join("run.sh");
    std::fs::write(&script, format!("#!/bin/sh\ntouch {}\ncat\n", mark.display())).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    for key in ["core.fsmonitor", "filter.x.clean", "filter.x.smudge", "diff.external", "diff.x.textconv", "core.pager", "core.sshCommand"]
    {
        repo.git(&["config", key, script.to_str().unwrap()]);
    }
    repo.git(&["config", "core.hooksPath", repo.text()]);
    repo.write(".gitattributes", "*.py filter=x diff=x\n");
    repo.write("a.py", LEFTOVER.join("\n") + "\n");
    let _ = std::fs::remove_file(&mark);
    let (code, task) = reviewed(&machine, &[repo.text()]);
    assert_eq!(code, 0, "{task}");
    assert!(!mark.exists(), "the repository's own programs must not run");
}

#[test]
fn addresses_of_other_kinds() {
    let machine = Machine::new();
    for what in ["ftp://example.org/a.patch", "ssh://git@example.org/a", "git@example.org:acme/api.git", "file://elsewhere/a.patch"] {
        refuse(&machine, what, "unsupported_input");
    }
    let ran = machine.run(&["review", "https://example.org/acme/api/pull/1", "--json"]);
    assert_eq!(ran.code, 2, "a host that was not named as a forge is not asked: {ran:?}");
}

/// A machine that takes `host` for a GitHub.
fn with_forge(host: &str) -> Machine {
    let machine = Machine::new();
    let set = machine.run(&["config", "set", &format!("forge.{host}"), &format!("github=http://{host}")]);
    assert_eq!(set.code, 0, "{set:?}");
    machine
}

#[test]
fn a_host_that_cannot_be_reached() {
    // A port that nobody listens on: it was free a moment ago.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let machine = with_forge(&free);
    let (code, task) = {
        let number = machine.submit(&[&format!("http://{free}/acme/api/pull/1")]);
        let first_failure = machine.run(&["watch", &number.to_string(), "--since", "0"]);
        (first_failure.code, machine.json(&["show", &number.to_string()]))
    };
    assert_eq!((code, &task["state"], &task["error"]["code"]), (0, &"failed".into(), &"unreachable".into()), "{task}");
    assert!(task["error"]["message"].as_str().unwrap().contains("127.0.0.1"), "{}", task["error"]);
}

#[test]
fn hosts_that_answer_with_something_else() {
    let table = "| error | detail |\n|---|---|\n| 500 | \u{1b}[31mboom |\n";
    let page = "<!doctype html><html><body>Sign in</body></html>";
    let path = |number: u32| format!("/acme/api/pull/{number}.patch");
    let diff = |number: u32| format!("/acme/api/pull/{number}.diff");
    let answers = [
        (1, Answer::new("500 Internal Server Error", "text/markdown", table)),
        (2, Answer::new("200 OK", "text/html", page)),
        (3, Answer::new("200 OK", "application/json", "{\"message\": \"rate limit\"}")),
        (4, Answer::new("404 Not Found", "text/plain", "not here")),
        (5, Answer::new("200 OK", "text/plain", "")),
    ];
    let host = Host::start(answers.iter().flat_map(|(number, answer)| [(path(*number), answer.clone()), (diff(*number), answer.clone())]));
    let machine = with_forge(&host.name());
    for (number, answer) in &answers {
        let (code, task) = reviewed(&machine, &[&format!("http://{}/acme/api/pull/{number}", host.name())]);
        assert_eq!((code, &task["state"]), (1, &Value::from("failed")), "{answer:?}: {task}");
        let error = &task["error"];
        assert!(!error["message"].as_str().unwrap().is_empty() && !error["fix"].as_array().unwrap().is_empty());
        assert!(!error.to_string().contains('\u{1b}') && !error.to_string().contains("\\u001b"), "{error}");
        assert_eq!(task["findings"]["high"], 0);
        let shown = machine.run(&["findings", &task["number"].to_string()]);
        assert!(!shown.stdout.contains("No findings"), "{}", shown.stdout);
    }
}

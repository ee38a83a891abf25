//! The command line itself: what is offered, how errors look, which codes they have. No test
//! here needs an engine. That this suite exists also makes cargo build the binary that the
//! end-to-end suites start.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here is a failed test")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use st_app::data_dir::prepare_data_dir;
use st_app::socket::socket_path;

fn sidetrack(arguments: &[&str], data_dir: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sidetrack"));
    command.env_clear().env("SIDETRACK_DATA_DIR", data_dir).env("HOME", data_dir).stdin(Stdio::null());
    command.args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn help_and_version_go_to_stdout() {
    let dir = tempfile::tempdir().unwrap();
    for arguments in [&["--help"][..], &["--version"], &["review", "--help"], &["help", "findings"]] {
        let out = sidetrack(arguments, dir.path());
        assert_eq!(out.status.code(), Some(0), "{arguments:?}");
        assert!(!out.stdout.is_empty() && out.stderr.is_empty(), "{arguments:?}");
    }
    let help = text(&sidetrack(&["--help"], dir.path()).stdout);
    for later in ["rollback", "apply", "agent"] {
        assert!(!help.contains(&format!("\n  {later} ")), "`{later}` is not built and must not be offered");
    }
}

#[test]
fn wrong_usage_is_2_and_one_object_with_json() {
    let dir = tempfile::tempdir().unwrap();
    let cases: [&[&str]; 8] = [
        &[],
        &["reviw", "x"],
        &["review"],
        &["review", "x", "--fail-on", "grave", "--wait"],
        &["review", "x", "--fail-on", "high"],
        &["list", "--state", "odd"],
        &["serve", "--slots", "0"],
        &["serve", "--idle-exit", "soon"],
    ];
    for arguments in cases {
        let out = sidetrack(arguments, dir.path());
        assert_eq!(out.status.code(), Some(2), "{arguments:?}");
        assert!(out.stdout.is_empty() && !out.stderr.is_empty(), "{arguments:?}");
        let arguments: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
        let out = sidetrack(&arguments, dir.path());
        assert_eq!(out.status.code(), Some(2), "{arguments:?}");
        let error: Value =
            serde_json::from_slice(&out.stderr).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}", text(&out.stderr)));
        assert_eq!(error["error"]["code"], "usage", "{arguments:?}");
        assert!(!error["error"]["fix"].as_array().unwrap().is_empty());
        assert!(out.stdout.is_empty());
    }
}

#[test]
fn verbs_that_are_not_built_say_so_with_6() {
    let dir = tempfile::tempdir().unwrap();
    for verb in ["run", "agent", "fix", "diff", "apply", "discard", "continue", "approve", "rollback", "report", "recover", "gc", "export"]
    {
        let out = sidetrack(&[verb, "1", "--json"], dir.path());
        assert_eq!(out.status.code(), Some(6), "{verb}");
        let error: Value = serde_json::from_slice(&out.stderr).unwrap();
        assert_eq!(error["error"]["code"], "not_built", "{verb}");
        let out = sidetrack(&[verb, "1"], dir.path());
        let words = text(&out.stderr);
        assert!(words.contains(&format!("`sidetrack {verb}`")) && words.contains("\nfix: "), "{words}");
    }
}

#[test]
fn status_starts_no_engine() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let line = sidetrack(&["status", "--line"], &data);
    assert_eq!((line.status.code(), text(&line.stdout).as_str()), (Some(0), "no engine\n"), "{}", text(&line.stderr));
    let json: Value = serde_json::from_slice(&sidetrack(&["status", "--json"], &data).stdout).unwrap();
    assert_eq!(json["engine"], false);
    let stop = sidetrack(&["stop"], &data);
    assert_eq!((stop.status.code(), text(&stop.stdout).as_str()), (Some(0), "No engine runs.\n"));
    assert!(!data.exists(), "looking must leave nothing behind");
}

#[test]
fn completions_and_manual_come_for_every_shell_and_command() {
    let dir = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let out = sidetrack(&["completions", shell], dir.path());
        assert!(out.status.success() && text(&out.stdout).contains("sidetrack"), "{shell}");
    }
    let page = text(&sidetrack(&["man"], dir.path()).stdout);
    assert!(page.contains(".TH sidetrack 1") && page.contains("SIDETRACK_DATA_DIR"), "{page}");
    let pages = dir.path().join("man");
    assert!(sidetrack(&["man", "--dir", pages.to_str().unwrap()], dir.path()).status.success());
    assert!(pages.join("sidetrack-review.1").is_file());
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_sidetrack"));
    command.args(["completions", "zsh"]).env("SIDETRACK_DATA_DIR", dir.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let out = child.wait_with_output().unwrap();
    assert_eq!((out.status.code(), text(&out.stderr).as_str()), (Some(0), ""));
}

#[test]
fn an_engine_of_another_version_is_stopped_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    for version in ["0.0.9", "99.0.0"] {
        let data_dir = dir.path().join(version);
        prepare_data_dir(&data_dir).unwrap();
        let listener = UnixListener::bind(socket_path(&data_dir)).unwrap();
        let engine = std::thread::spawn(move || {
            // One connection finds out the version, the next one ends it.
            loop {
                let (mut stream, _) = listener.accept().unwrap();
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                lines.next().unwrap().unwrap();
                let welcome = json!({"protocol": 1, "version": version, "boot": "b", "pid": 1});
                writeln!(stream, "{welcome}").unwrap();
                let Some(Ok(line)) = lines.next() else { continue };
                let request: Value = serde_json::from_str(&line).unwrap();
                writeln!(stream, "{}", json!({"id": request["id"], "reply": "ok"})).unwrap();
                return request;
            }
        });
        let out = sidetrack(&["stop", "--now"], &data_dir);
        assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
        assert!(text(&out.stdout).starts_with("The engine has ended."));
        assert!(text(&out.stderr).contains(version));
        let request = engine.join().unwrap();
        assert_eq!((&request["call"], &request["now"]), (&json!("stop"), &json!(true)), "{request}");
    }
}

//! The kill matrix of this level, and what a child may inherit.
//!
//! Liveness is proven from outside the code under test: every process of a worker holds the
//! write end of one pipe as its stdout, so the pipe is at its end exactly when all are gone.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;

use rustix::io::{FdFlags, fcntl_setfd};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;

use super::*;

const MIB: u64 = 1 << 20;

/// A worker running `script` in a shell, and what it prints. The gate's byte is a line end, so
/// `read` is how a shell waits at the gate.
async fn shell(spawner: &Spawner, script: &str) -> (WorkerProcess, pipe::Receiver) {
    let (read_end, write_end) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).unwrap();
    let command = WorkerCommand {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.into()],
        dir: std::env::temp_dir(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        output: File::from(write_end),
        memory_bytes: 512 * MIB,
        file_bytes: MIB,
    };
    let process = spawner.spawn(command).await.unwrap();
    (process, pipe::Receiver::from_owned_fd(read_end).unwrap())
}

/// Reads until `word` was printed.
async fn heard(output: &mut pipe::Receiver, word: &str) -> String {
    let mut text = Vec::new();
    while !String::from_utf8_lossy(&text).contains(word) {
        assert_ne!(output.read_buf(&mut text).await.unwrap(), 0, "ended after {:?}", String::from_utf8_lossy(&text));
    }
    String::from_utf8(text).unwrap()
}

/// What is left to read; fails when a process still holds the other end open.
fn rest(output: pipe::Receiver) -> String {
    let mut file = File::from(output.into_nonblocking_fd().unwrap());
    let mut text = String::new();
    file.read_to_string(&mut text).expect("a process of the worker is still alive");
    text
}

/// Stops a worker that said it is up, and sees that nothing of it is left.
async fn stopped(script: &str, grace: Duration) -> Exit {
    let spawner = Spawner::start().unwrap();
    let (mut process, mut output) = shell(&spawner, script).await;
    process.release().unwrap();
    heard(&mut output, "up").await;
    let exit = process.stop(grace).await;
    rest(output);
    exit
}

#[tokio::test]
async fn a_worker_ends_at_sigterm_within_its_grace() {
    assert_eq!(stopped("read gate; echo up; exec cat /dev/zero >/dev/null", Duration::from_secs(60)).await, Exit::Signal(15));
}

#[tokio::test]
async fn a_worker_that_ignores_sigterm_is_killed_after_the_grace() {
    let script = "read gate; trap '' TERM; echo up; while :; do :; done";
    assert_eq!(stopped(script, Duration::from_millis(50)).await, Exit::Signal(9));
    assert_eq!(stopped(script, Duration::ZERO).await, Exit::Signal(9));
}

#[tokio::test]
async fn a_stopped_worker_still_takes_sigterm() {
    let script = "read gate; trap 'exit 3' TERM; echo up; while :; do :; done";
    let spawner = Spawner::start().unwrap();
    let (mut process, mut output) = shell(&spawner, script).await;
    process.release().unwrap();
    heard(&mut output, "up").await;
    let pid = Pid::from_raw(i32::try_from(process.identity().pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    assert_eq!(process.stop(Duration::from_secs(60)).await, Exit::Code(3));
}

#[tokio::test]
async fn background_children_that_ignore_sigterm_go_with_the_worker() {
    let script = "read gate; (trap '' TERM; echo one; while :; do :; done) & (trap '' TERM; while :; do :; done) & echo up; wait";
    assert_eq!(stopped(script, Duration::from_millis(50)).await, Exit::Signal(15));
}

#[tokio::test]
async fn a_child_in_a_process_group_of_its_own_goes_too() {
    // `set -m` gives every background job its own group, as an interactive shell does.
    let script = "read gate; set -m; (trap '' TERM; while :; do :; done) & echo up; wait";
    stopped(script, Duration::from_millis(50)).await;
}

#[tokio::test]
async fn a_tree_that_forks_all_the_time_does_not_outrun_the_kill() {
    // Each link starts the next in a group of its own, and ends.
    let script = "read gate; set -m; trap '' TERM; link() { (link) & }; (link) & (link) & echo up; while :; do :; done";
    for _ in 0..5 {
        stopped(script, Duration::ZERO).await;
    }
}

#[tokio::test]
async fn what_a_finished_worker_left_running_is_killed() {
    let spawner = Spawner::start().unwrap();
    let (mut process, mut output) = shell(&spawner, "read gate; (while :; do :; done) & echo up; exit 7").await;
    process.release().unwrap();
    heard(&mut output, "up").await;
    assert_eq!(process.exited().await, Exit::Code(7));
    rest(output);
    assert_eq!(process.exited().await, Exit::Code(7), "asked twice, told the same");
    assert_eq!(process.stop(Duration::from_secs(60)).await, Exit::Code(7));
}

#[tokio::test]
async fn waiting_may_be_given_up_and_taken_up_again() {
    let spawner = Spawner::start().unwrap();
    let (mut process, mut output) = shell(&spawner, "read gate; trap '' TERM; echo up; while :; do :; done").await;
    process.release().unwrap();
    heard(&mut output, "up").await;
    assert!(tokio::time::timeout(Duration::from_millis(1), process.exited()).await.is_err());
    assert!(tokio::time::timeout(Duration::from_millis(1), process.stop(Duration::from_secs(60))).await.is_err());
    assert_eq!(process.stop(Duration::ZERO).await, Exit::Signal(9));
    rest(output);
}

#[tokio::test]
async fn a_dropped_worker_is_killed_and_reaped() {
    let spawner = Spawner::start().unwrap();
    let (mut process, mut output) = shell(&spawner, "read gate; trap '' TERM; (while :; do :; done) & echo up; while :; do :; done").await;
    process.release().unwrap();
    heard(&mut output, "up").await;
    let pid = process.identity().pid;
    drop(process);
    assert_eq!(output.read_to_end(&mut Vec::new()).await.unwrap(), 0);
    // A zombie would keep its folder in /proc; a reaped one has none.
    while std::path::Path::new(&format!("/proc/{pid}")).exists() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_worker_does_nothing_before_the_gate_opens_and_ends_when_it_closes() {
    let spawner = Spawner::start().unwrap();
    let (mut process, output) = shell(&spawner, "read gate || exit 75; echo up").await;
    process.close_gate();
    assert_eq!(process.exited().await, Exit::Code(75));
    assert_eq!(rest(output), "");
    assert!(process.release().is_err(), "a worker that is gone can't be let go");
}

#[tokio::test]
async fn the_end_of_the_thread_that_asked_does_not_end_the_worker() {
    let spawner = Spawner::start().unwrap();
    let asker = spawner.clone();
    let (read_end, write_end) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).unwrap();
    let command = WorkerCommand {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), "read gate; echo alive".into()],
        dir: "/".into(),
        env: Vec::new(),
        output: File::from(write_end),
        memory_bytes: 512 * MIB,
        file_bytes: MIB,
    };
    let handle = tokio::runtime::Handle::current();
    let thread = std::thread::spawn(move || handle.block_on(asker.spawn(command)).unwrap());
    let mut process = tokio::task::spawn_blocking(|| thread.join().unwrap()).await.unwrap();
    process.release().unwrap();
    heard(&mut pipe::Receiver::from_owned_fd(read_end).unwrap(), "alive").await;
    assert_eq!(process.exited().await, Exit::Code(0));
}

#[tokio::test]
async fn the_environment_is_exactly_the_list() {
    let spawner = Spawner::start().unwrap();
    let (read_end, write_end) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).unwrap();
    let command = WorkerCommand {
        program: "/usr/bin/env".into(),
        args: Vec::new(),
        dir: "/".into(),
        env: vec![("ONLY".into(), "this".into()), ("AND".into(), "that".into())],
        output: File::from(write_end),
        memory_bytes: 512 * MIB,
        file_bytes: MIB,
    };
    let mut process = spawner.spawn(command).await.unwrap();
    assert_eq!(process.exited().await, Exit::Code(0));
    let text = rest(pipe::Receiver::from_owned_fd(read_end).unwrap());
    assert_eq!(text.lines().collect::<BTreeSet<_>>(), BTreeSet::from(["ONLY=this", "AND=that"]));
}

#[tokio::test]
async fn no_descriptor_is_inherited_and_the_bounds_hold() {
    let spawner = Spawner::start().unwrap();
    let leaky = File::open("/dev/null").unwrap();
    fcntl_setfd(&leaky, FdFlags::empty()).unwrap();
    let (mut process, mut output) = shell(&spawner, "echo up; read gate; umask; ulimit -c; ulimit -f; ulimit -d; echo end").await;
    heard(&mut output, "up").await;
    let folder = format!("/proc/{}", process.identity().pid);
    let open: BTreeSet<String> =
        std::fs::read_dir(format!("{folder}/fd")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(open, BTreeSet::from(["0", "1", "2"].map(String::from)));
    let status = std::fs::read_to_string(format!("{folder}/status")).unwrap();
    assert!(status.lines().any(|line| line == "NoNewPrivs:\t1"), "{status}");
    process.release().unwrap();
    // In the shell's units: blocks of 512 bytes for files, KiB for memory.
    assert_eq!(heard(&mut output, "end").await, format!("0077\n0\n{}\n{}\nend\n", MIB / 512, 512 * 1024));
    assert_eq!(process.exited().await, Exit::Code(0));
}

#[tokio::test]
async fn a_program_that_is_not_there_is_an_error_that_names_it() {
    let spawner = Spawner::start().unwrap();
    let command = WorkerCommand {
        program: "/nowhere/sidetrack".into(),
        args: Vec::new(),
        dir: "/".into(),
        env: Vec::new(),
        output: File::open("/dev/null").unwrap(),
        memory_bytes: MIB,
        file_bytes: MIB,
    };
    let error = spawner.spawn(command).await.unwrap_err();
    assert_eq!(error.to_string(), "failed to start `/nowhere/sidetrack`");
}

#[tokio::test]
async fn a_leftover_is_killed_only_when_it_is_surely_the_same_process() {
    let spawner = Spawner::start().unwrap();
    let (mut process, mut output) = shell(&spawner, "read gate; echo up; while :; do :; done").await;
    process.release().unwrap();
    heard(&mut output, "up").await;
    let identity = process.identity().clone();
    let reused = ProcessIdentity { start_ticks: identity.start_ticks - 1, ..identity.clone() };
    let rebooted = ProcessIdentity { machine_boot: "another".into(), ..identity.clone() };
    assert!(!kill_leftover(&reused));
    assert!(!kill_leftover(&rebooted));
    assert!(session::stat(process.leader_pid()).unwrap().is_alive(), "no signal was sent");
    assert!(kill_leftover(&identity));
    assert_eq!(process.exited().await, Exit::Signal(9));
    assert!(!kill_leftover(&identity), "it is gone");
}

/// Not a test by itself: the engine that is killed below.
#[tokio::test]
async fn a_parent_to_be_killed() {
    if std::env::var_os("SIDETRACK_TEST_PARENT").is_none() {
        return;
    }
    let spawner = Spawner::start().unwrap();
    let command = WorkerCommand {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), "read gate; echo worker up; while :; do :; done".into()],
        dir: "/".into(),
        env: Vec::new(),
        output: File::from(std::os::fd::AsFd::as_fd(&std::io::stdout()).try_clone_to_owned().unwrap()),
        memory_bytes: 512 * MIB,
        file_bytes: MIB,
    };
    let mut process = spawner.spawn(command).await.unwrap();
    process.release().unwrap();
    process.exited().await;
}

#[tokio::test]
async fn a_worker_dies_with_a_parent_that_is_killed() {
    let (read_end, write_end) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).unwrap();
    let mut parent = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "spawn::tests::a_parent_to_be_killed", "--nocapture"])
        .env("SIDETRACK_TEST_PARENT", "1")
        .stdout(Stdio::from(write_end))
        .spawn()
        .unwrap();
    let mut output = pipe::Receiver::from_owned_fd(read_end).unwrap();
    heard(&mut output, "worker up").await;
    parent.kill().unwrap();
    assert_eq!(parent.wait().unwrap().signal(), Some(9));
    // Its end comes only when the worker, too, has let go of the pipe.
    tokio::time::timeout(Duration::from_secs(20), output.read_to_end(&mut Vec::new()))
        .await
        .expect("the worker outlived its parent")
        .unwrap();
}

#[tokio::test]
async fn many_workers_leave_no_zombie_and_no_descriptor() {
    let spawner = Spawner::start().unwrap();
    let mine = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let (mut process, _output) = shell(&spawner, "read gate").await;
    process.release().unwrap();
    process.exited().await;
    drop(process);
    let before = mine();
    for _ in 0..50 {
        let (mut process, output) = shell(&spawner, "read gate; exit 0").await;
        process.release().unwrap();
        assert_eq!(process.exited().await, Exit::Code(0));
        assert!(session::stat(process.leader_pid()).is_err(), "reaped");
        drop((process, output));
    }
    assert!(mine() <= before + 2, "{} descriptors, {before} before", mine());
}

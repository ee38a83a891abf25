//! How engines begin, hand over and end.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use st_app::ErrorCode;
use st_app::client::{Client, ConnectOptions, stop_engine};
use st_app::data_dir::prepare_data_dir;
use st_app::dto::StateDto;
use st_app::protocol::{Call, Hello, Reply, Request, Response, Welcome};
use st_app::server::{ServeOptions, serve, start_detached};
use st_app::socket::socket_path;
use st_testkit::engine::{EngineSetup, TestEngine, show, submit, try_client};
use st_testkit::worker::{Gate, Step, script};
use st_testkit::{PATIENCE, until};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixListener;

use crate::{setup, start, this_program, watch};

/// Where the engine that this test binary becomes keeps its data.
const SERVE: &str = "SIDETRACK_TEST_SERVE";

/// Becomes an engine when a [`Program`] executes this binary.
#[test]
fn serve_when_told() {
    let Some(data_dir) = std::env::var_os(SERVE) else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let options = ServeOptions {
        program: PathBuf::from(&data_dir).with_file_name("sidetrack.worker"),
        data_dir: PathBuf::from(data_dir),
        slots: Some(2),
        idle_exit: Some(Duration::from_secs(300)),
    };
    if let Err(problem) = runtime.block_on(serve(options)) {
        eprintln!("{problem}");
        std::process::exit(7);
    }
    std::process::exit(0);
}

/// A program that starts an engine as `sidetrack --data-dir DIR serve …` does.
pub(crate) struct Program {
    folder: TempDir,
    path: PathBuf,
}

impl Program {
    fn new() -> Self {
        Self::with_environment("")
    }

    /// The same with variables set, as `NAME='value' …`. The worker is this test binary under a
    /// name in the program's folder, where a desktop binary would be looked for.
    pub(crate) fn with_environment(variables: &str) -> Self {
        let program = Self::script(&format!(
            "echo $$ >> \"$0.starts\"\n{variables} {SERVE}=\"$2\" exec \"$0.worker\" lifecycle::serve_when_told --exact --nocapture\n"
        ));
        std::os::unix::fs::symlink(this_program(), program.folder().join("sidetrack.worker")).unwrap();
        program
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn script(body: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sidetrack");
        std::fs::write(&path, format!("#!/bin/sh\n{body}")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder, path }
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub(crate) fn options(&self) -> ConnectOptions {
        ConnectOptions { data_dir: self.data_dir(), start: Some(self.path.clone()), client: "test".into() }
    }

    fn starts(&self) -> usize {
        std::fs::read_to_string(self.folder.path().join("sidetrack.starts")).map_or(0, |starts| starts.lines().count())
    }
}

fn is_alive(pid: u32) -> bool {
    // A zombie is dead; its parent, this process, may not have looked yet.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z"))
}

#[tokio::test]
async fn eight_clients_that_start_at_once_get_one_engine() {
    let program = Program::new();
    let clients = (0..8).map(|_| {
        let options = program.options();
        tokio::spawn(async move { Client::connect(&options, &|_| {}).await.unwrap() })
    });
    let mut pids = Vec::new();
    for client in clients.collect::<Vec<_>>() {
        let client = client.await.unwrap();
        client.call(Call::Status).await.unwrap();
        pids.push(client.engine().pid);
    }
    pids.dedup();
    assert_eq!(pids.len(), 1, "{pids:?}");
    assert!(program.starts() >= 1);
    assert!(stop_engine(&program.data_dir(), "test", true).await.unwrap());
    until("the engine is gone", async || !is_alive(pids[0])).await;
    // The next client starts the next engine on the same data.
    let client = Client::connect(&program.options(), &|_| {}).await.unwrap();
    assert_ne!(client.engine().pid, pids[0]);
    assert!(stop_engine(&program.data_dir(), "test", true).await.unwrap());
}

#[tokio::test]
async fn a_detached_engine_is_in_a_session_of_its_own_and_private() {
    let program = Program::new();
    let client = Client::connect(&program.options(), &|_| {}).await.unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", client.engine().pid)).unwrap();
    let session = stat.rsplit_once(") ").unwrap().1.split(' ').nth(3).unwrap().to_owned();
    assert_eq!(session, client.engine().pid.to_string());
    let mode = |path: PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(program.data_dir()), mode(socket_path(&program.data_dir()))), (0o700, 0o600));
    assert!(stop_engine(&program.data_dir(), "test", true).await.unwrap());
}

#[tokio::test]
async fn a_program_that_can_not_serve_is_told_with_its_own_words() {
    let program = Program::script("echo 'the database is newer than this version' >&2\nexit 7\n");
    let problem = Client::connect(&program.options(), &|_| {}).await.unwrap_err();
    assert_eq!((problem.code, problem.message.as_str()), (ErrorCode::NoEngine, "the database is newer than this version"));

    let missing = ConnectOptions { start: Some(program.folder.path().join("missing")), ..program.options() };
    let problem = Client::connect(&missing, &|_| {}).await.unwrap_err();
    assert!(problem.message.contains("did not start"), "{problem}");

    let never = ConnectOptions { start: None, ..program.options() };
    assert_eq!(Client::connect(&never, &|_| {}).await.unwrap_err().code, ErrorCode::NoEngine);
    assert!(!stop_engine(&program.data_dir(), "test", true).await.unwrap());
}

#[tokio::test]
async fn a_signal_lets_the_running_task_finish_and_a_second_one_does_not() {
    for hurry in [false, true] {
        let program = Program::new();
        let client = Client::connect(&program.options(), &|_| {}).await.unwrap();
        let gate = Gate::new(program.folder.path(), "gate");
        let mut watcher = watch(&client, None).await;
        submit(&client, &script(&[Step::Covered("a".into()), gate.step(), Step::Done])).await;
        submit(&client, &script(&[Step::Done])).await;
        watcher.event(1, "covered").await;
        let pid = rustix::process::Pid::from_raw(i32::try_from(client.engine().pid).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        watcher.until("it says that it is ending", |watcher| watcher.status.stopping).await;
        let refused = client.call(Call::Review { what: None, text: None, cwd: None, base: None, runner: None, priority: None }).await;
        assert!(refused.is_err());
        if hurry {
            rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        } else {
            gate.open().await;
        }
        watcher.end().await;
        until("the engine is gone", async || !is_alive(client.engine().pid)).await;
        let next = Client::connect(&program.options(), &|_| {}).await.unwrap();
        let row = show(&next, 1).await;
        if hurry {
            // Back in the queue, the attempt not counted, and run again by the next engine.
            gate.open().await;
            let mut watcher = watch(&next, None).await;
            assert_eq!(watcher.rest(1).await.state, StateDto::Done);
        } else {
            assert_eq!(row.state, StateDto::Done);
        }
        assert!(stop_engine(&program.data_dir(), "test", true).await.unwrap());
    }
}

#[tokio::test]
async fn an_engine_without_clients_and_tasks_ends_after_the_idle_time() {
    let engine = TestEngine::start(EngineSetup { idle_exit: Some(Duration::from_millis(100)), ..setup() }).await;
    let data_dir = engine.data_dir().to_owned();
    let client = engine.client().await;
    let folder = tempfile::tempdir().unwrap();
    let gate = Gate::new(folder.path(), "gate");
    let mut watcher = watch(&client, None).await;
    submit(&client, &script(&[Step::Covered("a".into()), gate.step(), Step::Done])).await;
    watcher.event(1, "covered").await;
    drop((client, watcher));
    // A task that runs keeps it, with nobody there.
    tokio::time::sleep_until(tokio::time::Instant::now() + Duration::from_millis(500)).await;
    assert!(!engine.has_ended());
    gate.open().await;
    engine.ended().await;
    assert_eq!(try_client(&data_dir, "test").await.unwrap_err().code, ErrorCode::NoEngine);
}

#[tokio::test]
async fn a_data_directory_has_one_engine() {
    let (engine, _client) = start().await;
    let options = ServeOptions { data_dir: engine.data_dir().to_owned(), slots: None, idle_exit: None, program: this_program() };
    let problem = serve(options).await.unwrap_err();
    assert_eq!(problem.code, ErrorCode::NoEngine);
    assert!(problem.message.contains(&format!("process {}", std::process::id())), "{problem}");
    // The first one's socket is untouched.
    engine.client().await;
    engine.stop().await;
}

#[tokio::test]
async fn a_data_directory_deeper_than_a_socket_address_works() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("d".repeat(100)).join("e".repeat(100)).join("f".repeat(100));
    let engine = TestEngine::start(EngineSetup { data_dir: Some(deep.clone()), ..setup() }).await;
    let client = engine.client().await;
    let mut watcher = watch(&client, None).await;
    submit(&client, &script(&[Step::Findings(1), Step::Done])).await;
    assert_eq!(watcher.rest(1).await.state, StateDto::Done);
    engine.stop().await;
    assert!(!stop_engine(&deep, "test", true).await.unwrap());
}

/// An engine of another version: greets, and goes when told to stop.
struct OtherEngine {
    heard: tokio::task::JoinHandle<Vec<Request>>,
}

impl OtherEngine {
    fn start(data_dir: &Path, version: &str, greets: bool) -> Self {
        prepare_data_dir(data_dir).unwrap();
        let listener = UnixListener::bind(socket_path(data_dir)).unwrap();
        let version = version.to_owned();
        let heard = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = BufReader::new(stream);
            let mut line = String::new();
            stream.read_line(&mut line).await.unwrap();
            serde_json::from_str::<Hello>(&line).unwrap();
            if !greets {
                std::future::pending::<()>().await;
            }
            let welcome = Welcome { protocol: 1, version, boot: "b".into(), pid: std::process::id() };
            stream.write_all(format!("{}\n", serde_json::to_string(&welcome).unwrap()).as_bytes()).await.unwrap();
            let mut heard = Vec::new();
            loop {
                line.clear();
                if stream.read_line(&mut line).await.unwrap() == 0 {
                    return heard;
                }
                let request: Request = serde_json::from_str(&line).unwrap();
                let stop = matches!(request.call, Call::Stop { .. });
                let reply = Response { id: request.id, reply: Reply::Ok };
                stream.write_all(format!("{}\n", serde_json::to_string(&reply).unwrap()).as_bytes()).await.unwrap();
                heard.push(request);
                if stop {
                    return heard;
                }
            }
        });
        Self { heard }
    }
}

#[tokio::test]
async fn an_older_engine_is_asked_to_finish_and_ours_takes_over() {
    let program = Program::new();
    let old = OtherEngine::start(&program.data_dir(), "0.0.9", true);
    let notices = Mutex::new(Vec::new());
    let client = Client::connect(&program.options(), &|notice| notices.lock().unwrap().push(notice.to_owned())).await.unwrap();
    assert_eq!(client.engine().version, env!("CARGO_PKG_VERSION"));
    let heard = old.heard.await.unwrap();
    assert_eq!(heard.into_iter().map(|request| request.call).collect::<Vec<_>>(), [Call::Stop { now: false }]);
    let notices = notices.into_inner().unwrap();
    assert!(notices.len() == 1 && notices[0].contains("0.0.9"), "{notices:?}");
    assert!(stop_engine(&program.data_dir(), "test", true).await.unwrap());
}

#[tokio::test]
async fn a_newer_engine_is_left_alone_and_the_client_is_to_be_updated() {
    let program = Program::new();
    let newer = OtherEngine::start(&program.data_dir(), "99.0.0", true);
    let problem = Client::connect(&program.options(), &|_| {}).await.unwrap_err();
    assert_eq!(problem.code, ErrorCode::VersionMismatch);
    assert!(problem.message.contains("99.0.0") && problem.fix[0].contains("Update"), "{problem:?}");
    assert_eq!(newer.heard.await.unwrap(), []);
    assert_eq!(program.starts(), 0);
}

#[tokio::test]
async fn an_older_engine_is_not_replaced_by_who_starts_none() {
    let program = Program::new();
    let old = OtherEngine::start(&program.data_dir(), "0.0.9", true);
    let problem = try_client(&program.data_dir(), "test").await.unwrap_err();
    assert_eq!(problem.code, ErrorCode::VersionMismatch);
    assert_eq!(old.heard.await.unwrap(), []);
}

#[tokio::test]
async fn an_engine_that_hangs_is_named_with_what_to_do() {
    let program = Program::new();
    let hung = OtherEngine::start(&program.data_dir(), "0.1.0", false);
    let connected = tokio::time::timeout(PATIENCE, Client::connect(&program.options(), &|_| {})).await;
    let problem = connected.expect("no client hangs").unwrap_err();
    assert_eq!(problem.code, ErrorCode::NoEngine);
    assert!(problem.message.contains(&format!("process {}", std::process::id())), "{problem}");
    assert!(problem.fix.iter().any(|fix| fix.contains("kill")), "{problem:?}");
    assert_eq!(program.starts(), 0);
    hung.heard.abort();
}

#[tokio::test]
async fn a_started_engine_serves_the_next_start_too() {
    let program = Program::new();
    start_detached(&program.path, &program.data_dir()).await.unwrap();
    start_detached(&program.path, &program.data_dir()).await.unwrap();
    let first = try_client(&program.data_dir(), "test").await.unwrap().engine().pid;
    assert!(is_alive(first));
    assert!(stop_engine(&program.data_dir(), "test", true).await.unwrap());
}

/// Where the foreign client that this test binary becomes finds the engine.
const FOREIGN: &str = "SIDETRACK_TEST_FOREIGN";

/// Speaks to an engine as another user, when told to.
#[test]
fn foreign_client_when_told() {
    use std::io::{Read as _, Write as _};

    let Some(socket) = std::env::var_os(FOREIGN) else { return };
    let mut stream = std::os::unix::net::UnixStream::connect(socket).unwrap();
    // It may already have hung up.
    let _ = stream.write_all(b"{\"protocol\":1,\"version\":\"0.1.0\",\"client\":\"foreign\"}\n{\"id\":1,\"call\":\"stop\"}\n");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    println!("answer: {}", String::from_utf8_lossy(&answer));
}

/// Needs the rights to become another user; elsewhere the folder's mode alone keeps others out.
#[tokio::test]
async fn another_users_process_is_turned_away_though_the_files_let_it_in() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // Not at its making: an engine in this process has set the umask to 077.
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o711)).unwrap();
    let data_dir = folder.path().join("data");
    let engine = TestEngine::start(EngineSetup { data_dir: Some(data_dir.clone()), ..setup() }).await;
    std::fs::set_permissions(&data_dir, std::fs::Permissions::from_mode(0o711)).unwrap();
    std::fs::set_permissions(socket_path(&data_dir), std::fs::Permissions::from_mode(0o666)).unwrap();
    let copy = folder.path().join("client");
    std::fs::copy(this_program(), &copy).unwrap();
    std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o755)).unwrap();
    let output = tokio::process::Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
        .arg(&copy)
        .args(["lifecycle::foreign_client_when_told", "--exact", "--nocapture"])
        .env(FOREIGN, socket_path(&data_dir))
        .output();
    let output = tokio::time::timeout(PATIENCE, output).await.expect("the foreign client ends").unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains(r#""code":"refused""#) && text.contains("another user"), "{text} {}", String::from_utf8_lossy(&output.stderr));
    assert!(!engine.has_ended());
    engine.stop().await;
}

//! One user's machine in a temporary folder, with the real `sidetrack` binary.

use std::ffi::OsStr;
use std::io::{Read, Write as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// Longest run of one command; one that takes longer hangs.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The `sidetrack` binary of this build: it lies beside the folder of the test programs.
///
/// # Panics
/// When it was not built.
#[must_use]
pub fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().and_then(Path::parent).unwrap();
    let program = folder.join("sidetrack");
    assert!(program.is_file(), "`{}` is not built: run the whole workspace's tests, or `cargo build --workspace`", program.display());
    program
}

/// A data directory, a home folder and scratch space. Its engine is ended when it is dropped.
#[derive(Debug)]
pub struct Machine {
    root: TempDir,
    /// User and group that commands run as, when not ours.
    user: Option<u32>,
    program: PathBuf,
}

/// How a command ended.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Exit code; -1 when a signal ended it.
    pub code: i32,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Default for Machine {
    fn default() -> Self {
        Self::new()
    }
}

impl Machine {
    /// A fresh machine.
    #[must_use]
    pub fn new() -> Self {
        let root = tempfile::Builder::new().prefix("sidetrack-e2e-").tempdir().unwrap();
        for folder in ["home", "work", "tmp"] {
            std::fs::create_dir(root.path().join(folder)).unwrap();
        }
        Self { root, user: None, program: program() }
    }

    /// A fresh machine whose user may not read everything: when the tests run as root, its
    /// commands run as the user that owns nothing (`nobody`).
    #[must_use]
    pub fn unprivileged() -> Self {
        /// `nobody` on every common system.
        const NOBODY: u32 = 65_534;
        let mut machine = Self::new();
        if rustix::process::getuid().is_root() {
            machine.user = Some(NOBODY);
            machine.give(machine.root.path());
            // The build folder may be closed to that user.
            let copy = machine.root.path().join("sidetrack");
            std::fs::copy(&machine.program, &copy).unwrap();
            machine.program = copy;
            for folder in ["home", "work", "tmp"] {
                machine.give(&machine.root.path().join(folder));
            }
        }
        machine
    }

    /// Makes a path the user's own.
    pub fn give(&self, path: &Path) {
        if let Some(user) = self.user {
            std::os::unix::fs::chown(path, Some(user), Some(user)).unwrap();
        }
    }

    /// Its data directory.
    #[must_use]
    pub fn data_dir(&self) -> PathBuf {
        self.root.path().join("data")
    }

    /// Scratch space.
    #[must_use]
    pub fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// Writes a file into the scratch space and returns its path.
    #[must_use]
    pub fn file(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        self.give(&path);
        path
    }

    /// `sidetrack ARGS` in the scratch space, nothing of the caller's environment but `PATH`.
    #[must_use]
    pub fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.root.path().join("home"))
            .env("TMPDIR", self.root.path().join("tmp"))
            .env("SIDETRACK_DATA_DIR", self.data_dir())
            .env("SIDETRACK_NOTIFICATIONS_ENABLED", "false")
            .env("LANG", "C.UTF-8")
            .current_dir(self.work())
            .stdin(Stdio::null());
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    /// Runs `sidetrack ARGS`.
    #[must_use]
    pub fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Ran {
        finish(self.command(args), None)
    }

    /// Runs `sidetrack ARGS` in `folder`.
    #[must_use]
    pub fn run_in<S: AsRef<OsStr>>(&self, folder: &Path, args: &[S]) -> Ran {
        let mut command = self.command(args);
        command.current_dir(folder);
        finish(command, None)
    }

    /// Runs `sidetrack ARGS` with `input` on standard input.
    #[must_use]
    pub fn pipe<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Ran {
        finish(self.command(args), Some(input.to_vec()))
    }

    /// Runs `sidetrack ARGS --json`, which must succeed, and returns its one object.
    #[must_use]
    pub fn json(&self, args: &[&str]) -> Value {
        let ran = self.run(&[args, &["--json"]].concat());
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
        ran.json()
    }

    /// Queues a review without waiting and returns its number.
    #[must_use]
    pub fn submit(&self, args: &[&str]) -> u64 {
        let ran = self.run(&[&["review"], args].concat());
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
        ran.stdout.trim().parse().unwrap_or_else(|_| panic!("no task number: {ran:?}"))
    }

    /// Waits until a task rests and returns it.
    #[must_use]
    pub fn rested(&self, number: u64) -> Value {
        let ran = self.run(&["watch", &number.to_string(), "--since", "0"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        self.json(&["show", &number.to_string()])
    }

    /// Starts an engine as a child of this process, so that a test can kill it.
    ///
    /// # Panics
    /// When it ends, or does not answer within [`PATIENCE`].
    #[must_use]
    pub fn serve(&self, args: &[&str]) -> Engine {
        let mut command = self.command(&[&["serve"], args].concat());
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut engine = Engine { child: command.spawn().unwrap() };
        let answers = wait_until(PATIENCE, || {
            if let Some(code) = engine.ended() {
                panic!("the engine ended with {code}: {}", engine.words());
            }
            self.engine_pid() == Some(engine.pid())
        });
        assert!(answers, "no engine answers");
        engine
    }

    /// Returns once an engine answers.
    pub fn wait_for_engine(&self) {
        assert!(wait_until(PATIENCE, || self.engine_pid().is_some()), "no engine answers");
    }

    /// The process id of the engine that answers, if one does.
    #[must_use]
    pub fn engine_pid(&self) -> Option<u32> {
        let mut stream = UnixStream::connect(self.data_dir().join("engine.sock")).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        let hello = serde_json::json!({
            "protocol": st_app::protocol::PROTOCOL, "version": env!("CARGO_PKG_VERSION"), "client": "test",
        });
        stream.write_all(format!("{hello}\n").as_bytes()).ok()?;
        let mut line = Vec::new();
        let mut byte = [0];
        while line.len() < 4096 && stream.read(&mut byte).ok()? == 1 && byte[0] != b'\n' {
            line.push(byte[0]);
        }
        let welcome: Value = serde_json::from_slice(&line).ok()?;
        u32::try_from(welcome["pid"].as_u64()?).ok()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if self.data_dir().join("engine.sock").exists() {
            // Whatever this says, the folder goes next; a test that cares asks before.
            let _ = finish_within(self.command(&["stop", "--now"]), None, Duration::from_secs(20));
        }
    }
}

impl Ran {
    /// Standard output as one JSON value.
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("stdout is not one JSON value ({error}): {self:?}"))
    }

    /// Standard output as one JSON value a line.
    ///
    /// # Panics
    /// When a line is none.
    #[must_use]
    pub fn lines(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
    }

    /// The error object on standard error.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn error(&self) -> Value {
        let line = self.stderr.lines().last().unwrap_or_default();
        let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("stderr ends in no JSON ({error}): {self:?}"));
        value["error"].clone()
    }
}

/// An engine that is a child of this process; killed when dropped.
#[derive(Debug)]
pub struct Engine {
    child: Child,
}

impl Engine {
    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as a crash would (SIGKILL).
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// What it said on standard error, once it has ended.
    fn words(&mut self) -> String {
        let mut words = String::new();
        if let Some(stderr) = self.child.stderr.as_mut() {
            let _ = stderr.read_to_string(&mut words);
        }
        words
    }

    /// Whether it has ended by itself, and with what code.
    #[must_use]
    pub fn ended(&mut self) -> Option<i32> {
        self.child.try_wait().unwrap().map(|status| status.code().unwrap_or(-1))
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a command to its end.
///
/// # Panics
/// When it takes longer than [`PATIENCE`].
#[must_use]
pub fn finish(command: Command, input: Option<Vec<u8>>) -> Ran {
    let words = format!("{command:?}");
    finish_within(command, input, PATIENCE).unwrap_or_else(|| panic!("hung for {PATIENCE:?}: {words}"))
}

/// Runs a command to its end; `None` when it had to be killed.
#[must_use]
pub fn finish_within(mut command: Command, input: Option<Vec<u8>>, patience: Duration) -> Option<Ran> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    if input.is_some() {
        command.stdin(Stdio::piped());
    }
    let mut child = command.spawn().unwrap();
    if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
        // The command may refuse before it has read all; that is its right.
        std::thread::spawn(move || stdin.write_all(&input));
    }
    let stdout = read_all(child.stdout.take().unwrap());
    let stderr = read_all(child.stderr.take().unwrap());
    let Ok(out) = stdout.recv_timeout(patience) else {
        child.kill().unwrap();
        child.wait().unwrap();
        return None;
    };
    let err = stderr.recv_timeout(patience).unwrap_or_default();
    let status = child.wait().unwrap();
    Some(Ran { code: status.code().unwrap_or(-1), stdout: text(&out), stderr: text(&err) })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn read_all(mut from: impl Read + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    });
    receiver
}

/// Asks again and again until `condition` holds; false when it never did.
pub fn wait_until(patience: Duration, mut condition: impl FnMut() -> bool) -> bool {
    /// Between two looks.
    const PAUSE: Duration = Duration::from_millis(10);
    let (_keep, never) = mpsc::channel::<()>();
    for _ in 0..patience.as_millis().div_ceil(PAUSE.as_millis()) {
        if condition() {
            return true;
        }
        let _ = never.recv_timeout(PAUSE);
    }
    condition()
}

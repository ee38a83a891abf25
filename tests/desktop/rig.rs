//! A desktop to test in: an X server, a window manager, a session bus and a WebDriver, all ours.

use std::future::Future;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::json;
use tempfile::TempDir;

/// Longest wait for anything here. It only bounds a failing test; a passing one never waits it out.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A child that is killed with its group when dropped.
pub(crate) struct Owned(Child);

impl Drop for Owned {
    fn drop(&mut self) {
        // Both fail only when it is gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Owned {
    /// Ends it at once, as a crash would.
    pub(crate) fn crash(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// Whether it has ended, and how.
    pub(crate) fn ended(&mut self) -> Option<std::process::ExitStatus> {
        self.0.try_wait().unwrap()
    }
}

/// One desktop at a time: each is a whole X server, browser engine and engine of ours.
static TURN: tokio::sync::Semaphore = tokio::sync::Semaphore::const_new(1);

/// The desktop. Dropping it ends all of it.
pub(crate) struct Desktop {
    pub(crate) display: String,
    pub(crate) bus: String,
    pub(crate) home: TempDir,
    driver_port: u16,
    _children: Vec<Owned>,
    _turn: tokio::sync::SemaphorePermit<'static>,
}

/// Starts `command` and returns it with the first line it writes to stdout.
fn first_line(command: &mut Command) -> (Owned, String) {
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = Owned(
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("`{program}` is needed for the desktop suite: {error}")),
    );
    let stdout = child.0.stdout.take().unwrap();
    let (told, heard) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if told.send(line).is_err() {
                // Nobody reads on; keep the pipe drained so that the child can't block on it.
            }
        }
    });
    let line = heard.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("`{program}` said nothing"));
    (child, line)
}

impl Desktop {
    /// Starts everything and waits until it answers.
    pub(crate) async fn start() -> Self {
        let turn = TURN.acquire().await.unwrap();
        let home = tempfile::Builder::new().prefix("sidetrack-desktop-").tempdir().unwrap();
        for dir in ["data", "config", "cache", "run"] {
            std::fs::create_dir(home.path().join(dir)).unwrap();
        }
        std::fs::set_permissions(home.path().join("run"), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        let (x, display) = first_line(
            Command::new("Xvfb").args(["-displayfd", "1", "-screen", "0", "1600x900x24", "-nolisten", "tcp"]).stderr(Stdio::null()),
        );
        let display = format!(":{display}");
        let (dbus, bus) =
            first_line(Command::new("dbus-daemon").args(["--session", "--print-address", "--nofork", "--nopidfile"]).stderr(Stdio::null()));
        let mut desktop = Self { display, bus, home, driver_port: free_port(), _children: vec![x, dbus], _turn: turn };
        let log = std::fs::File::create(desktop.home.path().join("driver.log")).unwrap();
        let port = format!("--port={}", desktop.driver_port);
        let driver = desktop.command("WebKitWebDriver").arg(port).stdout(log.try_clone().unwrap()).stderr(log).spawn().map(Owned).unwrap();
        desktop._children.push(driver);
        until("the WebDriver listens", || async {
            tokio::net::TcpStream::connect(("127.0.0.1", desktop.driver_port)).await.is_ok().then_some(())
        })
        .await;
        // An X server that has just named its display may still turn the first client away.
        let openbox = std::cell::RefCell::new(desktop.window_manager());
        until("the window manager manages", || async {
            if openbox.borrow_mut().ended().is_some() {
                openbox.replace(desktop.window_manager());
            }
            desktop.output("wmctrl", &["-m"]).filter(|said| said.contains("Openbox"))
        })
        .await;
        let openbox = openbox.into_inner();
        desktop._children.push(openbox);
        desktop
    }

    fn window_manager(&self) -> Owned {
        self.command("openbox").stdout(Stdio::null()).stderr(Stdio::null()).spawn().map(Owned).unwrap()
    }

    /// A command in this desktop's environment and no other.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        let home = self.home.path();
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("LANG", "C.UTF-8")
            .env("HOME", home)
            .env("DISPLAY", &self.display)
            .env("DBUS_SESSION_BUS_ADDRESS", &self.bus)
            .env("XDG_DATA_HOME", home.join("data"))
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_CACHE_HOME", home.join("cache"))
            .env("XDG_RUNTIME_DIR", home.join("run"))
            .env("GDK_BACKEND", "x11")
            .env("NO_AT_BRIDGE", "1")
            .env("TAURI_WEBVIEW_AUTOMATION", "true")
            .stdin(Stdio::null());
        command
    }

    /// What a short command prints, if it succeeds.
    pub(crate) fn output(&self, program: &str, args: &[&str]) -> Option<String> {
        let out = self.command(program).args(args).output().ok()?;
        out.status.success().then(|| String::from_utf8_lossy(&out.stdout).into_owned())
    }

    /// Runs a short command that must succeed.
    #[track_caller]
    pub(crate) fn run(&self, program: &str, args: &[&str]) -> String {
        self.output(program, args).unwrap_or_else(|| panic!("{program} {args:?} failed"))
    }

    /// Opens the window as a user does, without a WebDriver.
    pub(crate) fn launch(&self, args: &[&str]) -> Owned {
        self.command(binary("sidetrack-desktop")).args(args).env_remove("TAURI_WEBVIEW_AUTOMATION").spawn().map(Owned).unwrap()
    }

    /// Whether a window of ours is on the screen.
    pub(crate) fn is_visible(&self) -> bool {
        self.output("xdotool", &["search", "--onlyvisible", "--name", "^Sidetrack$"]).is_some()
    }

    /// Opens the window under the WebDriver.
    pub(crate) async fn open(&self, args: &[&str]) -> Client {
        let capabilities = json!({ "webkitgtk:browserOptions": { "binary": binary("sidetrack-desktop"), "args": args } });
        let serde_json::Value::Object(capabilities) = capabilities else { unreachable!("it is an object") };
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities)
            .connect(&format!("http://127.0.0.1:{}", self.driver_port))
            .await
            .unwrap_or_else(|error| {
                panic!(
                    "the window did not open: {error}\n{}",
                    std::fs::read_to_string(self.home.path().join("driver.log")).unwrap_or_default()
                )
            });
        until("the UI has drawn", || async { client.find(fantoccini::Locator::Css("#app > *")).await.ok() }).await;
        client
    }

    /// Runs the command line against the window's data directory and reads what it prints as JSON lines.
    pub(crate) fn sidetrack(&self, args: &[&str]) -> Vec<serde_json::Value> {
        let out = self.command(binary("sidetrack")).args(args).arg("--json").output().unwrap();
        let text = String::from_utf8(out.stdout).unwrap();
        serde_json::Deserializer::from_str(&text)
            .into_iter()
            .collect::<Result<_, _>>()
            .unwrap_or_else(|error| panic!("{args:?} printed no JSON ({error}): {text}"))
    }

    /// The window's X id.
    pub(crate) async fn window_id(&self) -> String {
        until("the window is mapped", || async {
            let found = self.output("xdotool", &["search", "--onlyvisible", "--name", "^Sidetrack$"])?;
            found.lines().next().map(str::to_owned)
        })
        .await
    }

    /// A window to drag from, at the right edge of the screen.
    pub(crate) fn drag_source(&self, kind: &str, values: &[&str]) -> DragSource {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("desktop/drag_source.py");
        // Debian's own Python: the one that python3-gi is installed for.
        let (child, ready) = {
            let mut command = self.command("/usr/bin/python3");
            command.arg(script).arg(kind).args(values);
            first_line(&mut command)
        };
        assert_eq!(ready, "ready");
        self.run("wmctrl", &["-r", "drag source", "-e", "0,1400,300,160,120"]);
        DragSource { _child: child }
    }

    /// Drags from the source to the middle of the window, as a hand would.
    pub(crate) fn drag_into_window(&self) {
        let mut script = String::from("mousemove 1480 360 sleep 0.2 mousedown 1 ");
        for step in 1..=20 {
            let x = 1480 - step * 40;
            script.push_str(&format!("mousemove {x} 400 sleep 0.02 "));
        }
        self.run("xdotool", &script.split_whitespace().collect::<Vec<_>>());
    }

    /// Lets go.
    pub(crate) fn release(&self) {
        self.run("xdotool", &["mouseup", "1"]);
    }
}

/// Keeps a picture of the window's content as `artifacts/desktop/NAME.png`.
pub(crate) async fn picture(client: &Client, name: &str) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("artifacts/desktop");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join(format!("{name}.png")), client.screenshot().await.unwrap()).unwrap();
}

/// The window dragged from.
pub(crate) struct DragSource {
    _child: Owned,
}

fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

/// A binary beside the test's own.
pub(crate) fn binary(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.ancestors().nth(2).unwrap().join(name);
    assert!(path.exists(), "`{}` is missing: run `make build` first", path.display());
    path
}

/// Asks again and again until there is an answer.
pub(crate) async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut ask: impl FnMut() -> F) -> T {
    let mut tick = tokio::time::interval(Duration::from_millis(25));
    let asking = async {
        loop {
            tick.tick().await;
            if let Some(answer) = ask().await {
                return answer;
            }
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.unwrap_or_else(|_| panic!("waited in vain until {what}"))
}

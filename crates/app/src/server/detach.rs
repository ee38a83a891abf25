//! Starting an engine that outlives whoever started it.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};

use crate::client::answers;
use crate::data_dir::{absolute, prepare_data_dir};
use crate::{ErrorCode, Problem};

/// Set for a process that [`start_detached`] started: it leaves its starter's session, and when
/// another engine turns out to be there already, that is as good as its own.
pub(super) const DETACHED: &str = "SIDETRACK_DETACHED";

/// Arguments that make the program an engine which ends by itself when there is nothing to do.
const SERVE: [&str; 3] = ["serve", "--idle-exit", "10m"];

/// Longest wait for a started engine's first answer.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// Between two looks at whether it answers.
const LOOK_EVERY: Duration = Duration::from_millis(15);

/// Size above which the start-up log begins anew.
const START_LOG_BYTES: u64 = 1 << 20;

/// Starts `program --data-dir DIR serve --idle-exit 10m` in a session of its own and returns once
/// its socket answers, or with what it said on stderr. When several are started at once, one
/// wins and all return.
///
/// # Errors
/// `no_engine` with the reason.
pub async fn start_detached(program: &Path, data_dir: &Path) -> Result<(), Problem> {
    start_detached_with(program, data_dir, &SERVE).await
}

/// [`start_detached`] with other arguments after `--data-dir DIR`; the first is `serve`.
///
/// # Errors
/// `no_engine` with the reason.
pub async fn start_detached_with(program: &Path, data_dir: &Path, args: &[&str]) -> Result<(), Problem> {
    let data_dir = &absolute(data_dir)?;
    prepare_data_dir(data_dir)?;
    let log = StartLog::open(data_dir)?;
    let failed = |why: String| {
        Problem::refused(ErrorCode::NoEngine, why, "Run `sidetrack doctor`.").or(format!("Look into `{}`.", log.path.display()))
    };
    let mut child = Command::new(program)
        .arg("--data-dir")
        .arg(data_dir)
        .args(args)
        .env(DETACHED, "1")
        .current_dir(data_dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log.writer()?)
        .spawn()
        .map_err(|error| failed(format!("The engine `{}` did not start: {error}", program.display())))?;

    let deadline = Instant::now() + START_TIMEOUT;
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut running = true;
    loop {
        tokio::select! {
            biased;
            ended = child.wait(), if running => match ended {
                // Another engine is there; it may still be opening its socket.
                Ok(status) if status.success() => running = false,
                Ok(status) => return Err(failed(log.since_start().unwrap_or_else(|| format!("The engine ended at once ({status})")))),
                Err(error) => return Err(failed(format!("The engine could not be watched: {error}"))),
            },
            _ = looks.tick() => {}
        }
        if matches!(timeout_at(deadline, answers(data_dir)).await, Ok(true)) {
            return Ok(());
        }
        if Instant::now() >= deadline {
            let who = child.id().map_or_else(|| "The engine".to_owned(), |pid| format!("The engine (process {pid})"));
            return Err(failed(format!("{who} was started and does not answer")));
        }
    }
}

/// Where a starting engine's stderr goes.
struct StartLog {
    path: std::path::PathBuf,
    file: File,
    from: u64,
}

impl StartLog {
    fn open(data_dir: &Path) -> Result<Self, Problem> {
        use std::os::unix::fs::OpenOptionsExt as _;

        let path = data_dir.join("logs").join("start.log");
        let open = || {
            let file = File::options().append(true).read(true).create(true).mode(0o600).open(&path)?;
            if file.metadata()?.len() > START_LOG_BYTES {
                file.set_len(0)?;
            }
            let from = file.metadata()?.len();
            std::io::Result::Ok((file, from))
        };
        let (file, from) = open().map_err(|error| {
            Problem::refused(
                ErrorCode::NoEngine,
                format!("`{}` can't be written: {error}", path.display()),
                "Look at the rights of the data directory.",
            )
        })?;
        Ok(Self { path, file, from })
    }

    fn writer(&self) -> Result<Stdio, Problem> {
        self.file
            .try_clone()
            .map(Stdio::from)
            .map_err(|error| Problem::refused(ErrorCode::NoEngine, format!("No more files can be opened: {error}"), "Close some programs."))
    }

    /// The first lines that were written since it was opened, at most 2,000 bytes of them.
    fn since_start(&self) -> Option<String> {
        let mut file = File::open(&self.path).ok()?;
        file.seek(SeekFrom::Start(self.from)).ok()?;
        let mut bytes = Vec::new();
        file.take(2000).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes).trim().to_owned();
        (!text.is_empty()).then_some(text)
    }
}

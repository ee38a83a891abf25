//! `sidetrack serve` and `sidetrack stop`.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use st_app::client::stop_engine;
use st_app::protocol::{Call, Reply};
use st_app::server::{self, ServeOptions};
use st_app::{ErrorCode, Problem};
use tracing_appender::non_blocking::WorkerGuard;
use tracing_appender::rolling::{RollingFileAppender, Rotation};
use tracing_subscriber::EnvFilter;

use super::{Outcome, block_on, reply_name, unexpected};
use crate::context::Context;
use crate::error::CliError;
use crate::exit;

/// Between two looks at whether a stopped engine is gone, and how many there are: 10 s in all.
const LOOK_AGAIN: Duration = Duration::from_millis(25);
const MOST_LOOKS: usize = 400;

/// Said of an engine that was there.
const ENDED: &str = "The engine has ended. Waiting tasks stay queued.";

/// Days of engine log that are kept.
const LOG_DAYS: usize = 5;

/// Runs the engine until it is told to end.
pub(super) fn serve(context: &Context, slots: Option<u16>, detach: bool, idle_exit: Option<Duration>) -> Outcome {
    let data_dir = context.data_dir()?;
    let program = context.program()?;
    if detach {
        return block_on(detached(context, &data_dir, &program, slots, idle_exit));
    }
    let _guard = log_to(&data_dir)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("sidetrack-engine").build().map_err(|source| {
            engine_problem(format!("The engine could not start: {source}"), "Close some programs, then start it again.")
        })?;
    let slots = slots.map(usize::from);
    runtime.block_on(server::serve(ServeOptions { data_dir, slots, idle_exit, program }))?;
    Ok(exit::DONE)
}

async fn detached(context: &Context, data_dir: &Path, program: &Path, slots: Option<u16>, idle_exit: Option<Duration>) -> Outcome {
    let slots = slots.map(|slots| format!("--slots={slots}"));
    let idle_exit = idle_exit.map(|idle| format!("--idle-exit={}s", idle.as_secs()));
    let arguments: Vec<&str> = ["serve"].into_iter().chain(slots.as_deref()).chain(idle_exit.as_deref()).collect();
    server::start_detached_with(program, data_dir, &arguments).await?;
    if context.output.is_json() {
        context.output.json(&json!({"engine": true, "data_dir": data_dir.to_string_lossy()}))?;
    } else {
        context.output.line("The engine runs in the background. End it with `sidetrack stop`.")?;
    }
    Ok(exit::DONE)
}

/// Sends the engine's own log to `logs/engine.DATE.log`, one file a day, five kept.
fn log_to(data_dir: &Path) -> Result<WorkerGuard, Problem> {
    let folder = data_dir.join("logs");
    let unusable = |words: String| engine_problem(words, "Make the data directory writable, or choose another with `--data-dir`.");
    make_private(data_dir)
        .and_then(|()| make_private(&folder))
        .map_err(|source| unusable(format!("`{}` can't be made: {source}", folder.display())))?;
    let appender = RollingFileAppender::builder()
        .rotation(Rotation::DAILY)
        .filename_prefix("engine")
        .filename_suffix("log")
        .max_log_files(LOG_DAYS)
        .build(&folder)
        .map_err(|source| unusable(format!("The engine's log in `{}` can't be opened: {source}", folder.display())))?;
    let (writer, guard) = tracing_appender::non_blocking(appender);
    let filter = EnvFilter::try_from_env("SIDETRACK_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).with_ansi(false).with_target(true).init();
    Ok(guard)
}

fn make_private(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn engine_problem(message: String, fix: &str) -> Problem {
    Problem::refused(ErrorCode::NoEngine, message, fix)
}

/// Ends the engine and waits until it is gone.
pub(super) async fn stop(context: &Context, now: bool) -> Outcome {
    let client = match context.connect_running().await {
        Ok(client) => client,
        Err(problem) if problem.code == ErrorCode::NoEngine => return stopped(context, "No engine runs."),
        // To end it is the way out of that, whatever its version.
        Err(problem) if problem.code == ErrorCode::VersionMismatch => {
            context.output.note(&format!("{}; it is asked to end.", problem.message));
            stop_engine(&context.data_dir()?, "cli", now).await?;
            return stopped(context, ENDED);
        }
        Err(problem) => return Err(problem.into()),
    };
    // The stream ends when the engine does.
    let mut stream = client.subscribe(None, None, false).await?;
    let running = stream.snapshot.status.running;
    match client.call(Call::Stop { now }).await? {
        Reply::Ok | Reply::Status(_) => {}
        other => return Err(CliError::Problem(unexpected(reply_name(&other)))),
    }
    if running > 0 && !now {
        let tasks = if running == 1 { "the running task".to_owned() } else { format!("{running} running tasks") };
        context.output.note(&format!("Waiting for {tasks} to finish. `sidetrack stop --now` puts them back in the queue instead."));
    }
    while stream.updates.recv().await.is_some() {}
    // Its last steps come after the stream: the command that follows must not meet an engine on
    // its way out. One that somebody else started meanwhile is none of ours.
    let mut again = tokio::time::interval(LOOK_AGAIN);
    for _ in 0..MOST_LOOKS {
        again.tick().await;
        match context.connect_running().await {
            Ok(client) if client.call(Call::Status).await.map_or(true, |reply| is_stopping(&reply)) => {}
            Err(problem) if problem.code != ErrorCode::NoEngine => {}
            Ok(_) | Err(_) => break,
        }
    }
    stopped(context, ENDED)
}

fn is_stopping(reply: &Reply) -> bool {
    matches!(reply, Reply::Status(status) if status.stopping)
}

fn stopped(context: &Context, words: &str) -> Outcome {
    if context.output.is_json() {
        context.output.json(&json!({"engine": false}))?;
    } else {
        context.output.line(words)?;
    }
    Ok(exit::DONE)
}

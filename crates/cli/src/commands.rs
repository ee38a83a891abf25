//! One module a group of verbs.

mod config;
mod doctor;
mod engine;
mod findings;
mod list;
mod logs;
mod manual;
mod review;
mod show;
mod status;
mod task;
mod wait;
mod watch;

use st_app::protocol::{Call, Reply};
use st_app::{ErrorCode, Problem};

use crate::args::Verb;
use crate::context::Context;
use crate::error::CliError;

/// How a command ends: the exit code, or why it ended early.
pub(crate) type Outcome = Result<u8, CliError>;

/// Runs what the arguments ask for.
pub(crate) fn run(context: &Context, verb: Verb) -> Outcome {
    match verb {
        Verb::Completions { shell } => manual::completions(context, shell),
        Verb::Man { dir } => manual::man(context, dir.as_deref()),
        Verb::Serve { slots, detach, idle_exit } => engine::serve(context, slots, detach, idle_exit),
        other => block_on(client_verb(context, other)),
    }
}

async fn client_verb(context: &Context, verb: Verb) -> Outcome {
    match verb {
        Verb::Review(arguments) => review::review(context, arguments).await,
        Verb::List { state, limit } => list::list(context, &state, limit).await,
        Verb::Show { task } => show::show(context, task.id).await,
        Verb::Watch { task, since } => watch::watch(context, task, since).await,
        Verb::Logs { task, follow, attempt, tail } => logs::logs(context, task.id, follow, attempt, tail).await,
        Verb::Findings { task, format } => findings::findings(context, task.id, format).await,
        Verb::Cancel { task, now } => task::cancel(context, task.id, now).await,
        Verb::Retry { task } => task::retry(context, task.id).await,
        Verb::Priority { task, level } => task::priority(context, task.id, level).await,
        Verb::Pause => task::pause(context, true).await,
        Verb::Resume => task::pause(context, false).await,
        Verb::Status { line } => status::status(context, line).await,
        Verb::Stop { now } => engine::stop(context, now).await,
        Verb::Doctor => doctor::doctor(context).await,
        Verb::Config { verb } => config::config(context, verb).await,
        Verb::Completions { .. } | Verb::Man { .. } | Verb::Serve { .. } => Err(unexpected("a command without a client").into()),
    }
}

/// Runs a client's future. One thread is enough for it, and starts faster than many.
fn block_on(future: impl Future<Output = Outcome>) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|source| {
        Problem::refused(ErrorCode::Internal, format!("The command could not start: {source}"), "Close some programs, then run it again.")
    })?;
    let outcome = runtime.block_on(future);
    // A read of standard input may still be waiting; it must not hold up the exit.
    runtime.shutdown_background();
    outcome
}

/// The engine answered with something else than asked for.
fn unexpected(what: &str) -> Problem {
    Problem::no_change(
        ErrorCode::Internal,
        format!("The engine's answer was not understood ({what})"),
        "Run `sidetrack stop`, then the command again.",
    )
}

/// One request whose answer has to be of one kind.
macro_rules! ask {
    ($client:expr, $call:expr, $reply:ident) => {
        match $client.call($call).await? {
            st_app::protocol::Reply::$reply(body) => Ok::<_, st_app::Problem>(body),
            other => Err($crate::commands::unexpected($crate::commands::reply_name(&other))),
        }
    };
}
pub(crate) use ask;

/// A task as it is now, ledger included.
async fn shown(client: &st_app::client::Client, task: String) -> Result<st_app::dto::TaskDto, Problem> {
    ask!(client, Call::Show { task }, Task).map(|task| *task)
}

/// What an answer is called.
fn reply_name(reply: &Reply) -> &'static str {
    match reply {
        Reply::Task(_) => "a task",
        Reply::Tasks(_) => "tasks",
        Reply::Findings(_) => "findings",
        Reply::Coverage(_) => "a ledger",
        Reply::Log(_) => "a log",
        Reply::Items(_) => "items",
        Reply::Status(_) => "a status",
        Reply::Snapshot(_) => "a snapshot",
        Reply::Update(_) => "an update",
        Reply::Settings(_) => "settings",
        Reply::Checks(_) => "checks",
        Reply::Ok => "nothing",
        Reply::Error(_) => "an error",
    }
}

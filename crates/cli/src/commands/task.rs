//! Verbs that act on one task or hold all of them.

use st_app::dto::{StateDto, TaskDto};
use st_app::export::visible;
use st_app::protocol::{Call, Reply};

use super::{Outcome, ask, reply_name, review, shown, unexpected};
use crate::args::Level;
use crate::context::Context;
use crate::exit;

/// Cancels a task.
pub(super) async fn cancel(context: &Context, task: String, now: bool) -> Outcome {
    let client = context.connect().await?;
    let task = *ask!(client, Call::Cancel { task, now }, Task)?;
    let words = match task.state {
        StateDto::Cancelled => format!("Cancelled #{}: {}. No file was changed.", task.number, visible(&task.title)),
        _ => format!(
            "Stopping #{}: {}. It is cancelled once its processes have ended; no file is changed.",
            task.number,
            visible(&task.title)
        ),
    };
    said(context, &task, &words)
}

/// Runs a task again as a new one.
pub(super) async fn retry(context: &Context, task: String) -> Outcome {
    let client = context.connect().await?;
    let task = *ask!(client, Call::Retry { task }, Task)?;
    review::submitted(context, &task)?;
    Ok(exit::DONE)
}

/// Changes a task's urgency.
pub(super) async fn priority(context: &Context, task: String, level: Level) -> Outcome {
    let client = context.connect().await?;
    let call = Call::Priority { task: task.clone(), priority: level.word() };
    let task = match client.call(call).await? {
        Reply::Task(task) => *task,
        Reply::Ok => shown(&client, task).await?,
        other => return Err(unexpected(reply_name(&other)).into()),
    };
    said(context, &task, &format!("#{} has priority {} now.", task.number, task.priority))
}

/// Holds new tasks, or lets them go.
pub(super) async fn pause(context: &Context, paused: bool) -> Outcome {
    let client = context.connect().await?;
    let status = match client.call(Call::Pause { paused }).await? {
        Reply::Status(status) => status,
        Reply::Ok => ask!(client, Call::Status, Status)?,
        other => return Err(unexpected(reply_name(&other)).into()),
    };
    if context.output.is_json() {
        context.output.json(&status)?;
    } else if paused {
        context.output.line("Paused: new tasks are queued and wait. Release them with `sidetrack resume`.")?;
    } else {
        context.output.line("Resumed: waiting tasks begin as slots are free.")?;
    }
    Ok(exit::DONE)
}

fn said(context: &Context, task: &TaskDto, words: &str) -> Outcome {
    if context.output.is_json() {
        context.output.json(task)?;
    } else {
        context.output.line(words)?;
    }
    Ok(exit::DONE)
}

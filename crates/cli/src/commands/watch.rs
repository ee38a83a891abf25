//! `sidetrack watch`: the event stream, across restarts of the engine.

use std::time::Duration;

use st_app::Problem;
use st_app::client::{Client, Subscription};
use st_app::dto::{EventDto, TaskDto};

use super::{Outcome, shown};
use crate::context::Context;
use crate::error::CliError;
use crate::exit;
use crate::render::{event, is_at_rest, state_word};

/// How often an engine that went away is looked for.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// How long the rest of a finished task's events may take to come.
const REPLAY: Duration = Duration::from_secs(2);

/// Prints events; with a task, until it comes to rest.
pub(super) async fn watch(context: &Context, task: Option<String>, since: Option<u64>) -> Outcome {
    let mut client = context.connect().await?;
    let number = match &task {
        Some(task) => Some(shown(&client, task.clone()).await?.number),
        None => None,
    };
    let mut since = since;
    loop {
        if let Ok(mut subscription) = client.subscribe(since, number.map(|number| number.to_string()), false).await
            && stream(context, &mut subscription, number, &mut since).await?
        {
            return Ok(exit::DONE);
        }
        context.output.note("The engine is gone; the stream goes on when one runs again.");
        client = come_back(context).await?;
    }
}

/// Prints until the task rests (true) or the engine is gone (false).
async fn stream(
    context: &Context,
    subscription: &mut Subscription,
    number: Option<u64>,
    since: &mut Option<u64>,
) -> Result<bool, CliError> {
    let resting = resting(subscription, number).cloned();
    if let (Some(task), None) = (&resting, *since) {
        say_rest(context, task)?;
        return Ok(true);
    }
    since.get_or_insert(subscription.snapshot.seq);
    loop {
        // What a resting task has left to tell is in the store already and comes at once; when
        // nothing comes, the last event was before `since`.
        let update = match &resting {
            Some(task) => match tokio::time::timeout(REPLAY, subscription.updates.recv()).await {
                Ok(update) => update,
                Err(_) => {
                    say_rest(context, task)?;
                    return Ok(true);
                }
            },
            None => subscription.updates.recv().await,
        };
        let Some(update) = update else { return Ok(false) };
        let mut rested = false;
        for event in update.events.iter().filter(|event| number.is_none_or(|number| number == event.task)) {
            print(context, event)?;
            rested |= number.is_some() && event.kind == "settled";
        }
        *since = Some(update.seq.max(since.unwrap_or(0)));
        if rested {
            return Ok(true);
        }
    }
}

fn resting(subscription: &Subscription, number: Option<u64>) -> Option<&TaskDto> {
    let number = number?;
    subscription.snapshot.tasks.iter().find(|task| task.number == number && is_at_rest(task.state))
}

fn say_rest(context: &Context, task: &TaskDto) -> Result<(), CliError> {
    if context.output.is_json() {
        return Ok(());
    }
    context.output.line(&format!("#{} is {} already. See `sidetrack show {}`.", task.number, state_word(task), task.number))
}

fn print(context: &Context, event: &EventDto) -> Result<(), CliError> {
    if context.output.is_json() {
        return context.output.json(event);
    }
    match event::line(event, &context.output.look()) {
        Some(line) => context.output.line(&line),
        None => Ok(()),
    }
}

/// Waits until an engine runs again. A watcher starts none: whoever stopped it may have meant it.
async fn come_back(context: &Context) -> Result<Client, Problem> {
    let mut again = tokio::time::interval(LOOK_AGAIN);
    loop {
        again.tick().await;
        if let Ok(client) = context.connect_running().await {
            return Ok(client);
        }
    }
}

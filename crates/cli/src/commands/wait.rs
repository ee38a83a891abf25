//! Staying with a task until it comes to rest: progress and findings on a terminal, silence
//! otherwise, and the result at the end.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use st_app::client::{Client, Subscription};
use st_app::dto::{EventDto, FindingDto, ProgressDto, TaskDto, UpdateDto};
use st_app::export::text::{self, Look};
use st_app::export::visible;
use st_app::protocol::Call;
use st_app::{ErrorCode, Problem};

use super::{Outcome, ask, findings, review, shown};
use crate::args::Severity;
use crate::context::Context;
use crate::error::CliError;
use crate::exit;
use crate::render::is_at_rest;

/// How long after the first Ctrl-C a second one cancels.
const SECOND_THOUGHT: Duration = Duration::from_secs(2);

/// How long an engine that went away is given to come back.
const PATIENCE: Duration = Duration::from_secs(30);

enum Next {
    Rested,
    Gone { stopping: bool },
    Interrupted,
}

/// Waits for `task`, prints its result and returns the code that it deserves.
pub(super) async fn wait(context: &Context, client: Client, task: TaskDto, fail_on: Severity) -> Outcome {
    if !context.output.is_json() {
        review::submitted(context, &task)?;
    }
    let number = task.number;
    let mut client = client;
    let mut view = View::new(context, &task);
    let mut since = 0;
    loop {
        let mut subscription = client.subscribe(Some(since), Some(number.to_string()), false).await?;
        match follow(&mut subscription, number, &mut since, &mut view).await? {
            Next::Rested => break,
            Next::Interrupted => return interrupted(context, &client, number, view).await,
            Next::Gone { stopping: true } => {
                view.clear();
                return Err(gone(number, "was stopped").into());
            }
            Next::Gone { stopping: false } => {
                // It crashed or was replaced; the task is in its queue. An engine brings it on.
                let again = tokio::time::timeout(PATIENCE, context.connect()).await;
                client = again.map_err(|_| gone(number, "went away and did not come back"))??;
            }
        }
    }
    view.clear();
    finish(context, &client, number, fail_on, view.streamed).await
}

/// Reads the stream until the task rests, the engine goes or the user presses Ctrl-C.
async fn follow(subscription: &mut Subscription, number: u64, since: &mut u64, view: &mut View<'_>) -> Result<Next, CliError> {
    let snapshot = &subscription.snapshot;
    let now = snapshot.tasks.iter().find(|task| task.number == number);
    // Whatever was found is in the result; there is nothing to wait for.
    if now.is_some_and(|task| is_at_rest(task.state)) {
        return Ok(Next::Rested);
    }
    let mut stopping = snapshot.status.stopping;
    loop {
        let update = tokio::select! {
            update = subscription.updates.recv() => update,
            _ = tokio::signal::ctrl_c() => return Ok(Next::Interrupted),
        };
        let Some(update) = update else { return Ok(Next::Gone { stopping }) };
        stopping = update.status.as_ref().map_or(stopping, |status| status.stopping);
        *since = (*since).max(update.seq);
        if view.take(&update, number)? {
            return Ok(Next::Rested);
        }
    }
}

/// First Ctrl-C: the task goes on without us. A second one soon after cancels it.
async fn interrupted(context: &Context, client: &Client, number: u64, mut view: View<'_>) -> Outcome {
    view.clear();
    context
        .output
        .note(&format!("Detached: #{number} goes on. Come back with `sidetrack watch {number}`; press Ctrl-C again now to cancel it."));
    let again = tokio::time::timeout(SECOND_THOUGHT, tokio::signal::ctrl_c()).await;
    if again.is_err() {
        if context.output.is_json() {
            context.output.json(&shown(client, number.to_string()).await?)?;
        }
        return Ok(exit::DONE);
    }
    let task = *ask!(client, Call::Cancel { task: number.to_string(), now: false }, Task)?;
    context.output.note(&format!("Cancelling #{number}. No file was changed."));
    if context.output.is_json() {
        context.output.json(&task)?;
    }
    Ok(exit::CANCELLED)
}

async fn finish(context: &Context, client: &Client, number: u64, fail_on: Severity, streamed: bool) -> Outcome {
    let task = shown(client, number.to_string()).await?;
    if context.output.is_json() {
        context.output.json(&task)?;
        return Ok(exit::of_task(&task, fail_on));
    }
    if streamed {
        context.output.line("")?;
    }
    context.output.raw(&findings::as_text(context, client, &task).await?)?;
    Ok(exit::of_task(&task, fail_on))
}

fn gone(number: u64, how: &str) -> Problem {
    Problem {
        code: ErrorCode::EngineStopped,
        message: format!("The engine {how} while #{number} was waited for"),
        disk_effect: format!("#{number} stays in the queue with what it has found. No file was changed."),
        fix: vec![format!("Run `sidetrack watch {number}`; it starts the engine, and the task goes on.")],
    }
}

/// What somebody at the terminal sees meanwhile.
struct View<'a> {
    context: &'a Context,
    bar: Option<ProgressBar>,
    look: Look,
    /// Whether findings were printed as they came.
    streamed: bool,
}

impl<'a> View<'a> {
    fn new(context: &'a Context, task: &TaskDto) -> Self {
        let bar = context.output.is_terminal().then(|| {
            // Hidden by itself when stderr is no terminal.
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
                bar.set_style(style);
            }
            bar.set_message(format!("#{} is waiting for its turn", task.number));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        Self { context, bar, look: context.output.look(), streamed: false }
    }

    /// Takes a batch; true when the task has come to rest.
    fn take(&mut self, update: &UpdateDto, number: u64) -> Result<bool, CliError> {
        let mut rested = false;
        for event in update.events.iter().filter(|event| event.task == number) {
            rested |= event.kind == "settled";
            self.event(event)?;
        }
        Ok(rested)
    }

    fn event(&mut self, event: &EventDto) -> Result<(), CliError> {
        let Some(bar) = &self.bar else { return Ok(()) };
        match event.kind.as_str() {
            "progress" => {
                if let Ok(progress) = serde_json::from_value::<ProgressDto>(event.data["progress"].clone()) {
                    show_progress(bar, event.task, &progress);
                }
            }
            "finding" => {
                if let Ok(finding) = serde_json::from_value::<FindingDto>(event.data["finding"].clone()) {
                    let line = text::headline(&finding, &self.look);
                    self.streamed = true;
                    bar.suspend(|| self.context.output.line(&line))?;
                }
            }
            "phase_entered" => bar.set_message(format!("#{}: {}", event.task, event.data["phase"].as_str().unwrap_or("working"))),
            "retrying" => bar.set_message(format!("#{} will be tried again", event.task)),
            _ => {}
        }
        Ok(())
    }

    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn show_progress(bar: &ProgressBar, number: u64, progress: &ProgressDto) {
    if let Some(total) = progress.total
        && bar.length() != Some(total)
    {
        bar.set_length(total);
        if let Ok(style) = ProgressStyle::with_template("{spinner} [{bar:24}] {pos}/{len} {msg}") {
            bar.set_style(style.progress_chars("━╸─"));
        }
    }
    bar.set_position(progress.done);
    bar.set_message(format!("{} of #{number} · {}", visible(&progress.unit), visible(&progress.line)));
}

//! `sidetrack logs`.

use std::time::Duration;

use serde_json::json;
use st_app::client::Client;
use st_app::dto::LogPageDto;
use st_app::protocol::Call;

use super::{Outcome, ask, shown};
use crate::context::Context;
use crate::error::CliError;
use crate::exit;
use crate::render::is_at_rest;

/// Lines asked for at once.
const PAGE: u32 = 2_000;

/// How often a log that is followed is looked at when no event comes.
const LOOK_AGAIN: Duration = Duration::from_millis(300);

/// Prints an attempt's log.
pub(super) async fn logs(context: &Context, task: String, follow: bool, attempt: Option<u32>, tail: Option<u32>) -> Outcome {
    let client = context.connect().await?;
    let number = shown(&client, task).await?.number;
    let mut reader = Reader { context, client: &client, number, attempt, from: tail.map_or(0, |lines| -i64::from(lines)) };
    if tail == Some(0) {
        reader.skip_to_end().await?;
    }
    if !follow {
        reader.print_rest().await?;
        return Ok(exit::DONE);
    }
    let mut subscription = client.subscribe(None, Some(number.to_string()), false).await?;
    let mut rested = subscription.snapshot.tasks.iter().any(|task| task.number == number && is_at_rest(task.state));
    loop {
        // Asked before the log is read, so that what was written last is still printed.
        let last = rested;
        reader.print_rest().await?;
        if last {
            return Ok(exit::DONE);
        }
        match tokio::time::timeout(LOOK_AGAIN, subscription.updates.recv()).await {
            Ok(Some(update)) => rested |= update.events.iter().any(|event| event.task == number && event.kind == "settled"),
            // The engine is gone; the task's log ends here for now.
            Ok(None) => rested = true,
            Err(_) => {}
        }
    }
}

/// Reads a log page by page.
struct Reader<'a> {
    context: &'a Context,
    client: &'a Client,
    number: u64,
    attempt: Option<u32>,
    /// Byte offset to go on from; negative counts lines from the end.
    from: i64,
}

impl Reader<'_> {
    async fn page(&self, limit: u32) -> Result<LogPageDto, CliError> {
        let call = Call::Log { task: self.number.to_string(), attempt: self.attempt, from: self.from, limit };
        Ok(ask!(self.client, call, Log)?)
    }

    async fn skip_to_end(&mut self) -> Result<(), CliError> {
        self.from = 0;
        let page = self.page(1).await?;
        self.from = i64::try_from(page.size).unwrap_or(i64::MAX);
        Ok(())
    }

    /// Prints what there is from here on.
    async fn print_rest(&mut self) -> Result<(), CliError> {
        loop {
            let limit = if self.from < 0 { u32::try_from(-self.from).unwrap_or(PAGE).min(PAGE) } else { PAGE };
            let page = self.page(limit).await?;
            for line in &page.lines {
                if self.context.output.is_json() {
                    self.context.output.json(&json!({"task": self.number, "attempt": page.attempt, "line": line}))?;
                } else {
                    self.context.output.line(line)?;
                }
            }
            // A following reader stays with the attempt that it began with, unless none was named
            // and a newer one has begun: then the newer one is read from its start.
            let next = i64::try_from(page.next).unwrap_or(i64::MAX);
            let stuck = next == self.from || page.lines.is_empty();
            self.from = next;
            if stuck || page.next >= page.size {
                return Ok(());
            }
        }
    }
}

//! `sidetrack status`: what the engine is doing. Never starts one.

use serde_json::json;
use st_app::ErrorCode;
use st_app::dto::StatusDto;
use st_app::export::visible;
use st_app::protocol::Call;

use super::{Outcome, ask};
use crate::context::Context;
use crate::exit;

/// Says what the engine is doing.
pub(super) async fn status(context: &Context, line: bool) -> Outcome {
    let client = match context.connect_running().await {
        Ok(client) => client,
        Err(problem) if problem.code == ErrorCode::NoEngine => return no_engine(context, line),
        Err(problem) => return Err(problem.into()),
    };
    let status = ask!(client, Call::Status, Status)?;
    if context.output.is_json() {
        let mut value = serde_json::to_value(&status).unwrap_or_default();
        value["engine"] = json!(true);
        context.output.json(&value)?;
    } else if line {
        context.output.line(&one_line(&status))?;
    } else {
        context.output.raw(&page(&status))?;
    }
    Ok(exit::DONE)
}

fn no_engine(context: &Context, line: bool) -> Outcome {
    if context.output.is_json() {
        context.output.json(&json!({"engine": false, "data_dir": context.data_dir()?.to_string_lossy()}))?;
    } else if line {
        context.output.line("no engine")?;
    } else {
        context.output.line("No engine runs. The next command that needs one starts it.")?;
    }
    Ok(exit::DONE)
}

/// What is worth a place in a status bar, most urgent first.
fn one_line(status: &StatusDto) -> String {
    let mut parts = Vec::new();
    for (number, word) in [(status.needs_you, "needs you"), (status.running, "running"), (status.waiting, "waiting")] {
        if number > 0 {
            parts.push(format!("{number} {word}"));
        }
    }
    if status.paused {
        parts.push("paused".to_owned());
    }
    if status.stopping {
        parts.push("stopping".to_owned());
    }
    if parts.is_empty() { "idle".to_owned() } else { parts.join(" · ") }
}

fn page(status: &StatusDto) -> String {
    format!(
        "{}\n  running  {} of {} slots\n  waiting  {}\n  version  {}\n  data     {}\n",
        one_line(status),
        status.running,
        status.slots,
        status.waiting,
        status.version,
        visible(&status.data_dir),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_the_most_urgent_first() {
        let mut status = StatusDto {
            version: String::new(),
            slots: 2,
            running: 0,
            waiting: 0,
            needs_you: 0,
            paused: false,
            stopping: false,
            data_dir: String::new(),
        };
        assert_eq!(one_line(&status), "idle");
        (status.running, status.waiting, status.needs_you, status.paused) = (2, 3, 1, true);
        assert_eq!(one_line(&status), "1 needs you · 2 running · 3 waiting · paused");
    }
}

//! `sidetrack list`.

use serde_json::json;
use st_app::dto::TaskDto;
use st_app::export::visible;
use st_app::protocol::Call;

use super::{Outcome, ask};
use crate::args::State;
use crate::context::Context;
use crate::exit;
use crate::render::table::{Column, table};
use crate::render::{counts_in_words, now, state_glyph, state_style, state_word, time};

/// Lists tasks, newest first.
pub(super) async fn list(context: &Context, states: &[State], limit: Option<u32>) -> Outcome {
    let client = context.connect().await?;
    let states: Vec<String> = states.iter().map(|state| state.word()).collect();
    let filtered = !states.is_empty();
    let tasks = ask!(client, Call::List { states, limit }, Tasks)?;
    if context.output.is_json() {
        context.output.json(&json!({"tasks": tasks}))?;
        return Ok(exit::DONE);
    }
    if tasks.is_empty() {
        let words = if filtered { "No task is in that state." } else { "No tasks yet. Queue one with `sidetrack review WHAT`." };
        context.output.line(words)?;
        return Ok(exit::DONE);
    }
    context.output.raw(&rows(context, &tasks))?;
    Ok(exit::DONE)
}

fn rows(context: &Context, tasks: &[TaskDto]) -> String {
    let look = context.output.look();
    let now = now();
    let columns = [Column::right("id"), Column::left("state"), Column::left("findings"), Column::left("age"), Column::flexible("title")];
    let rows = tasks.iter().map(|task| {
        let state = format!("{} {}", state_glyph(task.state), state_word(task));
        let title =
            if task.reason.is_empty() { visible(&task.title) } else { format!("{} · {}", visible(&task.title), visible(&task.reason)) };
        vec![
            (format!("#{}", task.number), None),
            (state, Some(state_style(task.state))),
            (counts_in_words(&task.findings), None),
            (time::relative(&task.created_at, now), None),
            (title, None),
        ]
    });
    table(&columns, rows.collect(), context.output.width(), &look)
}

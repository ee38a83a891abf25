//! `sidetrack findings`.

use st_app::client::Client;
use st_app::dto::{CoverageDto, FindingDto, TaskDto};
use st_app::export::{self, Report};
use st_app::protocol::Call;
use st_app::{ErrorCode, Problem};

use super::{Outcome, ask, shown};
use crate::args::Format;
use crate::context::Context;
use crate::exit;

/// Prints findings and the ledger's statement.
pub(super) async fn findings(context: &Context, task: String, format: Option<Format>) -> Outcome {
    let format = match (format, context.output.is_json()) {
        (None, true) => Format::Json,
        (None, false) => Format::Text,
        (Some(Format::Text | Format::Markdown), true) => {
            return Err(Problem::refused(
                ErrorCode::Usage,
                "`--json` promises JSON, and this format is none",
                "Leave `--json` out, or choose `--format json` or `--format sarif`.",
            )
            .into());
        }
        (Some(format), _) => format,
    };
    let client = context.connect().await?;
    let task = shown(&client, task).await?;
    let (findings, coverage) = results(&client, &task).await?;
    let report = Report { task: &task, findings: &findings, coverage: &coverage };
    match format {
        Format::Text => context.output.raw(&export::text::text(&report, &context.output.look()))?,
        Format::Markdown => context.output.raw(&export::markdown::markdown(&report))?,
        Format::Json => context.output.json(&export::json::json(&report))?,
        Format::Sarif => context.output.json(&export::sarif::sarif(&report))?,
    }
    Ok(exit::DONE)
}

/// A task's findings and ledger.
pub(super) async fn results(client: &Client, task: &TaskDto) -> Result<(Vec<FindingDto>, Vec<CoverageDto>), Problem> {
    let findings = ask!(client, Call::Findings { task: task.id.clone() }, Findings)?;
    let coverage =
        if task.coverage.is_empty() { ask!(client, Call::Coverage { task: task.id.clone() }, Coverage)? } else { task.coverage.clone() };
    Ok((findings, coverage))
}

/// The findings of a task as text.
pub(super) async fn as_text(context: &Context, client: &Client, task: &TaskDto) -> Result<String, Problem> {
    let (findings, coverage) = results(client, task).await?;
    Ok(export::text::text(&Report { task, findings: &findings, coverage: &coverage }, &context.output.look()))
}

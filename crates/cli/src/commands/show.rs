//! `sidetrack show`.

use std::fmt::Write as _;

use anstyle::Style;
use st_app::dto::{FindingDto, TaskDto};
use st_app::export::text::{self, Look};
use st_app::export::{Report, coverage, visible};

use super::{Outcome, findings, shown};
use crate::context::Context;
use crate::exit;
use crate::render::{now, state_glyph, state_style, state_word, time};

/// Findings that are listed; the others are counted.
const MOST_FINDINGS: usize = 10;

/// Shows one task.
pub(super) async fn show(context: &Context, id: String) -> Outcome {
    let client = context.connect().await?;
    let task = shown(&client, id).await?;
    if context.output.is_json() {
        context.output.json(&task)?;
        return Ok(exit::DONE);
    }
    let (findings, coverage) = findings::results(&client, &task).await?;
    let report = Report { task: &task, findings: &findings, coverage: &coverage };
    context.output.raw(&page(&report, &context.output.look()))?;
    Ok(exit::DONE)
}

fn page(report: &Report<'_>, look: &Look) -> String {
    let task = report.task;
    let bold = Style::new().bold();
    let mut out = format!("{} {}\n", look.paint(bold, &format!("#{}", task.number)), look.paint(bold, &visible(&task.title)));
    for (name, value) in facts(task, look) {
        if !value.is_empty() {
            let _ = writeln!(out, "  {name:<10} {value}");
        }
    }
    if let Some(error) = &task.error {
        let _ = writeln!(out, "  {:<10} {} {}", "error", visible(&error.message), visible(&error.disk_effect));
        for fix in &error.fix {
            let _ = writeln!(out, "  {:<10} {}", "fix", visible(fix));
        }
    }
    out.push('\n');
    let ordered = report.in_order();
    for finding in gravest(&ordered).into_iter().take(MOST_FINDINGS) {
        let _ = writeln!(out, "  {}", text::headline(finding, look));
    }
    if ordered.len() > MOST_FINDINGS {
        let _ = writeln!(out, "  and {} more", ordered.len() - MOST_FINDINGS);
    }
    let statement = coverage::statement(report);
    let _ = writeln!(out, "{}", statement.headline);
    if !ordered.is_empty() || !statement.gaps.is_empty() {
        let _ = writeln!(out, "See `sidetrack findings {}`.", task.number);
    }
    out
}

fn facts(task: &TaskDto, look: &Look) -> Vec<(&'static str, String)> {
    let now = now();
    let state = format!("{} {}", state_glyph(task.state), state_word(task));
    let state = look.paint(state_style(task.state), &state);
    let state = if task.reason.is_empty() { state } else { format!("{state} · {}", visible(&task.reason)) };
    let when = |at: &Option<String>| at.as_ref().map(|at| format!("{} ({at})", time::relative(at, now))).unwrap_or_default();
    let waits =
        task.waiting_for.iter().map(|wait| format!("{} ({}, held by {} since {})", wait.resource, wait.mode, wait.holder, wait.since));
    let progress = match task.progress.total {
        Some(total) if !task.progress.phase.is_empty() => format!("{} of {total} {}", task.progress.done, task.progress.unit),
        _ => String::new(),
    };
    vec![
        ("id", task.id.clone()),
        ("state", state),
        ("position", task.position.map(|position| format!("{position} in line")).unwrap_or_default()),
        ("waits for", waits.collect::<Vec<_>>().join("; ")),
        ("progress", progress),
        ("source", visible(&task.source)),
        ("from", task.origin.as_deref().map(visible).unwrap_or_default()),
        ("runner", task.runner.clone()),
        ("priority", task.priority.clone()),
        ("attempt", if task.attempt == 0 { String::new() } else { format!("{} of {}", task.attempt, task.max_attempts) }),
        ("runs again", task.rerun_of.map(|number| format!("#{number}")).unwrap_or_default()),
        ("queued", when(&Some(task.created_at.clone()))),
        ("pinned", when(&task.pinned_at)),
        ("started", when(&task.started_at)),
        ("finished", when(&task.finished_at)),
        ("next try", when(&task.retry_at)),
    ]
}

/// The graver findings first; the order within a severity is kept.
fn gravest<'a>(findings: &[&'a FindingDto]) -> Vec<&'a FindingDto> {
    let mut findings = findings.to_vec();
    findings.sort_by_key(|finding| std::cmp::Reverse(st_app::export::gravity(&finding.severity)));
    findings
}

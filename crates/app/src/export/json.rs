//! Findings as one JSON object.

use serde_json::{Value, json};

use super::{Report, coverage};

/// `{task, findings, coverage, clean}`: the contract's objects, and whether the ledger lets the
/// review say that nothing was found.
#[must_use]
pub fn json(report: &Report<'_>) -> Value {
    let statement = coverage::statement(report);
    json!({
        "task": report.task.number,
        "id": report.task.id,
        "title": report.task.title,
        "state": report.task.state,
        "clean": report.task.clean,
        "statement": statement.headline,
        "findings": report.in_order(),
        "coverage": report.coverage,
    })
}

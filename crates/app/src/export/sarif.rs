//! Findings as SARIF 2.1.0, for code scanning services and editors.
//!
//! Lines are those of the new side; a finding on a removed line has no place in the files that a
//! viewer holds, so it stands on the file and says its old line in words and properties.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use serde_json::{Map, Value, json};
use st_model::change::{ChangeBody, DiffLine, LineEnding, LineKind};

use super::{Report, gravity};
use crate::dto::{CoverageDto, FindingDto, StateDto};

/// What stays as it is in the path of a relative URI (RFC 3986 `pchar` without `:` and `%`).
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// Name of the base that relative URIs count from: the root of what was reviewed.
const BASE: &str = "SRCROOT";

/// The whole log: one run.
#[must_use]
pub fn sarif(report: &Report<'_>) -> Value {
    let findings = report.in_order();
    let rules = rules(&findings);
    let known_before = findings.iter().any(|finding| finding.status != "new");
    let results: Vec<Value> = findings.iter().map(|finding| result(finding, &rules, known_before)).collect();
    let rule_objects: Vec<&Value> = rules.values().map(|(_, rule)| rule).collect();
    json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "Sidetrack",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rule_objects,
                "notifications": [
                    {"id": "coverage.skipped", "shortDescription": {"text": "A file was left out by a stated rule"}},
                    {"id": "coverage.partial", "shortDescription": {"text": "A file was reviewed in part"}},
                    {"id": "coverage.failed", "shortDescription": {"text": "A file could not be reviewed"}},
                    {"id": "task.error", "shortDescription": {"text": "The review failed or stopped early"}},
                ],
            }},
            "invocations": [invocation(report)],
            "originalUriBaseIds": {BASE: {"description": {"text": "The root of what was reviewed"}}},
            "columnKind": "unicodeCodePoints",
            "results": results,
            "properties": {"task": report.task.number, "taskId": report.task.id, "clean": report.task.clean},
        }],
    })
}

/// Rules by id, each with its index in the driver's list.
fn rules(findings: &[&FindingDto]) -> BTreeMap<String, (usize, Value)> {
    let mut rules: BTreeMap<String, (usize, Value)> = BTreeMap::new();
    for finding in findings {
        rules.entry(finding.rule.clone()).or_insert_with(|| (0, rule(finding)));
    }
    for (index, (place, _)) in rules.values_mut().enumerate() {
        *place = index;
    }
    rules
}

fn rule(finding: &FindingDto) -> Value {
    let mut properties = Map::new();
    let mut tags = vec![json!(finding.rule.split('.').next().unwrap_or("review"))];
    if let Some(cwe) = &finding.cwe {
        tags.push(json!(format!("external/cwe/{}", cwe.to_ascii_lowercase())));
        // The scale is CVSS's; services sort security findings by it.
        let score = match finding.severity.as_str() {
            "high" => "8.0",
            "medium" => "5.5",
            "low" => "3.0",
            _ => "0.0",
        };
        properties.insert("security-severity".into(), json!(score));
    }
    properties.insert("tags".into(), Value::Array(tags));
    json!({
        "id": finding.rule,
        "name": rule_name(&finding.rule),
        "shortDescription": {"text": not_empty(&finding.title)},
        "fullDescription": {"text": not_empty(&finding.body)},
        "help": {"text": not_empty(&finding.body), "markdown": not_empty(&finding.body)},
        "defaultConfiguration": {"level": level(&finding.severity)},
        "properties": properties,
    })
}

/// `security.sql-concat` as `SecuritySqlConcat`.
fn rule_name(rule: &str) -> String {
    let parts = rule.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    parts.map(|part| format!("{}{}", part[..1].to_ascii_uppercase(), &part[1..])).collect()
}

fn level(severity: &str) -> &'static str {
    match gravity(severity) {
        3 => "error",
        2 => "warning",
        _ => "note",
    }
}

fn not_empty(text: &str) -> &str {
    if text.trim().is_empty() { "No description" } else { text }
}

fn result(finding: &FindingDto, rules: &BTreeMap<String, (usize, Value)>, known_before: bool) -> Value {
    let on_new_lines = finding.side == "new" && finding.anchor != "file" && finding.start_line > 0;
    let mut message = not_empty(&finding.title).to_owned();
    if finding.side == "old" && finding.start_line > 0 {
        message.push_str(&format!(" (removed line {} of the old file)", finding.start_line));
    }
    let mut physical = Map::new();
    physical.insert("artifactLocation".into(), location(&finding.file, finding.file_b64.as_deref()));
    if on_new_lines {
        let end = finding.end_line.max(finding.start_line);
        let mut region = json!({"startLine": finding.start_line, "endLine": end});
        if !finding.quote.is_empty() {
            region["snippet"] = json!({"text": finding.quote});
        }
        physical.insert("region".into(), region);
    }
    let mut result = json!({
        "ruleId": finding.rule,
        "ruleIndex": rules.get(&finding.rule).map_or(0, |(index, _)| *index),
        "level": level(&finding.severity),
        "message": {"text": message, "markdown": format!("**{message}**\n\n{}", finding.body)},
        "locations": [{"physicalLocation": physical}],
        "partialFingerprints": {"sidetrack/v1": finding.fingerprint, "primaryLocationLineHash": finding.fingerprint},
        "rank": 10.0 + 28.0 * f64::from(gravity(&finding.severity)),
        "properties": {
            "severity": finding.severity,
            "confidence": finding.confidence,
            "side": finding.side,
            "anchor": finding.anchor,
            "startLine": finding.start_line,
            "endLine": finding.end_line,
            "runner": finding.runner,
        },
    });
    let baseline = match finding.status.as_str() {
        "new" => "new",
        "fixed" => "absent",
        _ => "unchanged",
    };
    if known_before {
        result["baselineState"] = json!(baseline);
    }
    if finding.status == "dismissed" {
        result["suppressions"] = json!([{"kind": "external", "status": "accepted", "justification": "Dismissed by the user"}]);
    }
    let patch = finding.suggestion.as_ref().and_then(|suggestion| suggestion.patch.as_deref());
    if let Some(fix) = patch.and_then(fix) {
        result["fixes"] = json!([fix]);
    }
    result
}

/// A file's place: a relative, percent-encoded URI of the name's bytes.
fn location(file: &str, b64: Option<&str>) -> Value {
    let bytes = b64.and_then(|text| STANDARD.decode(text).ok()).unwrap_or_else(|| file.as_bytes().to_vec());
    json!({"uri": percent_encode(&bytes, PATH).to_string(), "uriBaseId": BASE})
}

fn invocation(report: &Report<'_>) -> Value {
    let mut notifications: Vec<Value> =
        report.coverage.iter().filter(|entry| entry.status != "reviewed").map(coverage_notification).collect();
    if let Some(error) = &report.task.error {
        notifications.push(json!({
            "descriptor": {"id": "task.error"},
            "level": "error",
            "message": {"text": format!("{}. {} {}", error.message, error.disk_effect, error.fix.join(" "))},
        }));
    }
    let mut invocation = json!({
        "executionSuccessful": report.task.state == StateDto::Done,
        "toolExecutionNotifications": notifications,
    });
    if let Some(started) = &report.task.started_at {
        invocation["startTimeUtc"] = json!(started);
    }
    if let Some(finished) = &report.task.finished_at {
        invocation["endTimeUtc"] = json!(finished);
    }
    invocation
}

fn coverage_notification(entry: &CoverageDto) -> Value {
    let (id, level, words) = match entry.status.as_str() {
        "skipped" => ("coverage.skipped", "note", "Left out"),
        "partial" => ("coverage.partial", "warning", "Reviewed in part"),
        _ => ("coverage.failed", "error", "Not reviewed"),
    };
    let reason = entry.reason.as_deref().unwrap_or("no reason was given");
    json!({
        "descriptor": {"id": id},
        "level": level,
        "message": {"text": format!("{words}: {}: {reason}", entry.file)},
        "locations": [{"physicalLocation": {"artifactLocation": location(&entry.file, entry.file_b64.as_deref())}}],
    })
}

/// A suggested patch as replacements of whole lines; `None` when it can't be told that way
/// (more than text, or bytes that are no UTF-8).
fn fix(patch: &str) -> Option<Value> {
    let parsed = st_runner::diff::parse_patch(patch.as_bytes()).ok()?;
    if !parsed.broken.is_empty() || parsed.change.files.is_empty() {
        return None;
    }
    let mut changes = Vec::new();
    for file in &parsed.change.files {
        let ChangeBody::Text { hunks } = &file.body else { return None };
        let mut replacements = Vec::new();
        for hunk in hunks {
            // A side without lines starts after the line that its header names.
            let first = if hunk.old_lines == 0 { hunk.old_start.saturating_add(1) } else { hunk.old_start };
            replace_runs(&hunk.lines, first, &mut replacements)?;
        }
        let twin = file.path.b64_twin();
        changes.push(json!({"artifactLocation": location(&file.path.lossy(), twin.as_deref()), "replacements": replacements}));
    }
    Some(json!({"description": {"text": "Apply the suggested change"}, "artifactChanges": changes}))
}

/// One replacement for each run of changed lines.
fn replace_runs(lines: &[DiffLine], first: u32, replacements: &mut Vec<Value>) -> Option<()> {
    let mut old_line = first;
    let mut at = 0;
    while at < lines.len() {
        if lines[at].kind == LineKind::Context {
            old_line = old_line.saturating_add(1);
            at += 1;
            continue;
        }
        let (start, mut removed, mut inserted) = (old_line, 0u32, String::new());
        while let Some(line) = lines.get(at).filter(|line| line.kind != LineKind::Context) {
            if line.kind == LineKind::Removed {
                removed += 1;
                old_line = old_line.saturating_add(1);
            } else {
                inserted.push_str(std::str::from_utf8(&line.text).ok()?);
                inserted.push_str(match line.ending {
                    LineEnding::Lf => "\n",
                    LineEnding::CrLf => "\r\n",
                    LineEnding::None => "",
                });
            }
            at += 1;
        }
        // The region runs to the beginning of the line after, so line endings go with their lines.
        let region = json!({"startLine": start, "startColumn": 1, "endLine": start.saturating_add(removed), "endColumn": 1});
        let mut replacement = json!({"deletedRegion": region});
        if !inserted.is_empty() {
            replacement["insertedContent"] = json!({"text": inserted});
        }
        replacements.push(replacement);
    }
    Some(())
}

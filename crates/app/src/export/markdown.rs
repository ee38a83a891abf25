//! Findings as Markdown, for a comment or a file. What came from the reviewed change can't break
//! out of its place: fences are longer than any run of backticks inside, table cells and prose
//! are escaped, and no raw HTML gets through.

use std::fmt::Write as _;

use super::coverage::{self, Line};
use super::{Report, visible};
use crate::dto::FindingDto;

/// The whole report.
#[must_use]
pub fn markdown(report: &Report<'_>) -> String {
    let statement = coverage::statement(report);
    let mut out = format!("# Review of {}\n\n", prose(&report.task.title));
    let _ = writeln!(out, "{}.\n", prose(&statement.headline));
    if let Some(error) = &report.task.error {
        let _ = writeln!(out, "> {}\n", prose(&error.message));
    }
    let findings = report.in_order();
    if !findings.is_empty() {
        out.push_str("| severity | place | finding | rule |\n|---|---|---|---|\n");
        for finding in &findings {
            let place = code(&place(finding)).replace('|', "\\|");
            let rule = code(&finding.rule).replace('|', "\\|");
            let _ = writeln!(out, "| {} | {place} | {} | {rule} |", finding.severity, prose(&finding.title));
        }
        out.push('\n');
    }
    let mut file = None;
    for finding in findings {
        if file != Some(&finding.file) {
            let _ = writeln!(out, "## {}\n", code(&finding.file));
            file = Some(&finding.file);
        }
        one(&mut out, finding);
    }
    list(&mut out, "Not reviewed in full", &statement.gaps);
    list(&mut out, "Left out by rule", &statement.left_out);
    out.push_str("Built-in rules check patterns, not logic.\n");
    out
}

fn one(out: &mut String, finding: &FindingDto) {
    let _ = writeln!(out, "### {}: {}\n", finding.severity, prose(&finding.title));
    let cwe = finding.cwe.as_ref().map(|cwe| format!(" · {}", prose(cwe))).unwrap_or_default();
    let _ = writeln!(out, "{} · {}{cwe}\n", code(&place(finding)), code(&finding.rule));
    if !finding.quote.is_empty() {
        fence(out, language(&finding.file), &finding.quote);
    }
    for line in finding.body.lines() {
        let _ = writeln!(out, "{}", without_html(&visible(line)));
    }
    out.push('\n');
    if let Some(patch) = finding.suggestion.as_ref().and_then(|suggestion| suggestion.patch.as_deref()) {
        out.push_str("Suggested change:\n\n");
        fence(out, "diff", patch);
    }
}

fn list(out: &mut String, title: &str, lines: &[Line]) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(out, "## {title}\n");
    for line in lines {
        let _ = writeln!(out, "- {}: {}", code(&line.file), prose(&line.reason));
    }
    out.push('\n');
}

fn place(finding: &FindingDto) -> String {
    match (finding.anchor.as_str(), finding.side.as_str()) {
        ("file", _) => finding.file.clone(),
        (_, "old") => format!("{}:{} (removed)", finding.file, finding.start_line),
        _ if finding.end_line > finding.start_line => format!("{}:{}-{}", finding.file, finding.start_line, finding.end_line),
        _ => format!("{}:{}", finding.file, finding.start_line),
    }
}

/// The longest run of backticks in `text`.
fn longest_run(text: &str) -> usize {
    let (mut longest, mut run) = (0, 0);
    for letter in text.chars() {
        run = if letter == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

fn fence(out: &mut String, language: &str, text: &str) {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    let _ = writeln!(out, "{fence}{language}");
    for line in text.lines() {
        let _ = writeln!(out, "{}", visible(line));
    }
    let _ = writeln!(out, "{fence}\n");
}

/// Text in a code span that holds any backticks.
fn code(text: &str) -> String {
    let text = visible(text);
    let ticks = "`".repeat(longest_run(&text) + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{space}{text}{space}{ticks}")
}

/// Text in which no character means anything to Markdown or HTML.
fn prose(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in visible(text).chars() {
        match letter {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => {
                out.push('\\');
                out.push(letter);
            }
            // A mention would call somebody.
            '@' => out.push_str("@\u{200b}"),
            other => out.push(other),
        }
    }
    out
}

/// A line of a finding's body, which is Markdown already, without the characters of HTML tags.
/// Inside a code span entities are not read, so there they stay.
fn without_html(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for (index, part) in line.split('`').enumerate() {
        if index > 0 {
            out.push('`');
        }
        // Odd parts lie inside a span, if that span is closed on this line.
        let inside = index % 2 == 1 && line.split('`').count() > index + 1;
        if inside { out.push_str(part) } else { out.push_str(&part.replace('<', "&lt;").replace('>', "&gt;")) }
    }
    out
}

fn language(file: &str) -> &'static str {
    match file.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "rs" => "rust",
        "py" => "python",
        "js" | "mjs" | "cjs" | "jsx" => "javascript",
        "ts" | "mts" | "cts" => "typescript",
        "tsx" => "tsx",
        "go" => "go",
        "java" => "java",
        "c" | "h" => "c",
        "cc" | "cpp" | "hpp" | "cxx" => "cpp",
        "cs" => "csharp",
        "rb" => "ruby",
        "php" => "php",
        "sh" | "bash" => "bash",
        "sql" => "sql",
        "yml" | "yaml" => "yaml",
        "html" => "html",
        _ => "",
    }
}

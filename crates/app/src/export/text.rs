//! Findings for a terminal.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use super::coverage::{self, Line};
use super::{Report, visible};
use crate::dto::FindingDto;

/// How text is shown.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Whether colour is used. Nothing is told by colour alone.
    pub color: bool,
    /// Columns of the terminal; longer prose is wrapped, source lines are not.
    pub width: usize,
}

impl Default for Look {
    /// No colour, 100 columns.
    fn default() -> Self {
        Self { color: false, width: 100 }
    }
}

impl Look {
    /// `text` in `style`, or as it is when there is no colour.
    #[must_use]
    pub fn paint(&self, style: Style, text: &str) -> String {
        if self.color { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

const FILE: Style = Style::new().bold().underline();
const STRONG: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();

/// The style of a severity word.
#[must_use]
pub fn severity_style(severity: &str) -> Style {
    let color = match severity {
        "high" => AnsiColor::Red,
        "medium" => AnsiColor::Yellow,
        "low" => AnsiColor::Cyan,
        _ => AnsiColor::Blue,
    };
    Style::new().bold().fg_color(Some(color.into()))
}

/// All findings by file, then what was and was not looked at.
#[must_use]
pub fn text(report: &Report<'_>, look: &Look) -> String {
    let mut out = String::new();
    let mut file = None;
    for finding in report.in_order() {
        if file != Some(&finding.file) {
            let _ = writeln!(out, "{}", look.paint(FILE, &visible(&finding.file)));
            file = Some(&finding.file);
        }
        out.push_str(&one(finding, look));
        out.push('\n');
    }
    out.push_str(&closing(report, look));
    out
}

/// One finding: headline, excerpt, why, and the suggested change.
#[must_use]
pub fn one(finding: &FindingDto, look: &Look) -> String {
    let mut out = String::new();
    let severity = look.paint(severity_style(&finding.severity), &finding.severity);
    let place = match (finding.anchor.as_str(), finding.side.as_str()) {
        ("file", _) => "whole file".to_owned(),
        (_, "old") => format!("removed line {}", finding.start_line),
        _ if finding.end_line > finding.start_line => format!("lines {}–{}", finding.start_line, finding.end_line),
        _ => format!("line {}", finding.start_line),
    };
    let title = look.paint(STRONG, &visible(&finding.title));
    let rule = look.paint(FAINT, &visible(&finding.rule));
    let _ = writeln!(out, "  {severity} · {place} · {title}  {rule}");
    excerpt(&mut out, finding, look);
    // The stars of Markdown's strong text would only be in the way here.
    for line in wrap(&finding.body.replace("**", ""), look.width.saturating_sub(4).max(40)) {
        let _ = writeln!(out, "    {}", visible(&line));
    }
    if let Some(patch) = finding.suggestion.as_ref().and_then(|suggestion| suggestion.patch.as_deref()) {
        let _ = writeln!(out, "    {}", look.paint(FAINT, "suggested change:"));
        for line in patch.lines().skip_while(|line| !line.starts_with("@@")).filter(|line| !line.starts_with("@@")) {
            let style = match line.as_bytes().first() {
                Some(b'+') => Style::new().fg_color(Some(AnsiColor::Green.into())),
                Some(b'-') => Style::new().fg_color(Some(AnsiColor::Red.into())),
                _ => FAINT,
            };
            let _ = writeln!(out, "    {}", look.paint(style, &visible(line)));
        }
    }
    out
}

/// One finding on one line, as it comes in while a review runs.
#[must_use]
pub fn headline(finding: &FindingDto, look: &Look) -> String {
    let severity = look.paint(severity_style(&finding.severity), &format!("{:6}", finding.severity));
    let place =
        if finding.anchor == "file" { visible(&finding.file) } else { format!("{}:{}", visible(&finding.file), finding.start_line) };
    format!("{severity} {place} {} {}", look.paint(STRONG, &visible(&finding.title)), look.paint(FAINT, &visible(&finding.rule)))
}

/// The quoted source with line numbers, and carets under it when it is one line.
fn excerpt(out: &mut String, finding: &FindingDto, look: &Look) {
    if finding.anchor == "file" || finding.quote.is_empty() {
        return;
    }
    let lines: Vec<&str> = finding.quote.lines().collect();
    let last = usize::try_from(finding.start_line).unwrap_or(usize::MAX).saturating_add(lines.len().saturating_sub(1));
    let digits = last.to_string().len().max(3);
    let bar = look.paint(FAINT, "│");
    for (offset, line) in lines.iter().enumerate() {
        let number = usize::try_from(finding.start_line).unwrap_or(usize::MAX).saturating_add(offset);
        let number = look.paint(FAINT, &format!("{number:>digits$}"));
        let _ = writeln!(out, "    {number} {bar} {}", visible(line).replace('\t', "    "));
    }
    if let [line] = lines.as_slice() {
        let shown = visible(line).replace('\t', "    ");
        let indent = shown.len() - shown.trim_start().len();
        let carets = "^".repeat(unicode_width::UnicodeWidthStr::width(shown.trim()).max(1));
        let carets = look.paint(severity_style(&finding.severity), &carets);
        let _ = writeln!(out, "    {:digits$} {bar} {:indent$}{carets}", "", "");
    }
}

/// The last lines: how much was found, in how much.
fn closing(report: &Report<'_>, look: &Look) -> String {
    /// Files named one by one before the rest is counted; all of them are in the JSON.
    const NAMED: usize = 20;
    let statement = coverage::statement(report);
    let mut out = format!("{}\n", look.paint(STRONG, &statement.headline));
    let mut list = |title: &str, lines: &[Line]| {
        if lines.is_empty() {
            return;
        }
        let _ = writeln!(out, "{title}:");
        for line in lines.iter().take(NAMED) {
            let _ = writeln!(out, "  {} ({})", visible(&line.file), visible(&line.reason));
        }
        if lines.len() > NAMED {
            let _ = writeln!(out, "  and {} more; `sidetrack show {} --json` lists all", lines.len() - NAMED, report.task.number);
        }
    };
    list("Not reviewed in full", &statement.gaps);
    list("Left out by rule", &statement.left_out);
    if let Some(error) = &report.task.error {
        let _ = writeln!(out, "{}", visible(&error.message));
        for fix in &error.fix {
            let _ = writeln!(out, "fix: {}", visible(fix));
        }
    }
    if !report.findings.is_empty() || statement.clean {
        let _ = writeln!(out, "{}", look.paint(FAINT, "Built-in rules check patterns, not logic."));
    }
    out
}

/// Words of `text` in lines of at most `width` columns; its own line breaks are kept.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            let wide = unicode_width::UnicodeWidthStr::width(line.as_str()) + unicode_width::UnicodeWidthStr::width(word) + 1;
            if !line.is_empty() && wide > width {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        if !line.is_empty() {
            lines.push(line);
        }
    }
    lines
}

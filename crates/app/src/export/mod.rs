//! A review's results as text, Markdown, SARIF 2.1.0 and JSON.
//!
//! What a review looked at is said in all of them. "No findings" is said only when every file
//! was reviewed or left out by a stated rule.

pub mod coverage;
pub mod json;
pub mod markdown;
pub mod sarif;
pub mod text;

#[cfg(test)]
mod tests;

use crate::dto::{CoverageDto, FindingDto, TaskDto};

/// What is exported: one task's findings and its ledger.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The task.
    pub task: &'a TaskDto,
    /// Its findings.
    pub findings: &'a [FindingDto],
    /// Its ledger.
    pub coverage: &'a [CoverageDto],
}

impl<'a> Report<'a> {
    /// Findings as a reader wants them: by file, then by line, then the graver first.
    #[must_use]
    pub fn in_order(&self) -> Vec<&'a FindingDto> {
        let mut findings: Vec<&FindingDto> = self.findings.iter().collect();
        findings.sort_by(|left, right| {
            let place = |finding: &FindingDto| (finding.file.clone(), finding.start_line);
            place(left).cmp(&place(right)).then_with(|| gravity(&right.severity).cmp(&gravity(&left.severity))).then(left.id.cmp(&right.id))
        });
        findings
    }
}

/// How grave a severity word is; higher is graver. A word from a later version counts as `info`.
#[must_use]
pub fn gravity(severity: &str) -> u8 {
    match severity {
        "high" => 3,
        "medium" => 2,
        "low" => 1,
        _ => 0,
    }
}

/// Text from a hostile patch made safe for a terminal: control and direction characters are shown
/// as marks and do nothing. Tabs are kept.
#[must_use]
pub fn visible(text: &str) -> String {
    text.chars()
        .map(|letter| match letter {
            '\t' => '\t',
            '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(letter)).unwrap_or('\u{fffd}'),
            '\u{7f}' => '\u{2421}',
            '\u{80}'..='\u{9f}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' => '\u{fffd}',
            other => other,
        })
        .collect()
}

/// `1 finding`, `7 findings`.
#[must_use]
pub fn count(number: usize, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}

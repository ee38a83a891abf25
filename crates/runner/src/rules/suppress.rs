//! Comments that set findings aside: `sidetrack:ignore RULE[, RULE] [-- reason]` on the line or
//! the one above, `sidetrack:ignore-file [RULE, …]` in the first 30 lines.

use std::sync::LazyLock;

use regex::Regex;

use super::pack::names_rule;
use super::text::SideView;

/// Lines from the top in which a whole file can be set aside.
const FILE_COMMENT_LINES: u32 = 30;

#[expect(clippy::expect_used, reason = "BUG if it fails: a constant, compiled in every test run")]
static COMMENT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?://|#|/\*|\*|<!--|--|;|\{#|%)\s*sidetrack:ignore(?P<file>-file)?\b(?P<rules>[^\n]*)").expect("BUG: constant pattern")
});

/// One comment.
#[derive(Debug)]
struct Suppression {
    line: u32,
    whole_file: bool,
    /// Empty: all rules.
    rules: Vec<String>,
    /// Findings it set aside.
    used: u32,
}

/// The comments of one side of a file.
#[derive(Debug, Default)]
pub(crate) struct Suppressions(Vec<Suppression>);

impl Suppressions {
    /// Reads them from the known lines.
    pub(crate) fn read(side: &SideView) -> Self {
        if !side.text().contains("sidetrack:ignore") {
            return Self::default();
        }
        let mut all = Vec::new();
        for (line, text) in side.known_lines() {
            let Some(found) = COMMENT.captures(text) else { continue };
            let whole_file = found.name("file").is_some();
            if whole_file && line > FILE_COMMENT_LINES {
                continue;
            }
            let rest = found.name("rules").map_or("", |rules| rules.as_str());
            let list = rest.split("--").next().unwrap_or_default().trim_end_matches("*/").trim_end_matches('>');
            let rules = list.split([',', ' ']).map(str::trim).filter(|rule| !rule.is_empty()).map(str::to_owned).collect();
            all.push(Suppression { line, whole_file, rules, used: 0 });
        }
        Self(all)
    }

    /// Whether a finding of `rule` on `first..=last` is set aside; counts it if so.
    pub(crate) fn covers(&mut self, rule: &str, first: u32, last: u32) -> bool {
        let found = self.0.iter_mut().find(|suppression| {
            let place = suppression.whole_file || (first.saturating_sub(1)..=last).contains(&suppression.line);
            place && (suppression.rules.is_empty() || suppression.rules.iter().any(|name| names_rule(name, rule)))
        });
        if let Some(suppression) = found {
            suppression.used += 1;
            return true;
        }
        false
    }

    /// Line and count of every comment that set something aside.
    pub(crate) fn used(&self) -> impl Iterator<Item = (u32, u32)> {
        self.0.iter().filter(|suppression| suppression.used > 0).map(|suppression| (suppression.line, suppression.used))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_covers_its_line_and_the_next_for_the_rules_it_names() {
        let text = "x = eval(y)  # sidetrack:ignore security.eval -- trusted input\n// sidetrack:ignore a.b, tests.*\ncode\ncode\n";
        let mut all = Suppressions::read(&SideView::new(text.as_bytes(), true, |_| true, |_| true));
        assert!(all.covers("security.eval", 1, 1));
        assert!(!all.covers("security.other", 1, 1));
        assert!(all.covers("tests.skipped", 3, 3));
        assert!(all.covers("a.b", 3, 3));
        assert!(!all.covers("a.b", 4, 4));
        assert_eq!(all.used().collect::<Vec<_>>(), [(1, 1), (2, 2)]);
    }

    #[test]
    fn a_file_comment_covers_all_and_words_in_strings_cover_nothing() {
        let mut all = Suppressions::read(&SideView::new(b"/* sidetrack:ignore-file hygiene */\nx\n", true, |_| false, |_| true));
        assert!(all.covers("hygiene.todo", 900, 900) && !all.covers("security.eval", 2, 2));
        let mut none = Suppressions::read(&SideView::new(b"print(\"sidetrack:ignore\")\n", true, |_| true, |_| true));
        assert!(!none.covers("hygiene.debug-output", 1, 1));
    }
}

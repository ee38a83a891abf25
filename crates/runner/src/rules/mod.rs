//! The embedded reviewer: syntax-aware rules over changed code.
//!
//! The rules check patterns, not logic: they find what is wrong by its looks (a query glued from
//! strings, an assertion that went away, a secret), and know nothing of what the code is meant to
//! do. A review without findings says that no pattern matched, not that the change is right.
//!
//! A rule is a data file under `rules/CATEGORY/NAME.yml` with its words, severity, matchers and
//! examples; the examples are run as tests. Only lines that the change added or touched are spoken
//! of (removed lines on the old side). What a rule can't see in a bare patch, it does not guess:
//! matches in unknown lines or around syntax errors are dropped.

mod assemble;
pub mod budget;
mod checks;
pub mod classify;
pub mod config;
mod cross;
pub mod file;
pub mod language;
mod lock_facts;
pub mod pack;
pub mod secrets;
mod suppress;
mod syntax;
pub mod text;
mod view;

#[cfg(test)]
mod tests;

use st_model::finding::Severity;

pub use cross::review_across;
pub use file::{FileInput, FileReview, review_file};
pub use lock_facts::Facts;

/// What a reader should know about every finding of this runner; shown by window, command line and exports.
pub const DISCLAIMER: &str = "Rules check patterns, not logic: no finding does not mean no defect.";

/// A rule, for lists and exports. It checks a pattern, not logic ([`DISCLAIMER`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleInfo {
    /// Its id, such as `security.sql-concat`.
    pub id: String,
    /// How much a match matters, unless a repository says otherwise.
    pub severity: Severity,
    /// The first part of the id.
    pub category: &'static str,
    /// One line.
    pub title: String,
    /// Why it matters; Markdown.
    pub why: String,
    /// What to do; Markdown.
    pub fix: String,
    /// Weakness number of the common list, such as `CWE-89`.
    pub cwe: Option<String>,
    /// Names of the languages it reads; empty for any file.
    pub languages: Vec<&'static str>,
}

/// Every rule, ordered by id.
#[must_use]
pub fn catalogue() -> Vec<RuleInfo> {
    // A broken embedded file can't get past the tests.
    let Ok(pack) = pack::Pack::embedded() else { return Vec::new() };
    pack.rules()
        .iter()
        .map(|rule| RuleInfo {
            id: rule.id.clone(),
            severity: rule.severity,
            category: rule.category.name(),
            title: rule.title.clone(),
            why: rule.why.clone(),
            fix: rule.fix.clone(),
            cwe: rule.cwe.clone(),
            languages: languages_of(rule),
        })
        .collect()
}

/// The languages of a rule's matchers; empty when one of them reads any file.
fn languages_of(rule: &pack::Rule) -> Vec<&'static str> {
    if rule.matchers.iter().any(|scoped| scoped.languages.is_empty()) {
        return Vec::new();
    }
    let mut languages: Vec<_> = rule.matchers.iter().flat_map(|scoped| scoped.languages.iter().map(|language| language.name())).collect();
    languages.sort_unstable();
    languages.dedup();
    languages
}

//! From what matched to what is said: lines, quotes, masks, fingerprints, folding.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use sha1::{Digest, Sha1};
use st_model::change::FileChange;
use st_model::finding::{Anchor, Finding, FindingStatus, Severity, Side, Suggestion};
use st_model::version::VersionPointer;

use super::pack::Rule;
use super::text::SideView;
use super::view::{FileView, Place, Remark};
use crate::diff;

/// Most lines of a quote.
const QUOTE_LINES: u32 = 20;
/// Most characters of a quoted line.
const QUOTE_CHARS: usize = 400;
/// What stands in a secret's place.
const MASK: &str = "********";

/// A remark and the rule it comes from.
pub(crate) struct Hit<'p> {
    pub(crate) rule: &'p Rule,
    pub(crate) severity: Severity,
    pub(crate) remark: Remark,
}

/// What the file's findings are built from.
pub(crate) struct Assembly<'a> {
    pub(crate) change: &'a FileChange,
    pub(crate) old: Option<&'a SideView>,
    pub(crate) new: Option<&'a SideView>,
    pub(crate) old_version: Option<VersionPointer>,
    pub(crate) new_version: Option<VersionPointer>,
    /// Whether a patch made from the new side's text would apply to the file.
    pub(crate) can_suggest: bool,
    /// Every secret's bytes, by side.
    pub(crate) secrets: Vec<(Side, Range<usize>)>,
}

impl<'a> Assembly<'a> {
    /// An assembly over a file, with no secrets yet.
    pub(crate) fn of(
        file: &'a FileView<'_>,
        old_version: Option<VersionPointer>,
        new_version: Option<VersionPointer>,
        can_suggest: bool,
    ) -> Self {
        Self {
            change: file.change,
            old: file.old.as_ref(),
            new: file.new.as_ref(),
            old_version,
            new_version,
            can_suggest,
            secrets: Vec::new(),
        }
    }

    fn side(&self, side: Side) -> Option<&SideView> {
        match side {
            Side::New => self.new,
            Side::Old => self.old,
        }
    }

    /// Moves a remark to the first run of changed lines in its range; `None` when there is none.
    pub(crate) fn anchor(&self, place: Place) -> Option<Place> {
        match place {
            Place::File => Some(Place::File),
            Place::Lines(side, first, last) => {
                let (first, last) = self.side(side)?.first_changed_run(first, last, QUOTE_LINES)?;
                Some(Place::Lines(side, first, last))
            }
        }
    }

    /// The lines of a place as they stand, secrets masked.
    fn quote(&self, place: Place) -> String {
        let Place::Lines(side, first, last) = place else { return String::new() };
        let Some(view) = self.side(side) else { return String::new() };
        let mut quote = String::new();
        for number in first..=last.min(first + QUOTE_LINES - 1) {
            if number > first {
                quote.push('\n');
            }
            let line = self.masked(side, view, number);
            match line.char_indices().nth(QUOTE_CHARS) {
                Some((end, _)) => quote.push_str(&line[..end]),
                None => quote.push_str(&line),
            }
        }
        quote
    }

    fn masked(&self, side: Side, view: &SideView, number: u32) -> String {
        let Some(range) = view.line_range(number) else { return String::new() };
        let mut inside: Vec<Range<usize>> = self
            .secrets
            .iter()
            .filter(|(of, secret)| *of == side && secret.start < range.end && secret.end > range.start)
            .map(|(_, secret)| secret.start.max(range.start)..secret.end.min(range.end))
            .collect();
        inside.sort_by_key(|secret| (secret.start, secret.end));
        let text = view.text();
        let mut line = String::new();
        let mut at = range.start;
        for secret in inside {
            if secret.start >= at {
                line.push_str(&text[at..secret.start]);
                line.push_str(MASK);
            }
            at = at.max(secret.end);
        }
        line.push_str(&text[at..range.end]);
        line
    }

    /// Whether a text holds a secret of this file.
    fn leaks(&self, text: &str) -> bool {
        self.secrets.iter().any(|(side, range)| {
            self.side(*side)
                .and_then(|view| view.text().get(range.clone()))
                .is_some_and(|secret| !secret.is_empty() && text.contains(secret))
        })
    }

    fn suggestion(&self, remark: &Remark) -> Option<Suggestion> {
        let (range, replacement) = remark.edit.clone()?;
        let view = self.new.filter(|view| self.can_suggest && view.complete && view.encoding.is_plain())?;
        let patch = diff::suggestion_patch(&self.change.path, view.text().as_bytes(), &[diff::Edit { range, text: replacement }])?;
        (!self.leaks(&patch)).then_some(Suggestion { patch: Some(patch) })
    }

    /// Builds the findings of the hits, folded and in the order of their lines.
    pub(crate) fn findings(&self, hits: Vec<Hit<'_>>) -> Vec<Finding> {
        let mut hits: Vec<Hit<'_>> = hits
            .into_iter()
            .filter_map(|mut hit| {
                hit.remark.place = self.anchor(hit.remark.place)?;
                Some(hit)
            })
            .collect();
        // Strongest first, so that folding keeps it.
        hits.sort_by(|left, right| {
            (right.severity, right.remark.edit.is_some())
                .cmp(&(left.severity, left.remark.edit.is_some()))
                .then(right.rule.confidence.total_cmp(&left.rule.confidence))
                .then_with(|| left.rule.id.cmp(&right.rule.id))
                .then(order(left.remark.place).cmp(&order(right.remark.place)))
        });
        let mut taken: HashMap<(&str, u8), BTreeMap<u32, u32>> = HashMap::new();
        let mut kept: Vec<Hit<'_>> = Vec::new();
        for hit in hits {
            let (kind, first, last) = match hit.remark.place {
                Place::File => (0, 0, 0),
                Place::Lines(Side::Old, first, last) => (1, first, last),
                Place::Lines(Side::New, first, last) => (2, first, last),
            };
            let spans = taken.entry((hit.rule.family.as_str(), kind)).or_default();
            // Kept spans never overlap, so the last one that starts in or before this one decides.
            if spans.range(..=last).next_back().is_none_or(|(_, &end)| end < first) {
                spans.insert(first, last);
                kept.push(hit);
            }
        }
        kept.sort_by(|left, right| order(left.remark.place).cmp(&order(right.remark.place)).then_with(|| left.rule.id.cmp(&right.rule.id)));
        let mut seen: HashMap<String, u32> = HashMap::new();
        kept.into_iter().map(|hit| self.finding(&hit, &mut seen)).collect()
    }

    fn finding(&self, hit: &Hit<'_>, seen: &mut HashMap<String, u32>) -> Finding {
        let (side, start_line, end_line, anchor) = match hit.remark.place {
            Place::File => (Side::New, 0, 0, Anchor::File),
            Place::Lines(side, first, last) => (side, first, last, Anchor::Exact),
        };
        let quote = self.quote(hit.remark.place);
        let key = format!("{}|{}|{}", hit.rule.id, self.change.path.lossy(), normalised(&quote));
        let occurrence = seen.entry(key.clone()).and_modify(|count| *count += 1).or_insert(0);
        let fingerprint = Sha1::digest(format!("{key}|{occurrence}").as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        let detail = hit.remark.detail.as_ref().map_or_else(String::new, |detail| format!("{detail}\n\n"));
        let base = match side {
            Side::New => self.new_version,
            Side::Old => self.old_version,
        };
        Finding {
            id: 0,
            file: self.change.path.clone(),
            old_file: (self.change.old_path != self.change.path).then(|| self.change.old_path.clone()),
            side,
            start_line,
            end_line,
            severity: hit.severity,
            rule: hit.rule.id.clone(),
            title: hit.rule.title.clone(),
            body: format!("{detail}{}\n\n**Fix:** {}", hit.rule.why, hit.rule.fix),
            quote,
            anchor,
            suggestion: self.suggestion(&hit.remark),
            base,
            runner: "rules".to_owned(),
            confidence: hit.rule.confidence,
            cwe: hit.rule.cwe.clone(),
            fingerprint,
            status: FindingStatus::New,
        }
    }
}

/// Findings are told file first, then by line; the old side's lines go before the new side's.
fn order(place: Place) -> (u32, u8, u32) {
    match place {
        Place::File => (0, 0, 0),
        Place::Lines(Side::Old, first, last) => (first, 0, last),
        Place::Lines(Side::New, first, last) => (first, 1, last),
    }
}

/// A quote without its white space's accidents, so that re-indenting keeps the fingerprint.
fn normalised(quote: &str) -> String {
    quote.split_whitespace().collect::<Vec<_>>().join(" ")
}

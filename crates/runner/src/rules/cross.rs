//! The checks that need the whole change: manifests against lock files.

use st_model::finding::{Finding, Side};

use super::assemble::{Assembly, Hit};
use super::checks::Check;
use super::config::Config;
use super::file::FileInput;
use super::lock_facts::Facts;
use super::pack::{Matcher, Pack};
use super::suppress::Suppressions;
use super::text::SideView;
use super::view::Place;
use crate::diff;

/// Runs them over what the files said of themselves. `with_input` gives a file's bytes again by
/// its index in `facts`, or `None` when they are gone.
pub fn review_across(
    pack: &Pack,
    config: &Config,
    facts: &[Facts],
    mut with_input: impl FnMut(usize, &mut dyn FnMut(FileInput<'_>)),
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut by_file: std::collections::BTreeMap<usize, Vec<Hit<'_>>> = std::collections::BTreeMap::new();
    for rule in pack.rules().iter().filter(|rule| config.enables(rule)) {
        for scoped in &rule.matchers {
            let Matcher::Builtin(Check::Change(check)) = &scoped.matcher else { continue };
            for (index, remark) in check(facts) {
                let severity = config.severity(rule).unwrap_or(rule.severity);
                by_file.entry(index).or_default().push(Hit { rule, severity, remark });
            }
        }
    }
    for (index, hits) in by_file {
        let mut hits = Some(hits);
        with_input(index, &mut |input| {
            let (_, Some(text)) = diff::sides(input.change, input.old, input.new) else { return };
            let side = SideView::new(&text.bytes, text.complete, |line| text.changed.contains(line), |line| text.known.contains(line));
            let mut suppressions = Suppressions::read(&side);
            let kept = hits
                .take()
                .unwrap_or_default()
                .into_iter()
                .filter(|hit| match hit.remark.place {
                    Place::Lines(Side::New, first, last) => !suppressions.covers(&hit.rule.id, first, last),
                    Place::File | Place::Lines(Side::Old, ..) => true,
                })
                .collect();
            let assembly = Assembly {
                change: input.change,
                old: None,
                new: Some(&side),
                old_version: input.old_version,
                new_version: input.new_version,
                can_suggest: false,
                secrets: Vec::new(),
            };
            findings.extend(assembly.findings(kept));
        });
    }
    findings
}

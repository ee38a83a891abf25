//! Manifests against lock files, over the whole change.

use st_model::finding::Side;

use crate::rules::lock_facts::{Ecosystem, Facts, Kind};
use crate::rules::view::{Place, Remark};

/// The lock files that cover a manifest: those of its own folder or of one above it.
fn locks_of<'a>(facts: &'a [Facts], manifest: &'a Facts) -> impl Iterator<Item = &'a Facts> {
    facts.iter().filter(|other| {
        other.ecosystem == manifest.ecosystem
            && matches!(other.kind, Kind::Lock { .. })
            && manifest.folder.starts_with(other.folder.as_str())
    })
}

pub(crate) fn out_of_step(facts: &[Facts]) -> Vec<(usize, Remark)> {
    let mut remarks = Vec::new();
    for (index, manifest) in facts.iter().enumerate() {
        let Kind::Manifest { added } = &manifest.kind else { continue };
        let locks: Vec<&std::collections::BTreeSet<String>> = locks_of(facts, manifest)
            .filter_map(|lock| match &lock.kind {
                Kind::Lock { packages } => packages.as_ref(),
                Kind::Manifest { .. } => None,
            })
            .collect();
        if locks.is_empty() {
            continue;
        }
        for (line, name) in added.iter().filter(|(_, name)| !locks.iter().any(|packages| packages.contains(name))) {
            let remark = Remark::at(Place::Lines(Side::New, *line, *line)).with(format!("The changed lock file does not hold `{name}`."));
            remarks.push((index, remark));
        }
    }
    remarks
}

pub(crate) fn not_changed(facts: &[Facts]) -> Vec<(usize, Remark)> {
    let mut remarks = Vec::new();
    for (index, manifest) in facts.iter().enumerate() {
        let Kind::Manifest { added } = &manifest.kind else { continue };
        let Some((line, name)) = added.first() else { continue };
        // A new manifest may have no lock file yet.
        if !manifest.existed || matches!(manifest.ecosystem, Ecosystem::Python) || locks_of(facts, manifest).next().is_some() {
            continue;
        }
        let detail = format!("The requirement on `{name}` changed and no lock file is part of the change.");
        remarks.push((index, Remark::at(Place::Lines(Side::New, *line, *line)).with(detail)));
    }
    remarks
}

//! Licence headers.

use st_model::change::ChangeStatus;
use st_model::finding::Side;

use crate::rules::view::{FileView, Place, Remark};

/// Lines from the top that can hold a header.
const HEADER_LINES: u32 = 40;

fn names_a_licence(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    lower.contains("spdx-license-identifier")
        || lower.contains("licensed under")
        || lower.contains("copyright (c)")
        || lower.contains("copyright ©")
}

pub(crate) fn header_removed(file: &FileView<'_>) -> Vec<Remark> {
    if file.change.status == ChangeStatus::Deleted {
        return Vec::new();
    }
    let (Some(old), Some(new)) = (&file.old, &file.new) else { return Vec::new() };
    let Some((first, _)) = old.changed_lines().take_while(|(number, _)| *number <= HEADER_LINES).find(|(_, line)| names_a_licence(line))
    else {
        return Vec::new();
    };
    // Moved, reworded or dated anew is not removed.
    if new.known_lines().take_while(|(number, _)| *number <= HEADER_LINES).any(|(_, line)| names_a_licence(line)) {
        return Vec::new();
    }
    vec![Remark::at(Place::Lines(Side::Old, first, first))]
}

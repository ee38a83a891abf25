//! Any bytes as a patch: no panic, no file twice, every hunk adds up, and what is written from
//! the outcome is read as the same change.

#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use st_model::change::{ChangeBody, LineKind};
use st_runner::diff::{parse_patch, sides, write_patch};

fuzz_target!(|bytes: &[u8]| {
    let Ok(parsed) = parse_patch(bytes) else { return };
    let mut seen = HashSet::new();
    for file in &parsed.change.files {
        assert!(seen.insert(file.path.clone()), "{} twice", file.path);
        if let ChangeBody::Text { hunks } = &file.body {
            for hunk in hunks {
                let on = |kind| hunk.lines.iter().filter(|line| line.kind == kind || line.kind == LineKind::Context).count();
                assert_eq!(u32::try_from(on(LineKind::Removed)), Ok(hunk.old_lines));
                assert_eq!(u32::try_from(on(LineKind::Added)), Ok(hunk.new_lines));
            }
        }
        let _ = sides(file, None, None);
    }
    for entry in &parsed.broken {
        assert!(seen.insert(entry.file.clone()), "{} twice", entry.file);
    }
    let written = write_patch(&parsed.change);
    if written.is_empty() {
        return;
    }
    let again = parse_patch(&written);
    let again = again.unwrap_or_else(|problem| panic!("what was written is not read: {problem}"));
    assert_eq!(again.broken, []);
    assert_eq!(again.change.line_counts(), parsed.change.line_counts());
});

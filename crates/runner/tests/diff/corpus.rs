//! Patches that the real tools made (`tests/data/patches/make.sh`), read and shown.

use std::fmt::Write as _;
use std::path::Path;

use st_model::change::{ChangeBody, LineEnding, LineKind};
use st_runner::diff::parse_patch;

/// What was read, for a person: files, hunks, the first lines of each hunk, notes.
fn show(patch: &[u8]) -> String {
    let mut out = String::new();
    let parsed = match parse_patch(patch) {
        Ok(parsed) => parsed,
        Err(problem) => return format!("{}: {}\n  {}\n", problem.code, problem.message, problem.fix.join("\n  ")),
    };
    for commit in &parsed.change.commits {
        let _ = writeln!(out, "commit {commit}");
    }
    for file in &parsed.change.files {
        let mode = |mode: Option<st_model::version::FileMode>| mode.map_or_else(|| "-".to_owned(), |mode| format!("{:06o}", mode.git()));
        let name = |path: &st_model::path::RepoPath| path.as_bytes().escape_ascii().to_string();
        let from = if file.old_path == file.path { String::new() } else { format!("{} -> ", name(&file.old_path)) };
        let _ = writeln!(out, "{:?} {from}{} {} {}", file.status, name(&file.path), mode(file.old_mode), mode(file.new_mode));
        let ChangeBody::Text { hunks } = &file.body else {
            let _ = writeln!(out, "  {:?}", file.body);
            continue;
        };
        for hunk in hunks {
            let section = hunk.section.escape_ascii();
            let _ = writeln!(out, "  -{},{} +{},{} [{section}]", hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines);
            for line in hunk.lines.iter().filter(|line| line.kind != LineKind::Context).take(4) {
                let sign = if line.kind == LineKind::Added { '+' } else { '-' };
                let ending = match line.ending {
                    LineEnding::Lf => "",
                    LineEnding::CrLf => " <crlf>",
                    LineEnding::None => " <no newline>",
                };
                let _ = writeln!(out, "    {sign}{}{ending}", line.text.escape_ascii());
            }
        }
    }
    for entry in &parsed.broken {
        let _ = writeln!(out, "broken {}: {:?}", entry.file, entry.status);
    }
    for note in &parsed.notes {
        let _ = writeln!(out, "note: {note}");
    }
    out
}

#[test]
fn patches_of_the_real_tools_are_read_as_they_were_meant() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/patches");
    let mut names: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|extension| extension == "patch"));
    names.sort();
    assert!(names.len() >= 17, "the patches are in {}", dir.display());
    let mut all = String::new();
    for path in names {
        let _ = writeln!(all, "== {}\n{}", path.file_name().unwrap().to_string_lossy(), show(&std::fs::read(&path).unwrap()));
    }
    insta::assert_snapshot!(all);
}

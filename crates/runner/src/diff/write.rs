//! Writing changes in git's format.

use std::ops::Range;

use st_model::change::{ChangeBody, ChangeSet, ChangeStatus, FileChange, Hunk, LineEnding, LineKind};
use st_model::path::RepoPath;
use st_model::version::FileMode;

use super::compare::compare;
use super::lines::ending_bytes;
use super::names::quote;

/// All of `change` as a patch in git's format.
#[must_use]
pub fn write_patch(change: &ChangeSet) -> Vec<u8> {
    change.files.iter().flat_map(write_file).collect()
}

/// One file's change in git's format. A binary change is named, not carried: its bytes are not
/// in a [`FileChange`].
#[must_use]
pub fn write_file(change: &FileChange) -> Vec<u8> {
    let mut out = Vec::new();
    if change.status == ChangeStatus::TypeChanged {
        // As git: the old kind goes, the new one comes.
        let (gone, come) = halves(change);
        out.extend(write_file(&gone));
        out.extend(write_file(&come));
        return out;
    }
    // Where nothing else says so, the kind of an unchanged mode must still be said.
    let says_mode = change.old_mode != change.new_mode || change.old_mode.is_some_and(|mode| mode != FileMode::Regular);
    if change.status == ChangeStatus::Modified && change.body == ChangeBody::Empty && !says_mode {
        // Nothing that a patch could state; a bare header would read as one that was cut off.
        return out;
    }
    let (old, new) = (change.old_path.as_bytes(), change.path.as_bytes());
    let mut line = |text: String| {
        out.extend_from_slice(text.as_bytes());
        out.push(b'\n');
    };
    line(format!("diff --git {} {}", quote("a/", old), quote("b/", new)));
    let mode = |mode: FileMode| format!("{:06o}", mode.git());
    match (change.status, change.old_mode, change.new_mode) {
        // An empty file has no other line that says that it came or went.
        (ChangeStatus::Added, _, None) if change.body == ChangeBody::Empty => line("new file mode 100644".into()),
        (ChangeStatus::Deleted, None, _) if change.body == ChangeBody::Empty => line("deleted file mode 100644".into()),
        (ChangeStatus::Added, _, Some(new)) => line(format!("new file mode {}", mode(new))),
        (ChangeStatus::Deleted, Some(old), _) => line(format!("deleted file mode {}", mode(old))),
        (ChangeStatus::Added | ChangeStatus::Deleted, _, _) => {}
        (_, old_mode, new_mode) if says_mode => {
            old_mode.into_iter().for_each(|old| line(format!("old mode {}", mode(old))));
            new_mode.into_iter().for_each(|new| line(format!("new mode {}", mode(new))));
        }
        _ => {}
    }
    let word = match change.status {
        ChangeStatus::Renamed => Some("rename"),
        ChangeStatus::Copied => Some("copy"),
        ChangeStatus::Added | ChangeStatus::Deleted | ChangeStatus::Modified | ChangeStatus::TypeChanged => None,
    };
    if let Some(word) = word {
        line(format!("{word} from {}", quote("", old)));
        line(format!("{word} to {}", quote("", new)));
    }
    let name = |prefix: &str, path: &[u8], absent: bool| if absent { "/dev/null".to_owned() } else { quote(prefix, path) };
    let old_name = name("a/", old, change.status == ChangeStatus::Added);
    let new_name = name("b/", new, change.status == ChangeStatus::Deleted);
    let marks = |out: &mut Vec<u8>| {
        // Git ends a name that holds a blank with a tab, so that no date is looked for in it.
        let tab = |name: &str| if name.contains(' ') && !name.starts_with('"') { "\t" } else { "" };
        out.extend_from_slice(format!("--- {old_name}{}\n+++ {new_name}{}\n", tab(&old_name), tab(&new_name)).as_bytes());
    };
    match &change.body {
        ChangeBody::Empty => {}
        ChangeBody::Binary { .. } => line(format!("Binary files {old_name} and {new_name} differ")),
        ChangeBody::Text { hunks } => {
            marks(&mut out);
            hunks.iter().for_each(|hunk| write_hunk(hunk, &mut out));
        }
        ChangeBody::Submodule { old, new } => {
            marks(&mut out);
            let (olds, news) = (usize::from(old.is_some()), usize::from(new.is_some()));
            out.extend_from_slice(format!("@@ -{} +{} @@\n", span(olds, olds), span(news, news)).as_bytes());
            for (sign, commit) in [('-', old), ('+', new)] {
                if let Some(commit) = commit {
                    out.extend_from_slice(format!("{sign}Subproject commit {commit}\n").as_bytes());
                }
            }
        }
    }
    out
}

/// A change of type as a deletion and an addition.
fn halves(change: &FileChange) -> (FileChange, FileChange) {
    let half = |status, own: LineKind| {
        let body = match &change.body {
            ChangeBody::Text { hunks } => {
                let lines: Vec<_> = hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.kind == own).cloned().collect();
                let count = u32::try_from(lines.len()).unwrap_or(u32::MAX);
                let (old_lines, new_lines) = if own == LineKind::Removed { (count, 0) } else { (0, count) };
                let hunk =
                    Hunk { old_start: old_lines.min(1), old_lines, new_start: new_lines.min(1), new_lines, section: Vec::new(), lines };
                if count == 0 { ChangeBody::Empty } else { ChangeBody::Text { hunks: vec![hunk] } }
            }
            body @ (ChangeBody::Binary { .. } | ChangeBody::Submodule { .. } | ChangeBody::Empty) => body.clone(),
        };
        let (old_mode, new_mode) = if own == LineKind::Removed { (change.old_mode, None) } else { (None, change.new_mode) };
        let path = if own == LineKind::Removed { &change.old_path } else { &change.path };
        FileChange { status, old_path: path.clone(), path: path.clone(), old_mode, new_mode, body }
    };
    (half(ChangeStatus::Deleted, LineKind::Removed), half(ChangeStatus::Added, LineKind::Added))
}

fn span(start: usize, lines: usize) -> String {
    if lines == 1 { start.to_string() } else { format!("{start},{lines}") }
}

fn write_hunk(hunk: &Hunk, out: &mut Vec<u8>) {
    let span = |start: u32, lines: u32| if lines == 1 { start.to_string() } else { format!("{start},{lines}") };
    let (old, new) = (span(hunk.old_start, hunk.old_lines), span(hunk.new_start, hunk.new_lines));
    out.extend_from_slice(format!("@@ -{old} +{new} @@").as_bytes());
    if !hunk.section.is_empty() {
        out.push(b' ');
        out.extend_from_slice(&hunk.section);
    }
    out.push(b'\n');
    for line in &hunk.lines {
        out.push(match line.kind {
            LineKind::Context => b' ',
            LineKind::Added => b'+',
            LineKind::Removed => b'-',
        });
        out.extend_from_slice(&line.text);
        out.extend_from_slice(ending_bytes(line.ending));
        if line.ending == LineEnding::None {
            out.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}

/// Bytes of a text, and what to put in their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The bytes to replace; empty for an insertion.
    pub range: Range<usize>,
    /// What comes there. Its `\n` become the line ending that the text has around there.
    pub text: String,
}

/// A patch that makes `edits` to `text`, the new side of `path`; `git apply` takes it on a tree
/// that holds `text`.
///
/// `None` when the edits overlap, leave the text, change nothing, or the lines around them are
/// not UTF-8, which a patch kept as text can't hold.
#[must_use]
pub fn suggestion_patch(path: &RepoPath, text: &[u8], edits: &[Edit]) -> Option<String> {
    let mut edits: Vec<&Edit> = edits.iter().collect();
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let mut edited = Vec::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        edited.extend_from_slice(text.get(at..edit.range.start)?);
        text.get(edit.range.clone())?;
        let crlf = ends_in_crlf(text, edit.range.start);
        let unified = edit.text.replace("\r\n", "\n");
        let replacement = if crlf { unified.replace('\n', "\r\n") } else { unified };
        edited.extend_from_slice(replacement.as_bytes());
        at = edit.range.end;
    }
    edited.extend_from_slice(&text[at..]);
    let hunks = compare(text, &edited);
    if hunks.is_empty() {
        return None;
    }
    let change = FileChange {
        status: ChangeStatus::Modified,
        old_path: path.clone(),
        path: path.clone(),
        old_mode: None,
        new_mode: None,
        body: ChangeBody::Text { hunks },
    };
    String::from_utf8(write_file(&change)).ok()
}

/// Whether the line at `at`, or the one before it when it has no ending, ends in CRLF.
fn ends_in_crlf(text: &[u8], at: usize) -> bool {
    let ending = memchr::memchr(b'\n', &text[at..]).map(|next| at + next).or_else(|| memchr::memrchr(b'\n', &text[..at]));
    ending.is_some_and(|newline| newline > 0 && text[newline - 1] == b'\r')
}

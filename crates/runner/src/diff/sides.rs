//! The two sides of a changed file as text with line numbers, for rules that read them.

use st_model::change::{ChangeBody, ChangeStatus, DiffLine, FileChange, Hunk, LineKind};
use st_model::review::PinnedFile;
use st_model::version::{FileMode, VersionPointer};

use super::compare::compare;
use super::lines::{LineSet, ending_bytes, raw_lines};
use super::text::{Content, content};

/// One side of a changed file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SideText {
    /// The text. Line N of the file is line N here; a line that a bare patch does not show is blank.
    pub bytes: Vec<u8>,
    /// Lines whose text is known: all of them with a blob, else those of the hunks.
    pub known: LineSet,
    /// Lines that the change added (new side) or removed (old side).
    pub changed: LineSet,
    /// Whether `bytes` is the whole file.
    pub complete: bool,
    /// Whether `bytes` is UTF-8 that was made from UTF-16. The line numbers hold; a patch made
    /// from this text would not apply to the file.
    pub transcoded: bool,
}

/// Both sides of `change` as `(old, new)`. With a blob a side is the whole file, without one it
/// is what the hunks show. A side is `None` when it does not exist, is binary, a submodule, or
/// when neither blob nor hunk tells its text.
#[must_use]
pub fn sides(change: &FileChange, old: Option<&[u8]>, new: Option<&[u8]>) -> (Option<SideText>, Option<SideText>) {
    let hunks: &[Hunk] = match &change.body {
        ChangeBody::Text { hunks } => hunks,
        ChangeBody::Empty => &[],
        ChangeBody::Binary { .. } | ChangeBody::Submodule { .. } => return (None, None),
    };
    let side = |kind, blob: Option<&[u8]>, exists, whole| match (blob, exists) {
        (_, false) => None,
        (Some(blob), true) => from_blob(hunks, kind, blob),
        (None, true) => from_hunks(hunks, kind, whole),
    };
    let (added, deleted) = (change.status == ChangeStatus::Added, change.status == ChangeStatus::Deleted);
    let swapped = change.status == ChangeStatus::TypeChanged;
    (side(LineKind::Removed, old, !added, deleted || swapped), side(LineKind::Added, new, !deleted, added || swapped))
}

fn from_blob(hunks: &[Hunk], own: LineKind, blob: &[u8]) -> Option<SideText> {
    let (text, transcoded) = match content(blob) {
        Content::Text(text) => (text.into_owned(), false),
        Content::Utf16(text) => (text, true),
        Content::Binary => return None,
    };
    let last = u32::try_from(raw_lines(&text).count()).unwrap_or(u32::MAX);
    let (_, mut changed) = lines_of(hunks, own);
    // A patch that does not belong to the blob must not point past its end.
    changed.clip(last);
    Some(SideText { bytes: text, known: LineSet::range(1, last), changed, complete: true, transcoded })
}

fn from_hunks(hunks: &[Hunk], own: LineKind, whole: bool) -> Option<SideText> {
    if hunks.is_empty() {
        return None;
    }
    let (known, changed) = lines_of(hunks, own);
    let mut bytes = Vec::new();
    let mut next: u32 = 1;
    for hunk in hunks {
        for (number, line) in numbered(hunk, own) {
            if next < number {
                bytes.resize(bytes.len() + usize::try_from(number - next).unwrap_or(0), b'\n');
            }
            bytes.extend_from_slice(&line.text);
            bytes.extend_from_slice(ending_bytes(line.ending));
            next = number.saturating_add(1);
        }
    }
    Some(SideText { bytes, known, changed, complete: whole, transcoded: false })
}

fn lines_of(hunks: &[Hunk], own: LineKind) -> (LineSet, LineSet) {
    let (mut known, mut changed) = (LineSet::default(), LineSet::default());
    for hunk in hunks {
        for (number, line) in numbered(hunk, own) {
            known.insert(number, number);
            if line.kind == own {
                changed.insert(number, number);
            }
        }
    }
    (known, changed)
}

/// The lines of a hunk that are on the side whose own lines are of kind `own`, with their numbers.
pub fn numbered(hunk: &Hunk, own: LineKind) -> impl Iterator<Item = (u32, &DiffLine)> {
    let start = if own == LineKind::Removed { hunk.old_start } else { hunk.new_start };
    hunk.lines
        .iter()
        .filter(move |line| line.kind == own || line.kind == LineKind::Context)
        .zip(start..)
        .map(|(line, number)| (number, line))
}

/// The change between two pinned versions. A side without bytes is `None`: it is absent, or a
/// submodule's commit.
///
/// Bytes that are missing where there should be some make a binary change of unknown size.
#[must_use]
pub fn from_blobs(pinned: &PinnedFile, old: Option<&[u8]>, new: Option<&[u8]>) -> FileChange {
    let (old_mode, new_mode) = (mode_of(&pinned.old), mode_of(&pinned.new));
    FileChange {
        status: pinned.status,
        old_path: pinned.old_path.clone(),
        path: pinned.path.clone(),
        old_mode,
        new_mode,
        body: body(pinned, old, new),
    }
}

fn mode_of(version: &VersionPointer) -> Option<FileMode> {
    match version {
        VersionPointer::Present { mode, .. } => Some(*mode),
        VersionPointer::Absent => None,
    }
}

fn body(pinned: &PinnedFile, old: Option<&[u8]>, new: Option<&[u8]>) -> ChangeBody {
    let commit = |version: &VersionPointer| match version {
        VersionPointer::Present { blob, mode: FileMode::Gitlink } => Some(blob.to_string()),
        VersionPointer::Present { .. } | VersionPointer::Absent => None,
    };
    let (old_commit, new_commit) = (commit(&pinned.old), commit(&pinned.new));
    if pinned.status != ChangeStatus::TypeChanged && (old_commit.is_some() || new_commit.is_some()) {
        return ChangeBody::Submodule { old: old_commit, new: new_commit };
    }
    // What a side shows when its type is swapped for another: a submodule shows as git prints it.
    let shown = |version: &VersionPointer, commit: Option<String>, bytes: Option<&[u8]>| match (version, commit, bytes) {
        (VersionPointer::Absent, _, _) => Some(Vec::new()),
        (_, Some(commit), _) => Some(format!("Subproject commit {commit}\n").into_bytes()),
        (_, None, bytes) => bytes.map(<[u8]>::to_vec),
    };
    let (Some(before), Some(after)) = (shown(&pinned.old, old_commit, old), shown(&pinned.new, new_commit, new)) else {
        return if pinned.old == pinned.new { ChangeBody::Empty } else { ChangeBody::Binary { old_size: size(old), new_size: size(new) } };
    };
    let (before, after) = match (content(&before), content(&after)) {
        (Content::Binary, _) | (_, Content::Binary) if before == after => return ChangeBody::Empty,
        (Content::Binary, _) | (_, Content::Binary) => return ChangeBody::Binary { old_size: size(old), new_size: size(new) },
        (before, after) => (before.into_text(), after.into_text()),
    };
    let hunks = if pinned.status == ChangeStatus::TypeChanged { swap(&before, &after) } else { compare(&before, &after) };
    if hunks.is_empty() { ChangeBody::Empty } else { ChangeBody::Text { hunks } }
}

fn size(bytes: Option<&[u8]>) -> Option<u64> {
    bytes.and_then(|bytes| u64::try_from(bytes.len()).ok())
}

/// A swap of file kinds: everything out, everything in.
fn swap(before: &[u8], after: &[u8]) -> Vec<Hunk> {
    let out = compare(before, b"").into_iter().next();
    let come = compare(b"", after).into_iter().next();
    join_swap(out, come).into_iter().collect()
}

/// One hunk from the hunk that empties a file and the hunk that fills its successor.
pub(super) fn join_swap(out: Option<Hunk>, come: Option<Hunk>) -> Option<Hunk> {
    match (out, come) {
        (Some(mut out), Some(come)) => {
            out.new_start = come.new_start;
            out.new_lines = come.new_lines;
            out.lines.extend(come.lines);
            Some(out)
        }
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use st_model::change::LineEnding;
    use st_model::path::RepoPath;
    use st_model::version::BlobId;

    fn pinned(status: ChangeStatus, old: VersionPointer, new: VersionPointer) -> PinnedFile {
        let path = RepoPath::parse(b"src/a.rs").unwrap();
        PinnedFile { status, old_path: path.clone(), path, old, new }
    }

    fn present(byte: u8, mode: FileMode) -> VersionPointer {
        VersionPointer::Present { blob: BlobId([byte; 20]), mode }
    }

    fn numbered_text(last: u32, edit: impl Fn(u32) -> String) -> Vec<u8> {
        (1..=last).map(|n| edit(n) + "\n").collect::<String>().into_bytes()
    }

    #[test]
    fn a_bare_patch_shows_its_lines_at_their_numbers_and_blanks_elsewhere() {
        let old = numbered_text(60, |n| format!("line {n}"));
        let new = numbered_text(60, |n| if n == 20 || n == 50 { format!("new {n}") } else { format!("line {n}") });
        let change = from_blobs(
            &pinned(ChangeStatus::Modified, present(1, FileMode::Regular), present(2, FileMode::Regular)),
            Some(&old),
            Some(&new),
        );
        let (Some(before), Some(after)) = sides(&change, None, None) else { panic!("both sides show") };
        let lines: Vec<&[u8]> = raw_lines(&after.bytes).collect();
        assert_eq!(lines[19], b"new 20\n");
        assert_eq!(lines[16], b"line 17\n");
        assert_eq!(lines[0], b"\n");
        assert_eq!(lines[30], b"\n");
        assert_eq!(lines[49], b"new 50\n");
        assert_eq!(after.changed.iter().collect::<Vec<_>>(), [20, 50]);
        assert_eq!(after.known.ranges().collect::<Vec<_>>(), [17..=23, 47..=53]);
        assert_eq!(before.changed.iter().collect::<Vec<_>>(), [20, 50]);
        assert_eq!(raw_lines(&before.bytes).nth(49).unwrap(), b"line 50\n");
        assert!(!after.complete);

        let (Some(_), Some(after)) = sides(&change, Some(&old), Some(&new)) else { panic!("both sides show") };
        assert_eq!(after.bytes, new);
        assert!(after.complete);
        assert_eq!(after.known.ranges().collect::<Vec<_>>(), [1..=60]);
        assert_eq!(after.changed.iter().collect::<Vec<_>>(), [20, 50]);
    }

    #[test]
    fn an_added_file_has_no_old_side_and_is_whole_without_its_blob() {
        let change = from_blobs(&pinned(ChangeStatus::Added, VersionPointer::Absent, present(2, FileMode::Regular)), None, Some(b"a\r\nb"));
        let (before, after) = sides(&change, None, None);
        assert_eq!(before, None);
        let after = after.unwrap();
        assert_eq!(after.bytes, b"a\r\nb");
        assert!(after.complete);
        assert_eq!(after.changed.iter().collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn a_submodule_is_no_text_and_keeps_both_commits() {
        let change = from_blobs(&pinned(ChangeStatus::Modified, present(1, FileMode::Gitlink), present(2, FileMode::Gitlink)), None, None);
        assert_eq!(change.body, ChangeBody::Submodule { old: Some("01".repeat(20)), new: Some("02".repeat(20)) });
        assert_eq!(sides(&change, None, None), (None, None));
    }

    #[test]
    fn a_file_swapped_for_a_symlink_is_out_and_in() {
        let change = from_blobs(
            &pinned(ChangeStatus::TypeChanged, present(1, FileMode::Regular), present(2, FileMode::Symlink)),
            Some(b"a\nb\n"),
            Some(b"/etc/passwd"),
        );
        let ChangeBody::Text { hunks } = &change.body else { panic!("text") };
        assert_eq!(hunks.len(), 1);
        assert_eq!((hunks[0].old_start, hunks[0].old_lines, hunks[0].new_start, hunks[0].new_lines), (1, 2, 1, 1));
        assert_eq!(hunks[0].lines[2].ending, LineEnding::None);
    }

    #[test]
    fn binary_content_keeps_its_sizes_and_utf16_is_read_as_text() {
        let file = pinned(ChangeStatus::Modified, present(1, FileMode::Regular), present(2, FileMode::Regular));
        let change = from_blobs(&file, Some(b"a\0b"), Some(b"a\0bc"));
        assert_eq!(change.body, ChangeBody::Binary { old_size: Some(3), new_size: Some(4) });

        let wide = |text: &str| [&b"\xff\xfe"[..], &text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>()].concat();
        let (old, new) = (wide("one\r\ntwo\r\n"), wide("one\r\nzwei\r\n"));
        let change = from_blobs(&file, Some(&old), Some(&new));
        assert_eq!(change.line_counts(), (1, 1));
        let (_, after) = sides(&change, Some(&old), Some(&new));
        let after = after.unwrap();
        assert_eq!(after.bytes, b"one\r\nzwei\r\n");
        assert!(after.transcoded);
        assert_eq!(after.changed.iter().collect::<Vec<_>>(), [2]);
    }
}

//! Rules that hold for any change and any bytes.

use proptest::prelude::*;
use st_model::change::{ChangeBody, ChangeSet, ChangeStatus, DiffLine, FileChange, Hunk, LineEnding, LineKind};
use st_model::path::RepoPath;
use st_model::version::FileMode;
use st_runner::diff::{Edit, apply, compare, numbered, parse_patch, sides, suggestion_patch, write_patch};

fn any_line() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => "[a-d]{0,2}".prop_map(String::into_bytes),
        1 => Just(b"--".to_vec()),
        1 => Just(b"++ b/x".to_vec()),
        1 => Just(b"-- a/x".to_vec()),
        1 => Just(b"\\ No newline".to_vec()),
        1 => prop::collection::vec(any::<u8>().prop_filter("a line", |byte| *byte != b'\n'), 0..6),
    ]
}

fn any_text() -> impl Strategy<Value = Vec<u8>> {
    let ending = prop_oneof![6 => Just(&b"\n"[..]), 1 => Just(&b"\r\n"[..])];
    (prop::collection::vec((any_line(), ending), 0..40), any::<bool>()).prop_map(|(lines, newline)| {
        let mut text: Vec<u8> = lines.into_iter().flat_map(|(line, ending)| [line, ending.to_vec()].concat()).collect();
        if !newline && text.ends_with(b"\n") {
            text.pop();
        }
        text
    })
}

/// A text and a few edits of it.
fn any_versions(steps: usize) -> impl Strategy<Value = Vec<Vec<u8>>> {
    (any_text(), prop::collection::vec((any::<prop::sample::Index>(), 0usize..4, prop::collection::vec(any_line(), 0..3)), steps)).prop_map(
        |(first, edits)| {
            let mut versions = vec![first];
            for (at, remove, put) in edits {
                let last = versions.last().unwrap();
                let mut lines: Vec<Vec<u8>> = last.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
                let at = at.index(lines.len() + 1);
                let end = (at + remove).min(lines.len());
                if at > 0 && !lines[at - 1].ends_with(b"\n") && !put.is_empty() {
                    lines[at - 1].push(b'\n');
                }
                lines.splice(at..end, put.into_iter().map(|line| [line, b"\n".to_vec()].concat()));
                versions.push(lines.concat());
            }
            versions
        },
    )
}

fn change(status: ChangeStatus, path: &str, hunks: Vec<Hunk>) -> FileChange {
    let path = RepoPath::parse(path.as_bytes()).unwrap();
    let body = if hunks.is_empty() { ChangeBody::Empty } else { ChangeBody::Text { hunks } };
    let old_mode = (status != ChangeStatus::Added).then_some(FileMode::Executable);
    let new_mode = (status != ChangeStatus::Deleted).then_some(FileMode::Executable);
    FileChange { status, old_path: path.clone(), path, old_mode, new_mode, body }
}

fn well_formed(hunks: &[Hunk]) -> Result<(), TestCaseError> {
    let mut delta = 0i64;
    let mut next = 1u32;
    for hunk in hunks {
        let on =
            |kind| u32::try_from(hunk.lines.iter().filter(|line| line.kind == kind || line.kind == LineKind::Context).count()).unwrap();
        prop_assert_eq!(on(LineKind::Removed), hunk.old_lines);
        prop_assert_eq!(on(LineKind::Added), hunk.new_lines);
        let old_at = hunk.old_start + u32::from(hunk.old_lines == 0);
        let new_at = hunk.new_start + u32::from(hunk.new_lines == 0);
        prop_assert!(old_at >= next, "hunks overlap");
        prop_assert_eq!(i64::from(new_at), i64::from(old_at) + delta);
        next = old_at + hunk.old_lines;
        delta += i64::from(hunk.new_lines) - i64::from(hunk.old_lines);
    }
    Ok(())
}

fn reversed(hunks: &[Hunk]) -> Vec<Hunk> {
    let flip = |line: &DiffLine| DiffLine {
        kind: match line.kind {
            LineKind::Added => LineKind::Removed,
            LineKind::Removed => LineKind::Added,
            LineKind::Context => LineKind::Context,
        },
        ..line.clone()
    };
    let turn = |hunk: &Hunk| Hunk {
        old_start: hunk.new_start,
        old_lines: hunk.new_lines,
        new_start: hunk.old_start,
        new_lines: hunk.old_lines,
        section: Vec::new(),
        lines: hunk.lines.iter().map(flip).collect(),
    };
    hunks.iter().map(turn).collect()
}

fn any_status() -> impl Strategy<Value = ChangeStatus> {
    use ChangeStatus::{Added, Copied, Deleted, Modified, Renamed, TypeChanged};
    prop::sample::select(vec![Added, Copied, Deleted, Modified, Renamed, TypeChanged])
}

fn any_mode() -> impl Strategy<Value = FileMode> {
    prop::sample::select(vec![FileMode::Regular, FileMode::Executable, FileMode::Symlink])
}

/// Changes as git can state them.
fn any_change() -> impl Strategy<Value = FileChange> {
    let name = prop::collection::vec(any::<u8>().prop_filter("a name", |byte| !matches!(byte, 0 | b'/')), 1..8);
    (any_status(), name.clone(), name, any_text(), any_text(), any_mode(), any_mode(), 0..4).prop_filter_map(
        "a change that git can state",
        |(status, old_name, new_name, old, new, old_mode, new_mode, shape)| {
            use ChangeStatus::{Added, Copied, Deleted, Modified, Renamed, TypeChanged};
            let path = RepoPath::parse(&[b"d/", new_name.as_slice()].concat()).ok()?;
            let moved = matches!(status, Renamed | Copied);
            let old_path = if moved { RepoPath::parse(&[b"d/", old_name.as_slice()].concat()).ok()? } else { path.clone() };
            if moved && old_path == path {
                return None;
            }
            // Names that no patch can carry are another test's matter.
            let unsafe_name = |path: &RepoPath| path.as_bytes().split(|byte| matches!(byte, b'/' | b'\\')).any(|part| part == b"..");
            if unsafe_name(&path) || unsafe_name(&old_path) {
                return None;
            }
            let (old, new) = match status {
                Added => (Vec::new(), new),
                Deleted => (old, Vec::new()),
                Modified | Renamed | Copied | TypeChanged => (old, new),
            };
            let (mut old_mode, mut new_mode) = (Some(old_mode).filter(|_| status != Added), Some(new_mode).filter(|_| status != Deleted));
            let mut body = ChangeBody::Empty;
            match status {
                TypeChanged => {
                    (old_mode, new_mode) = (Some(FileMode::Regular), Some(FileMode::Symlink));
                    let out = compare(&old, b"").pop();
                    let come = compare(b"", &new).pop();
                    let (Some(mut out), Some(come)) = (out, come) else { return None };
                    out.new_lines = come.new_lines;
                    out.new_start = come.new_start;
                    out.section.clear();
                    out.lines.extend(come.lines);
                    body = ChangeBody::Text { hunks: vec![out] };
                }
                Added | Deleted | Modified | Renamed | Copied => {
                    let same = !matches!(status, Added | Deleted);
                    if same && (old_mode == Some(FileMode::Symlink)) != (new_mode == Some(FileMode::Symlink)) {
                        new_mode = old_mode;
                    }
                    if old_mode == new_mode && old_mode == Some(FileMode::Regular) {
                        (old_mode, new_mode) = (None, None);
                    }
                    let hunks = compare(&old, &new);
                    match shape {
                        0 => {
                            body = ChangeBody::Binary { old_size: None, new_size: None };
                        }
                        1 if same => {
                            (old_mode, new_mode) = (Some(FileMode::Gitlink), Some(FileMode::Gitlink));
                            body = ChangeBody::Submodule { old: Some("12ab".repeat(10)), new: Some("34cd".repeat(10)) };
                        }
                        _ if !hunks.is_empty() => body = ChangeBody::Text { hunks },
                        _ if same && !moved && old_mode == new_mode => return None,
                        _ => {}
                    }
                }
            }
            Some(FileChange { status, old_path, path, old_mode, new_mode, body })
        },
    )
}

proptest! {
    #[test]
    fn applying_a_comparison_gives_the_new_text_and_back(old in any_text(), new in any_text()) {
        let hunks = compare(&old, &new);
        well_formed(&hunks)?;
        prop_assert_eq!(&apply(&old, &hunks).unwrap(), &new);
        prop_assert_eq!(&apply(&new, &reversed(&hunks)).unwrap(), &old);
        prop_assert_eq!(hunks.is_empty(), old == new);
        let far = hunks.windows(2).all(|pair| pair[1].old_start > pair[0].old_start + pair[0].old_lines.saturating_sub(1));
        prop_assert!(far);
    }

    #[test]
    fn what_is_written_is_read_again_as_it_was(file in any_change()) {
        let change = ChangeSet { files: vec![file], commits: Vec::new() };
        let patch = write_patch(&change);
        let parsed = parse_patch(&patch).map_err(|problem| TestCaseError::fail(format!("{problem}\n{}", patch.escape_ascii())))?;
        prop_assert_eq!(parsed.broken, vec![]);
        prop_assert_eq!(parsed.change, change, "{}", patch.escape_ascii());
    }

    #[test]
    fn a_patch_through_crlf_and_coloured_terminals_is_the_same_change(old in "([a-e]{0,3}\n){0,20}", new in "([a-e]{0,3}\n){0,20}") {
        prop_assume!(old != new);
        let file = change(ChangeStatus::Modified, "d/x.txt", compare(old.as_bytes(), new.as_bytes()));
        let change = ChangeSet { files: vec![file], commits: Vec::new() };
        let patch = String::from_utf8(write_patch(&change)).unwrap();
        let wide: Vec<u8> = [0xfeff].into_iter().chain(patch.replace('\n', "\r\n").encode_utf16()).flat_map(u16::to_le_bytes).collect();
        let coloured: String = patch.lines().map(|line| format!("\u{1b}[1;32m{line}\u{1b}[m\n")).collect();
        for form in [patch.replace('\n', "\r\n").into_bytes(), wide, coloured.into_bytes(), format!("\u{feff}{patch}").into_bytes()] {
            let parsed = parse_patch(&form).unwrap();
            prop_assert_eq!(&parsed.change, &change);
            prop_assert!(!parsed.notes.is_empty(), "the user is told");
        }
    }

    #[test]
    fn a_series_of_patches_is_its_net_change(versions in any_versions(5)) {
        let mut patch = Vec::new();
        for (step, pair) in versions.windows(2).enumerate() {
            let hunks = compare(&pair[0], &pair[1]);
            if hunks.is_empty() {
                continue;
            }
            let file = change(ChangeStatus::Modified, "d/x.txt", hunks);
            patch.extend(format!("From {step:040x} Mon Sep 17 00:00:00 2001\nFrom: T <t@example.org>\nSubject: [PATCH] step {step}\n\n---\n").into_bytes());
            patch.extend(write_patch(&ChangeSet { files: vec![file], commits: Vec::new() }));
            patch.extend(b"-- \n2.47.3\n\n");
        }
        let (first, last) = (versions.first().unwrap(), versions.last().unwrap());
        if patch.is_empty() {
            return Ok(());
        }
        match parse_patch(&patch) {
            Ok(parsed) => {
                prop_assert_eq!(&parsed.broken, &vec![], "{}", patch.escape_ascii());
                let [file] = parsed.change.files.as_slice() else { return Err(TestCaseError::fail("one file")) };
                let ChangeBody::Text { hunks } = &file.body else { return Err(TestCaseError::fail("text")) };
                well_formed(hunks)?;
                prop_assert_eq!(&apply(first, hunks).unwrap(), last, "{}", patch.escape_ascii());
                // The same lines come and go as between both ends, cancelled pairs aside.
                let direct = change(ChangeStatus::Modified, "d/x.txt", compare(first, last)).line_counts();
                let net = file.line_counts();
                prop_assert_eq!(i128::from(net.0) - i128::from(net.1), i128::from(direct.0) - i128::from(direct.1));
                let steps = versions.windows(2).map(|pair| change(ChangeStatus::Modified, "d/x.txt", compare(&pair[0], &pair[1])).line_counts());
                let sum = steps.fold((0, 0), |sum, next| (sum.0 + next.0, sum.1 + next.1));
                prop_assert!(net.0 <= sum.0 && net.1 <= sum.1);
            }
            Err(problem) => prop_assert_eq!(first, last, "{}", problem),
        }
    }

    #[test]
    fn both_sides_show_each_line_at_its_number(old in any_text(), new in any_text()) {
        prop_assume!(!old.contains(&0) && !new.contains(&0));
        let file = change(ChangeStatus::Modified, "d/x.txt", compare(&old, &new));
        let ChangeBody::Text { hunks } = &file.body else { return Ok(()) };
        let (before, after) = sides(&file, None, None);
        let (whole_before, whole_after) = sides(&file, Some(&old), Some(&new));
        for (side, whole, own) in [(before, whole_before, LineKind::Removed), (after, whole_after, LineKind::Added)] {
            let (side, whole) = (side.unwrap(), whole.unwrap());
            let rows: Vec<&[u8]> = side.bytes.split_inclusive(|&byte| byte == b'\n').collect();
            let whole_rows: Vec<&[u8]> = whole.bytes.split_inclusive(|&byte| byte == b'\n').collect();
            prop_assert_eq!(&side.changed, &whole.changed);
            for (number, line) in hunks.iter().flat_map(|hunk| numbered(hunk, own)) {
                let index = usize::try_from(number).unwrap() - 1;
                prop_assert_eq!(rows[index], whole_rows[index]);
                prop_assert!(side.known.contains(number) && whole.known.contains(number));
                prop_assert_eq!(side.changed.contains(number), line.kind == own);
            }
            for (index, row) in rows.iter().enumerate() {
                let known = side.known.contains(u32::try_from(index).unwrap() + 1);
                prop_assert!(known || *row == b"\n");
            }
        }
    }

    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse_patch(&bytes);
    }

    #[test]
    fn any_pieces_of_patches_are_answered(pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..30)) {
        check_consistent(pieces.concat().as_bytes())?;
    }

    #[test]
    fn a_damaged_patch_loses_no_file(
        versions in any_versions(3),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0u8..4, any::<u8>()), 1..4),
    ) {
        let mut files = Vec::new();
        for (index, pair) in versions.windows(2).enumerate() {
            files.push(change(ChangeStatus::Modified, &format!("d/file{index}.txt"), compare(&pair[0], &pair[1])));
        }
        files.push(change(ChangeStatus::Added, "d/new.txt", compare(b"", &versions[0])));
        let mut patch = write_patch(&ChangeSet { files, commits: Vec::new() });
        for (at, how, byte) in cuts {
            let at = at.index(patch.len().max(1));
            match how {
                0 if at < patch.len() => patch[at] = byte,
                1 => patch.truncate(at),
                2 => patch.insert(at, byte),
                _ if at < patch.len() => drop(patch.remove(at)),
                _ => {}
            }
        }
        check_consistent(&patch)?;
    }

    #[test]
    fn a_suggestion_is_a_patch_that_makes_the_edit(text in "([a-d]{0,3}\n){1,12}", at in any::<prop::sample::Index>(), len in 0usize..6, put in "[x\n]{0,4}") {
        let start = at.index(text.len());
        let end = (start + len).min(text.len());
        let path = RepoPath::parse(b"d/x.txt").unwrap();
        let edited = format!("{}{put}{}", &text[..start], &text[end..]);
        match suggestion_patch(&path, text.as_bytes(), &[Edit { range: start..end, text: put }]) {
            Some(patch) => {
                let parsed = parse_patch(patch.as_bytes()).unwrap();
                let ChangeBody::Text { hunks } = &parsed.change.files[0].body else { return Err(TestCaseError::fail("text")) };
                prop_assert_eq!(apply(text.as_bytes(), hunks).unwrap(), edited.into_bytes());
            }
            None => prop_assert_eq!(text, edited),
        }
    }
}

/// Lines from which valid and broken patches come together.
const PIECES: &[&str] = &[
    "diff --git a/x b/x\n",
    "diff --git a/y b/z\n",
    "diff --cc x\n",
    "index 1234567..89abcde 100644\n",
    "index 0000000..e69de29\n",
    "new file mode 100644\n",
    "deleted file mode 100644\n",
    "old mode 100644\n",
    "new mode 100755\n",
    "new mode 160000\n",
    "rename from y\n",
    "rename to z\n",
    "copy from x\n",
    "copy to z\n",
    "--- a/x\n",
    "+++ b/x\n",
    "--- /dev/null\n",
    "+++ /dev/null\n",
    "+++ b/../x\n",
    "@@ -1 +1 @@\n",
    "@@ -0,0 +1,2 @@\n",
    "@@ -1,2 +0,0 @@\n",
    "@@ -1,3 +1,3 @@ fn\r\n",
    "@@ -4294967295,3 +99999999999999999999,1 @@\n",
    "@@@ -1,2 -1,2 +1,2 @@@\n",
    " a\n",
    "-a\n",
    "+a\n",
    "+a\r\n",
    "\n",
    "\\ No newline at end of file\n",
    "GIT binary patch\n",
    "literal 0\nHcmV?d00001\n\n",
    "delta 5\n",
    "Binary files a/x and b/x differ\n",
    "Index: x\n===================================================================\n",
    "Only in a: x\n",
    "Submodule x 1234567..89abcde:\n",
    "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\nSubject: [PATCH 2/2] x\n\n",
    "commit 0123456789012345678901234567890123456789\nAuthor: x\n\n    y\n\n",
    "Content-Transfer-Encoding: base64\n",
    "-- \n2.47.3\n",
    "---\n",
    "\u{1b}[1m--- a/x\u{1b}[m\n",
];

/// What holds for the outcome of any input: every hunk adds up, and every file that a
/// `diff --git` line names is in the change or listed as broken, once.
fn check_consistent(patch: &[u8]) -> Result<(), TestCaseError> {
    let Ok(parsed) = parse_patch(patch) else { return Ok(()) };
    let mut seen = std::collections::BTreeSet::new();
    for file in &parsed.change.files {
        prop_assert!(seen.insert(file.path.clone()), "{} twice: {}", file.path, patch.escape_ascii());
        if let ChangeBody::Text { hunks } = &file.body {
            prop_assert!(!hunks.is_empty());
            if file.status != ChangeStatus::TypeChanged {
                well_formed(hunks)?;
            }
            for line in hunks.iter().flat_map(|hunk| &hunk.lines) {
                prop_assert!(!line.text.contains(&b'\n'));
                prop_assert!(line.ending == LineEnding::CrLf || line.ending == LineEnding::None || !line.text.ends_with(b"\r"));
            }
        }
        let _ = sides(file, None, None);
    }
    for entry in &parsed.broken {
        prop_assert!(seen.insert(entry.file.clone()), "{} twice: {}", entry.file, patch.escape_ascii());
    }
    let written = write_patch(&parsed.change);
    if !written.is_empty() {
        let again = parse_patch(&written).map_err(|problem| TestCaseError::fail(format!("{problem}: {}", written.escape_ascii())))?;
        prop_assert_eq!(again.broken, vec![], "{}", written.escape_ascii());
        prop_assert_eq!(again.change.line_counts(), parsed.change.line_counts(), "{}", written.escape_ascii());
    }
    let series = parsed.notes.iter().any(|note| note.contains("collapsed"));
    let renames = parsed.change.files.iter().any(|file| file.old_path != file.path);
    if series || renames {
        return Ok(());
    }
    for line in patch.split(|&byte| byte == b'\n') {
        if let Some(rest) = line.strip_prefix(b"diff --git a/d/file")
            && let Some(name) = rest.split(|&byte| byte == b' ').next()
            && rest.ends_with(&[b" b/d/file", name].concat())
        {
            let path = [b"d/file", name].concat();
            let listed = seen.iter().any(|file| file.as_bytes() == path || file.as_bytes().starts_with(b"unsafe-name/"));
            prop_assert!(listed, "{} is lost: {}", path.escape_ascii(), patch.escape_ascii());
        }
    }
    Ok(())
}

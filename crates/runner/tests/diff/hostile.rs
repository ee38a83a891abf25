//! Input that is broken, absurd, or no patch at all: a clear answer, and no file lost.

use st_model::change::{ChangeBody, ChangeStatus, LineEnding};
use st_model::coverage::{CoverageStatus, SkipReason};
use st_model::problem::ErrorCode;
use st_runner::diff::{ParsedPatch, parse_patch};

/// A file whose part is sound, to see that it survives its neighbours.
const SOUND: &str =
    "diff --git a/sound.txt b/sound.txt\nindex 1234567..89abcde 100644\n--- a/sound.txt\n+++ b/sound.txt\n@@ -1 +1 @@\n-a\n+b\n";

fn refused(bytes: &[u8]) -> (ErrorCode, String) {
    match parse_patch(bytes) {
        Ok(parsed) => panic!("{:?} was taken: {parsed:?}", bytes[..bytes.len().min(80)].escape_ascii().to_string()),
        Err(problem) => {
            assert!(!problem.fix.is_empty());
            (problem.code, problem.message)
        }
    }
}

/// Reads `part` between two sound files; gives path and reason of what broke.
fn broken_between(part: &str) -> Vec<(String, String)> {
    let patch = format!("{SOUND}{part}{}", SOUND.replace("sound", "second"));
    let parsed = parse_patch(patch.as_bytes()).unwrap_or_else(|problem| panic!("{problem}: {patch}"));
    let names: Vec<String> = parsed.change.files.iter().map(|file| file.path.lossy()).collect();
    assert_eq!(names, ["sound.txt", "second.txt"], "the neighbours survive: {patch}");
    let show = |status: &CoverageStatus| match status {
        CoverageStatus::Failed(why) => why.clone(),
        other => panic!("{other:?}"),
    };
    parsed.broken.iter().map(|entry| (entry.file.lossy(), show(&entry.status))).collect()
}

#[test]
fn bytes_that_are_no_patch_are_named_for_what_they_are() {
    let tar = [vec![b'x'; 257], b"ustar\0".to_vec(), vec![0; 249]].concat();
    let wide: Vec<u8> = "diff --git a/x b/x".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (bytes, code, words) in [
        (&b"PK\x03\x04\x14\0\0\0"[..], ErrorCode::UnsupportedInput, "a zip archive"),
        (b"\x1f\x8b\x08\0", ErrorCode::UnsupportedInput, "gzip-compressed"),
        (b"BZh91AY", ErrorCode::UnsupportedInput, "bzip2"),
        (b"\xfd7zXZ\0\0", ErrorCode::UnsupportedInput, "xz-compressed"),
        (b"\x28\xb5\x2f\xfd..", ErrorCode::UnsupportedInput, "zstd"),
        (b"%PDF-1.7\n", ErrorCode::UnsupportedInput, "a PDF"),
        (b"\x89PNG\r\n\x1a\n", ErrorCode::UnsupportedInput, "a PNG"),
        (b"\x7fELF\x02", ErrorCode::UnsupportedInput, "a program"),
        (b"SQLite format 3\0", ErrorCode::UnsupportedInput, "SQLite"),
        (b"# v2 git bundle\n", ErrorCode::UnsupportedInput, "a git bundle"),
        (&tar, ErrorCode::UnsupportedInput, "a tar archive"),
        (b"\x01\x02\x03\0\x05\x06\x07", ErrorCode::UnsupportedInput, "binary data"),
        (&wide, ErrorCode::UnsupportedInput, "UTF-16 text without a byte order mark"),
        (b"<!DOCTYPE html><html>", ErrorCode::UnsupportedInput, "a web page"),
        (b"hello\nworld\n", ErrorCode::MalformedPatch, "no diff is in it"),
        (b"| a | b |\n|---|---|\n", ErrorCode::MalformedPatch, "no diff is in it"),
        (b"*** a/x 2024\n--- b/x 2024\n***************\n*** 1 ****\n! a\n--- 1 ----\n! b\n", ErrorCode::UnsupportedInput, "context diff"),
        (b"3c3\n< a\n---\n> b\n", ErrorCode::UnsupportedInput, "without context"),
        (b"3c\nb\n.\n", ErrorCode::UnsupportedInput, "ed script"),
        (b"3,4d\n", ErrorCode::UnsupportedInput, "ed script"),
        (b"@@ -1 +1 @@\n-a\n+b\n", ErrorCode::MalformedPatch, "without the name"),
        (b"", ErrorCode::NothingToReview, "empty"),
        (b" \r\n\n", ErrorCode::NothingToReview, "empty"),
    ] {
        let (got, message) = refused(bytes);
        assert_eq!(got, code, "{message}");
        assert!(message.contains(words), "`{message}` should say `{words}`");
    }
}

#[test]
fn a_merge_s_combined_diff_is_refused_with_words() {
    let combined = "diff --cc x.txt\nindex 1,2..3\n--- a/x.txt\n+++ b/x.txt\n@@@ -1,1 -1,1 +1,1 @@@\n- a\n -b\n++c\n";
    assert_eq!(refused(combined.as_bytes()).0, ErrorCode::CombinedDiff);
    assert_eq!(refused(combined.replace("--cc", "--combined").as_bytes()).0, ErrorCode::CombinedDiff);
    let broken = broken_between(combined);
    assert_eq!(broken.len(), 1);
    assert_eq!(broken[0].0, "x.txt");
    assert!(broken[0].1.contains("line 8 of the patch: a combined diff"), "{}", broken[0].1);
}

#[test]
fn a_broken_part_says_its_line_and_spares_its_neighbours() {
    let head = "diff --git a/x.c b/x.c\nindex 1111111..2222222 100644\n--- a/x.c\n+++ b/x.c\n";
    for (part, line, words) in [
        (format!("{head}@@ -1,5 +1,5 @@\n a\n-b\n+c\n"), 16, "announces 5 old and 5 new lines, but has 2 old and 2 new"),
        (format!("{head}@@ -1 +1 @@\n-b\n+c\n+d\n"), 15, "more changed lines than"),
        (format!("{head}@@ -1,2 +1,2 @@\n a\n-b\n+c\n d\n+e\n"), 17, "more changed lines than"),
        (format!("{head}@@ -1 +1 @@\n-b\n-c\n"), 14, "but has 1 old and 0 new"),
        (format!("{head}@@ -x +1 @@\n-b\n+c\n"), 12, "file names without a hunk"),
        (format!("{head}@@ -1 +1\n-b\n+c\n"), 12, "does not end in `@@`"),
        (format!("{head}@@ -4294967295,2 +1,2 @@\n-b\n+c\n"), 12, "above 10,000,000"),
        (format!("{head}@@ -1,99999999999999999999 +1 @@\n-b\n+c\n"), 12, "above 10,000,000"),
        (format!("{head}@@ -4000000000 +4000000000 @@\n-b\n+c\n"), 12, "above 10,000,000"),
        (format!("{head}@@ -0,3 +0,3 @@\n a\n-b\n+c\n d\n"), 12, "starts at line 0"),
        (format!("{head}@@ -5,2 +5,2 @@\n a\n-b\n+c\n@@ -6 +6 @@\n-c\n+d\n"), 16, "overlap or are out of order"),
        (format!("{head}@@ -1,2 +1,2 @@\n-b\n\\ No newline at end of file\n+c\n d\n"), 14, "in the middle"),
        (format!("{head}@@ -1 +1 @@\n\\ No newline at end of file\n-b\n+c\n"), 13, "before any line"),
        (format!("{head}@@ -1 +1 @@\n-b\n+c\n\\ No newline at end of file\n@@ -9 +9 @@\n-b\n+c\n"), 16, "follows the end"),
        ("diff --git a/x.c b/x.c\nindex 1111111..2222222 100644\n".into(), 8, "no hunk follows"),
        ("--- a/x.c\n+++ b/x.c\n@@ -1 +1 @@ \n-a\n".into(), 12, "but has 1 old and 0 new"),
        ("diff --git a/x.c b/x.c\n".into(), 8, "nothing behind it"),
        ("diff --git a/x.c b/x.c\nindex 1111111..2222222\nGIT binary patch\nliteral 3\nnot base85\n\n".into(), 12, "base 85"),
        ("diff --git a/x.c b/x.c\nindex 1111111..2222222\nGIT binary patch\nliteral 3\n\n".into(), 11, "without data"),
        ("diff --git a/x.c b/x.c\nindex 1111111..2222222\nGIT binary patch\nliteral z\n".into(), 11, "no number"),
        (
            "diff --git a/x.c b/x.c\nnew file mode 100644\n--- /dev/null\n+++ b/x.c\n@@ -1 +1 @@\n-a\n+b\n".into(),
            8,
            "new file whose hunks have old lines",
        ),
        ("diff --git a/x.c b/x.c\n--- a/x.c\n+++ b/y.c\n@@ -1 +1 @@\n-a\n+b\n".into(), 8, "name different files"),
    ] {
        let broken = broken_between(&part);
        assert_eq!(broken.len(), 1, "{broken:?} of {part}");
        assert_eq!(broken[0].0, "x.c", "{part}");
        assert!(broken[0].1.starts_with(&format!("line {line} of the patch: ")), "`{}` should be of line {line}: {part}", broken[0].1);
        assert!(broken[0].1.contains(words), "`{}` should say `{words}`", broken[0].1);
    }
}

#[test]
fn a_patch_cut_off_anywhere_loses_no_file_silently() {
    let part = |name: &str| SOUND.replace("sound", name);
    let patch = [part("one"), part("two"), part("three")].concat();
    for end in 1..patch.len() {
        let cut = &patch[..end];
        let named = cut.lines().filter(|line| line.starts_with("diff --git a/") && line.ends_with(".txt") && line.contains(" b/")).count();
        match parse_patch(cut.as_bytes()) {
            Ok(parsed) => assert!(parsed.change.files.len() + parsed.broken.len() >= named, "{cut}"),
            Err(problem) => assert!(matches!(problem.code, ErrorCode::MalformedPatch), "{problem}: {cut}"),
        }
    }
}

#[test]
fn a_name_that_leads_outside_is_listed_and_never_taken() {
    let plain = |old: &str, new: &str| format!("--- {old}\n+++ {new}\n@@ -1 +1 @@\n-a\n+b\n");
    for (part, listed) in [
        (plain("/etc/passwd", "/etc/passwd"), "unsafe-name/%2F/etc/passwd"),
        (plain("a/../../etc/passwd", "b/../../etc/passwd"), "unsafe-name/%2E%2E/%2E%2E/etc/passwd"),
        (plain("C:\\x\\y.c", "C:\\x\\y.c"), "unsafe-name/C:%5Cx%5Cy.c"),
        (plain("..\\x", "..\\x"), "unsafe-name/%2E%2E%5Cx"),
        ("diff --git a/../x b/../x\nold mode 100644\nnew mode 100755\n".into(), "unsafe-name/%2E%2E/x"),
        ("diff --git \"a/x\\000y\" \"b/x\\000y\"\nold mode 100644\nnew mode 100755\n".into(), "unsafe-name/x%00y"),
        ("diff --git a/ok b/ok\nsimilarity index 100%\nrename from ok\nrename to ../out\n".into(), "unsafe-name/%2E%2E/out"),
        ("diff --git a/.git//config b/.git//config\nold mode 100644\nnew mode 100755\n".into(), "unsafe-name/.git/%2F/config"),
    ] {
        let broken = broken_between(&part);
        assert_eq!(broken.iter().map(|entry| entry.0.as_str()).collect::<Vec<_>>(), [listed], "{part}");
        assert!(broken[0].1.contains("a file name that is not taken"), "{}", broken[0].1);
    }
}

#[test]
fn nul_bytes_stay_in_their_line() {
    let patch = SOUND.replace("+b\n", "+b\0c\n");
    let parsed = parse_patch(patch.as_bytes()).unwrap();
    let ChangeBody::Text { hunks } = &parsed.change.files[0].body else { panic!("text") };
    assert_eq!(hunks[0].lines[1].text, b"b\0c");
}

#[test]
fn a_plain_header_at_the_end_is_a_broken_file() {
    let parsed = parse_patch(format!("{SOUND}--- a/x.c\n+++ b/x.c\n").as_bytes()).unwrap();
    assert_eq!(parsed.broken.len(), 1);
    assert_eq!(parsed.broken[0].file.lossy(), "x.c");
}

#[test]
fn a_hundred_thousand_files_are_all_read() {
    use std::fmt::Write as _;
    let mut patch = String::new();
    for index in 0..100_000 {
        let _ = write!(
            patch,
            "diff --git a/d{}/f{index} b/d{}/f{index}\nindex 1234567..89abcde 100644\n--- a/d{0}/f{index}\n+++ b/d{0}/f{index}\n@@ -1 +1 @@\n-a\n+b\n",
            index % 100,
            index % 100
        );
    }
    let parsed = parse_patch(patch.as_bytes()).unwrap();
    assert_eq!((parsed.change.files.len(), parsed.broken.len()), (100_000, 0));
    assert_eq!(parsed.change.line_counts(), (100_000, 100_000));
}

#[test]
fn a_line_of_many_megabytes_is_one_line() {
    let long = "x".repeat(17 << 20);
    let mut patch = SOUND.replace("+b\n", &format!("+{long}\n"));
    for index in 0..27 {
        patch += &SOUND.replace("sound", &format!("small{index}"));
    }
    let parsed = parse_patch(patch.as_bytes()).unwrap();
    assert_eq!(parsed.change.files.len(), 28);
    let ChangeBody::Text { hunks } = &parsed.change.files[0].body else { panic!("text") };
    assert_eq!(hunks[0].lines[1].text.len(), 17 << 20);
}

#[test]
fn more_lines_than_a_review_holds_are_listed_as_too_large() {
    let lines = 4_100_000;
    let mut patch = format!("{SOUND}diff --git a/huge b/huge\nnew file mode 100644\n--- /dev/null\n+++ b/huge\n@@ -0,0 +1,{lines} @@\n");
    patch += &"+\n".repeat(lines);
    let ParsedPatch { change, broken, .. } = parse_patch(patch.as_bytes()).unwrap();
    assert_eq!(change.files.len(), 1);
    assert_eq!(broken.len(), 1);
    assert_eq!(broken[0].status, CoverageStatus::Skipped(SkipReason::TooLarge));
}

#[test]
fn headers_that_repeat_themselves_do_not_cost_the_square() {
    // A reader that looks at the rest of the text once a line would not end on these.
    let line = |text: &str| text.repeat(20_000);
    for text in [
        line("--- a/x\n+++ b/x\n"),
        line("From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\n"),
        line("diff --git a/x b/x\n"),
        line("---\n x\n"),
        line("Index: x\n====\n"),
        line("*** a\n--- b\n***************\n"),
        line("Only in a: b\n"),
        line("@@ -1 +1 @@\n-a\n+b\n\n"),
        format!("diff --git {}\nold mode 100644\n", line("a b ")),
        format!("Binary files {} differ\n", line("a and b ")),
        format!("--- {}\n+++ x\n@@ -1 +1 @@\n-a\n+b\n", line("a ")),
        format!("{SOUND}{}", line(" \n")),
        format!("From: x\nSubject: x\nContent-Type: multipart/mixed; boundary=x\n\n{}", line("--x\n\n")),
    ] {
        let _ = parse_patch(text.as_bytes());
    }
}

#[test]
fn a_file_in_thousands_of_patches_ends() {
    let mut patch = String::new();
    let long: String = (0..2000).map(|n| format!(" line {n}\n")).collect();
    for step in 0..300 {
        patch += &format!("From {step:040x} Mon Sep 17 00:00:00 2001\nFrom: t\nSubject: [PATCH] s{step}\n\n---\n");
        patch += &format!("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2001 +1,2001 @@\n-v{step}\n+v{}\n{long}", step + 1);
    }
    let parsed = parse_patch(patch.as_bytes()).unwrap();
    assert_eq!(parsed.change.line_counts(), (1, 1));
}

#[test]
fn an_added_file_without_newline_and_a_deleted_one_keep_their_ends() {
    let patch = "diff --git a/n b/n\nnew file mode 100644\nindex 0000000..1234567\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\ndiff --git a/o b/o\ndeleted file mode 100755\nindex 1234567..0000000\n--- a/o\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-x\r\n-y\n\\ No newline at end of file\n";
    let parsed = parse_patch(patch.as_bytes()).unwrap();
    let endings = |index: usize| match &parsed.change.files[index].body {
        ChangeBody::Text { hunks } => hunks[0].lines.iter().map(|line| line.ending).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(endings(0), [LineEnding::None]);
    assert_eq!(endings(1), [LineEnding::CrLf, LineEnding::None]);
    assert_eq!(parsed.change.files[1].status, ChangeStatus::Deleted);
}

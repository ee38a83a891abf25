//! Series of patches and the odd forms in which they come.

use st_model::change::{ChangeBody, ChangeStatus, FileChange, LineEnding};
use st_model::coverage::CoverageStatus;
use st_model::problem::ErrorCode;
use st_runner::diff::{ParsedPatch, parse_patch};

fn mail(subject: &str, headers: &str, body: &str) -> String {
    format!(
        "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\nFrom: T <t@example.org>\nDate: Mon, 1 Jan 2024 00:00:00 +0000\nSubject: {subject}\n{headers}\n{body}"
    )
}

fn commit(subject: &str, diff: &str) -> String {
    mail(
        subject,
        "",
        &format!(
            "Why.\n\nFrom here on it says more.\n---\n x | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n\n{diff}-- \n2.47.3\n\n"
        ),
    )
}

fn modify(name: &str, from: &str, to: &str) -> String {
    format!("diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -1,3 +1,3 @@\n top\n-{from}\n+{to}\n end\n")
}

fn add(name: &str, lines: &[&str]) -> String {
    let body: String = lines.iter().map(|line| format!("+{line}\n")).collect();
    format!("diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n+++ b/{name}\n@@ -0,0 +1,{} @@\n{body}", lines.len())
}

fn delete(name: &str, lines: &[&str]) -> String {
    let body: String = lines.iter().map(|line| format!("-{line}\n")).collect();
    format!("diff --git a/{name} b/{name}\ndeleted file mode 100644\n--- a/{name}\n+++ /dev/null\n@@ -1,{} +0,0 @@\n{body}", lines.len())
}

fn rename(from: &str, to: &str) -> String {
    format!("diff --git a/{from} b/{to}\nsimilarity index 100%\nrename from {from}\nrename to {to}\n")
}

fn read(patch: &str) -> ParsedPatch {
    parse_patch(patch.as_bytes()).unwrap_or_else(|problem| panic!("{problem}\n{patch}"))
}

/// `status old>new lines` of each file, and what broke.
fn summary(parsed: &ParsedPatch) -> Vec<String> {
    let show = |file: &FileChange| {
        let path = if file.old_path == file.path { file.path.lossy() } else { format!("{}>{}", file.old_path, file.path) };
        let lines = match &file.body {
            ChangeBody::Text { hunks } => hunks
                .iter()
                .flat_map(|hunk| &hunk.lines)
                .filter(|line| line.kind != st_model::change::LineKind::Context)
                .map(|line| {
                    format!(
                        " {}{}",
                        if line.kind == st_model::change::LineKind::Added { '+' } else { '-' },
                        String::from_utf8_lossy(&line.text)
                    )
                })
                .collect(),
            ChangeBody::Binary { .. } => " binary".to_owned(),
            ChangeBody::Submodule { .. } => " submodule".to_owned(),
            ChangeBody::Empty => String::new(),
        };
        format!("{:?} {path}{lines}", file.status)
    };
    let failed = |status: &CoverageStatus| match status {
        CoverageStatus::Failed(why) => why.clone(),
        other => format!("{other:?}"),
    };
    let broken = parsed.broken.iter().map(|entry| format!("broken {}: {}", entry.file, failed(&entry.status)));
    parsed.change.files.iter().map(show).chain(broken).collect()
}

#[test]
fn a_file_that_comes_and_goes_within_the_series_is_no_part_of_it() {
    let patch = commit("[PATCH 1/3] add", &(add("tmp.txt", &["x"]) + &modify("keep.c", "a", "b")))
        + &commit("[PATCH 2/3] edit", "diff --git a/tmp.txt b/tmp.txt\n--- a/tmp.txt\n+++ b/tmp.txt\n@@ -1 +1,2 @@\n x\n+y\n")
        + &commit("[PATCH 3/3] drop", &delete("tmp.txt", &["x", "y"]));
    let parsed = read(&patch);
    assert_eq!(summary(&parsed), ["Modified keep.c -a +b"]);
    assert_eq!(parsed.change.commits, ["add", "edit", "drop"]);
    assert_eq!(parsed.notes, ["3 commits collapsed to the net change"]);
}

#[test]
fn an_edit_and_its_revert_vanish_and_a_series_of_nothing_says_so() {
    let there = commit("one", &modify("x.c", "a", "b"));
    let back = commit("two", &modify("x.c", "b", "a"));
    let parsed = read(&format!("{there}{back}{}", commit("three", &modify("y.c", "c", "d"))));
    assert_eq!(summary(&parsed), ["Modified y.c -c +d"]);
    let problem = parse_patch(format!("{there}{back}").as_bytes()).unwrap_err();
    assert_eq!(problem.code, ErrorCode::NothingToReview);
    assert!(problem.message.contains("2 commits"), "{problem}");
}

#[test]
fn renames_chain_and_swap() {
    let chain = commit("1", &rename("a", "b")) + &commit("2", &modify("b", "x", "y")) + &commit("3", &rename("b", "c"));
    assert_eq!(summary(&read(&chain)), ["Renamed a>c -x +y"]);
    let there_and_back = commit("1", &(rename("a", "b") + &modify("z", "1", "2"))) + &commit("2", &rename("b", "a"));
    assert_eq!(summary(&read(&there_and_back)), ["Modified z -1 +2"]);
    let swap = rename("a", "b") + &rename("b", "a");
    assert_eq!(summary(&read(&swap)), ["Renamed a>b", "Renamed b>a"]);
    let moved_then_gone = commit("1", &rename("a", "b")) + &commit("2", &delete("b", &["x"]));
    assert_eq!(summary(&read(&moved_then_gone)), ["Deleted a -x"]);
    let refilled = commit("1", &rename("a", "b")) + &commit("2", &add("a", &["new"]));
    assert_eq!(summary(&read(&refilled)), ["Renamed a>b", "Added a +new"]);
    let refilled_then_gone = refilled + &commit("3", &delete("b", &["old"]));
    assert_eq!(summary(&read(&refilled_then_gone)), ["Modified a -old +new"]);
}

#[test]
fn a_rename_keeps_its_old_name_and_only_its_own_lines() {
    let patch = "diff --git a/old name.rs b/new.rs\nsimilarity index 97%\nrename from old name.rs\nrename to new.rs\nindex 1234567..89abcde 100644\n--- a/old name.rs\t\n+++ b/new.rs\n@@ -7,3 +7,3 @@ fn f() {\n a\n-b\n+c\n d\n";
    let parsed = read(patch);
    assert_eq!(summary(&parsed), ["Renamed old name.rs>new.rs -b +c"]);
    let pure = read(&rename("x y", "z"));
    assert_eq!(summary(&pure), ["Renamed x y>z"]);
    assert_eq!(pure.change.line_counts(), (0, 0));
}

#[test]
fn a_copy_of_an_edited_file_is_of_its_first_version() {
    let copy = "diff --git a/a b/b\nsimilarity index 90%\ncopy from a\ncopy to b\nindex 1111111..2222222\n--- a/a\n+++ b/b\n@@ -2,2 +2,3 @@\n y\n end\n+more\n";
    let patch = commit("1", &modify("a", "x", "y")) + &commit("2", copy);
    assert_eq!(summary(&read(&patch)), ["Modified a -x +y", "Copied a>b -x +y +more"]);
}

#[test]
fn patches_that_contradict_each_other_fail_that_file_alone() {
    let contradiction = commit("1", &modify("x.c", "a", "b")) + &commit("2", &(modify("x.c", "q", "r") + &modify("y.c", "1", "2")));
    let parsed = read(&contradiction);
    let lines = summary(&parsed);
    assert_eq!(lines[0], "Modified y.c -1 +2");
    assert_eq!(
        lines[1],
        "broken x.c: patch 2 of the series does not fit the earlier ones: line 2 is not what the earlier patch left there"
    );
    let ghost = commit("1", &(delete("x.c", &["a"]) + &modify("y.c", "1", "2"))) + &commit("2", &modify("x.c", "q", "r"));
    assert_eq!(summary(&read(&ghost))[1], "broken x.c: patch 2 of the series changes the file, which an earlier one deleted");
    let twice = commit("1", &(add("x.c", &["a"]) + &modify("y.c", "1", "2"))) + &commit("2", &add("x.c", &["b"]));
    assert_eq!(summary(&read(&twice))[1], "broken x.c: patch 2 of the series makes a file where an earlier one left another");
}

#[test]
fn a_file_broken_once_stays_broken_through_the_series() {
    let broken = "diff --git a/x.c b/x.c\n--- a/x.c\n+++ b/x.c\n@@ -1,9 +1,9 @@\n a\n";
    let patch = commit("1", &(modify("y.c", "1", "2") + broken)) + &commit("2", &rename("x.c", "z.c"));
    let lines = summary(&read(&patch));
    assert_eq!(lines.len(), 2);
    assert!(lines[1].starts_with("broken z.c: line 27 of the patch: the hunk of line 24 announces"), "{}", lines[1]);
}

#[test]
fn two_diffs_of_one_file_against_one_version_stand_side_by_side() {
    let part = |at: u32, from: &str, to: &str, id: &str| {
        format!("diff --git a/x b/x\nindex 1111111..{id} 100644\n--- a/x\n+++ b/x\n@@ -{at} +{at},2 @@\n-{from}\n+{to}\n+more\n")
    };
    let parsed = read(&(part(50, "a", "b", "2222222") + &part(10, "c", "d", "3333333")));
    assert_eq!(summary(&parsed), ["Modified x -c +d +more -a +b +more"]);
    let ChangeBody::Text { hunks } = &parsed.change.files[0].body else { panic!("text") };
    assert_eq!((hunks[0].new_start, hunks[1].new_start), (10, 51));
    assert!(parsed.notes.iter().any(|note| note.contains("each time against the same version")), "{:?}", parsed.notes);
    let pasted_twice = read(&(modify("x", "a", "b") + &modify("x", "a", "b")));
    assert_eq!(summary(&pasted_twice), ["Modified x -a +b"]);
}

#[test]
fn mails_out_of_order_are_put_in_the_order_of_their_numbers() {
    let patch = commit("[PATCH v2 2/2] two", &modify("x", "b", "c")) + &commit("[PATCH v2 1/2] one", &modify("x", "a", "b"));
    let parsed = read(&patch);
    assert_eq!(summary(&parsed), ["Modified x -a +c"]);
    assert_eq!(parsed.change.commits, ["one", "two"]);
}

#[test]
fn a_cover_letter_and_quoted_diffs_in_messages_are_no_commits() {
    let cover = mail("[PATCH 0/1] all of it", "", "Words.\n\nTester (1):\n  x\n\n x | 2 +-\n 1 file changed\n\n-- \n2.47.3\n\n");
    let quoting = mail(
        "[PATCH 1/1] fix",
        "",
        &format!(
            "As in\n\n  @@ -1 +1 @@\n  -a\n\n> diff --git a/q b/q\n---\n x | 2 +-\n 1 file changed, 1 insertion(+)\n\n{}-- \n2.47.3\n",
            modify("x", "a", "b")
        ),
    );
    let parsed = read(&(cover + &quoting));
    assert_eq!(summary(&parsed), ["Modified x -a +b"]);
    assert_eq!(parsed.change.commits, ["fix"]);
}

#[test]
fn encoded_mails_are_decoded_and_their_subjects_too() {
    use base64::Engine as _;
    let diff = modify("caf\u{e9}.txt", "a=3D", &"long ".repeat(30));
    let qp: String = diff
        .bytes()
        .map(|byte| if byte == b'=' || !byte.is_ascii() { format!("={byte:02X}") } else { char::from(byte).to_string() })
        .collect::<String>()
        .replace("long long long", "long long =\nlong");
    let subject = "=?UTF-8?q?[PATCH_1/1]_Gr=C3=BC=C3=9Fe?=\n =?UTF-8?q?_an_alle?=";
    let encoded = base64::engine::general_purpose::STANDARD.encode(&diff);
    let wrapped: String = encoded.as_bytes().chunks(76).map(|chunk| String::from_utf8_lossy(chunk).into_owned() + "\n").collect();
    let part = |kind: &str, body: &str| format!("--=_b\nContent-Type: {kind}\nContent-Transfer-Encoding: base64\n\n{body}\n");
    let multipart = format!(
        "Some words.\n--=_b\nContent-Type: text/plain\n\nHello.\n\n{}{}--=_b--\n",
        part("text/html", "PGI+"),
        part("text/x-patch; name=\"a.patch\"", &wrapped)
    );
    for (headers, body) in [
        ("Content-Transfer-Encoding: quoted-printable\n", qp.as_str()),
        ("Content-Transfer-Encoding: base64\n", &wrapped),
        ("MIME-Version: 1.0\nContent-Type: multipart/mixed;\n boundary=\"=_b\"\n", &multipart),
    ] {
        let parsed = read(&mail(subject, headers, body));
        assert_eq!(parsed.change.commits, ["Grüße an alle"], "{headers}");
        assert_eq!(parsed.change.files, read(&diff).change.files, "{headers}");
    }
    let cut = base64::engine::general_purpose::STANDARD.encode(diff + "diff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1,2 +1 @@\n-a\n");
    let parsed = read(&mail("x", "Content-Transfer-Encoding: base64\n", &cut));
    let CoverageStatus::Failed(why) = &parsed.broken[0].status else { panic!("failed") };
    assert!(why.contains("of the decoded body of mail 1"), "{why}");
}

#[test]
fn a_single_mail_without_a_mailbox_line_is_read_as_one() {
    let patch = format!(
        "Return-Path: <x>\r\nFrom: T <t@example.org>\r\nSubject: [PATCH] a\r\n folded subject\r\n\r\nText.\r\n---\r\n{}",
        modify("x", "a", "b").replace('\n', "\r\n")
    );
    let parsed = read(&patch);
    assert_eq!(parsed.change.commits, ["a folded subject"]);
    assert_eq!(summary(&parsed), ["Modified x -a +b"]);
}

#[test]
fn git_log_runs_from_new_to_old_unless_its_blobs_say_otherwise() {
    let entry = |id: &str, subject: &str, diff: &str| {
        format!("commit {}\nAuthor: T <t@example.org>\nDate:   now\n\n    {subject}\n\n    diff --git a/q b/q\n\n{diff}\n", id.repeat(40))
    };
    let step = |from: &str, to: &str| modify("x", from, to).replace("--- a/x", &format!("index {from}{from}..{to}{to} 100644\n--- a/x"));
    let newest_first = entry("b", "two", &step("bbbb", "cccc")) + &entry("a", "one", &step("aaaa", "bbbb"));
    let oldest_first = entry("a", "one", &step("aaaa", "bbbb")) + &entry("b", "two", &step("bbbb", "cccc"));
    for log in [newest_first, oldest_first] {
        let parsed = read(&log);
        assert_eq!(summary(&parsed), ["Modified x -aaaa +cccc"]);
        assert_eq!(parsed.change.commits, ["one", "two"]);
    }
}

#[test]
fn crlf_of_the_patch_and_crlf_of_the_content_are_told_apart() {
    let endings = |patch: &str| -> Vec<LineEnding> {
        match &read(patch).change.files[0].body {
            ChangeBody::Text { hunks } => hunks.iter().flat_map(|hunk| &hunk.lines).map(|line| line.ending).collect(),
            other => panic!("{other:?}"),
        }
    };
    let lf = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n";
    let crlf_content = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ fn f() {\n a\r\n-b\r\n+c\n";
    let both = crlf_content.replace('\n', "\r\n");
    use LineEnding::{CrLf, Lf};
    assert_eq!(endings(lf), [Lf, Lf, Lf]);
    assert_eq!(endings(&lf.replace('\n', "\r\n")), [Lf, Lf, Lf]);
    assert_eq!(endings(crlf_content), [CrLf, CrLf, Lf]);
    assert_eq!(endings(&both), [CrLf, CrLf, Lf]);
    // Only the headers were written by a tool that ends its own lines in CRLF.
    let headers =
        crlf_content.replace("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ fn f() {\n", "--- a/x\r\n+++ b/x\r\n@@ -1,2 +1,2 @@ fn f() {\r\n");
    assert_eq!(endings(&headers), [CrLf, CrLf, Lf]);
    let flip = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n-b\n+a\r\n+b\r\n";
    assert_eq!(endings(flip), [Lf, Lf, CrLf, CrLf]);
}

#[test]
fn submodules_symlinks_and_swapped_kinds_are_told() {
    let submodule = "diff --git a/lib b/lib\nindex 1111111..2222222 160000\n--- a/lib\n+++ b/lib\n@@ -1 +1 @@\n-Subproject commit 1111111111111111111111111111111111111111\n+Subproject commit 2222222222222222222222222222222222222222\n";
    let parsed = read(submodule);
    assert_eq!(parsed.change.files[0].body, ChangeBody::Submodule { old: Some("1".repeat(40)), new: Some("2".repeat(40)) });
    let log = "Submodule lib 1111111..2222222:\n  > a commit\n  < another\nSubmodule new lib 0000000...3333333 (new submodule)\n";
    let parsed = read(log);
    assert_eq!(parsed.change.files[0].body, ChangeBody::Submodule { old: Some("1111111".into()), new: Some("2222222".into()) });
    assert_eq!((parsed.change.files[1].status, parsed.change.files[1].path.lossy()), (ChangeStatus::Added, "new lib".into()));
    let swapped = delete("x", &["text"])
        + "diff --git a/x b/x\nnew file mode 120000\nindex 0000000..1234567\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n";
    let parsed = read(&swapped);
    assert_eq!(summary(&parsed), ["TypeChanged x -text +/etc/passwd"]);
    assert_eq!(parsed.notes, [""; 0]);
}

#[test]
fn plain_diffs_of_other_tools_are_read() {
    let svn = "Index: trunk/a b.c\n===================================================================\n--- trunk/a b.c\t(revision 12)\n+++ trunk/a b.c\t(working copy)\n@@ -1 +1 @@\n-a\n+b\n\nProperty changes on: trunk/a b.c\n___________________________________________________________________\nAdded: svn:executable\n## -0,0 +1 ##\n+*\n\\ No newline at end of property\nIndex: logo.png\n===================================================================\nCannot display: file marked as a binary type.\nsvn:mime-type = application/octet-stream\nIndex: new.c\n===================================================================\n--- new.c\t(nonexistent)\n+++ new.c\t(revision 13)\n@@ -0,0 +1 @@\n+x\n";
    assert_eq!(summary(&read(svn)), ["Modified trunk/a b.c -a +b", "Modified logo.png binary", "Added new.c +x"]);
    let hg = "# HG changeset patch\n# User t\n# Date 0 0\n# Node ID 0123\nfirst\n\ndiff -r 000000000000 -r 111111111111 x\n--- a/x\tThu Jan 01 00:00:00 1970 +0000\n+++ b/x\tThu Jan 02 00:00:00 2020 +0000\n@@ -1 +1 @@\n-a\n+b\n# HG changeset patch\n# User t\nsecond\n\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-b\n+c\n";
    let parsed = read(hg);
    assert_eq!(summary(&parsed), ["Modified x -a +c"]);
    assert_eq!(parsed.change.commits, ["first", "second"]);
    let recursive = "Only in one: gone.txt\ndiff -ru one/x two/x\n--- one/x\t2024-01-01 00:00:00.000000000 +0000\n+++ two/x\t2024-01-02 00:00:00.000000000 +0000\n@@ -1 +1 @@\n-a\n+b\nBinary files one/i.png and two/i.png differ\nOnly in two/sub: new.txt\n";
    let lines = summary(&read(recursive));
    assert_eq!(lines[..2], ["Modified x -a +b", "Modified i.png binary"]);
    assert!(lines[2].starts_with("broken one/gone.txt: line 1 of the patch: only in one of the compared folders"), "{}", lines[2]);
    assert!(lines[3].starts_with("broken two/sub/new.txt"), "{}", lines[3]);
    let prose = format!("Hello,\n\nOnly in dreams: this.\nHere it is:\n\n{}\nBye\n--\nme\n", modify("x", "a", "b"));
    assert_eq!(summary(&read(&prose)), ["Modified x -a +b"]);
}

#[test]
fn bytes_of_any_encoding_pass_untouched() {
    let patch = b"diff --git \"a/caf\\351.txt\" \"b/caf\\351.txt\"\n--- \"a/caf\\351.txt\"\n+++ \"b/caf\\351.txt\"\n@@ -1 +1 @@\n-caf\xe9\n+caf\xe9 \xff\xfe\x00z\n";
    let parsed = parse_patch(patch).unwrap();
    assert_eq!(parsed.change.files[0].path.as_bytes(), b"caf\xe9.txt");
    let ChangeBody::Text { hunks } = &parsed.change.files[0].body else { panic!("text") };
    assert_eq!(hunks[0].lines[0].text, b"caf\xe9");
    assert_eq!(hunks[0].lines[1].text, b"caf\xe9 \xff\xfe\x00z");
}

#[test]
fn numbers_that_do_not_add_up_are_computed_and_said() {
    let patch = "--- a/x\n+++ b/x\n@@ -10 +99 @@\n-a\n+b\n+c\n".replace("+99", "+99,2") + "@@ -20 +20 @@\n-a\n+b\n";
    let parsed = read(&patch);
    let ChangeBody::Text { hunks } = &parsed.change.files[0].body else { panic!("text") };
    assert_eq!((hunks[0].new_start, hunks[1].new_start), (10, 21));
    assert!(parsed.notes[0].contains("did not add up"), "{:?}", parsed.notes);
}

#[test]
fn sizes_of_binary_patches_are_kept() {
    let parsed = read(
        "diff --git a/x b/x\nindex 1111111..2222222 100644\nGIT binary patch\nliteral 9\nQcmZQzWMXDvWn<^y<N^Qy0RsR4\n\nliteral 0\nHcmV?d00001\n\n",
    );
    assert_eq!(parsed.change.files[0].body, ChangeBody::Binary { old_size: Some(0), new_size: Some(9) });
}

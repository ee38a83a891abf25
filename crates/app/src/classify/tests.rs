use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

const PATCH: &str = "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -1 +1,2 @@\n-old\n+new\n+more\n";

fn folder() -> TempDir {
    tempfile::Builder::new().prefix("sidetrack-classify-").tempdir().unwrap()
}

/// A git repository by layout alone: classify never runs git.
fn repository(parent: &Path, name: &str) -> PathBuf {
    let root = parent.join(name);
    let git = root.join(".git");
    for folder in ["objects", "refs/heads/topic", "refs/remotes/origin", "refs/tags"] {
        fs::create_dir_all(git.join(folder)).unwrap();
    }
    fs::write(git.join("HEAD"), "ref: refs/heads/feature\n").unwrap();
    for name in ["heads/feature", "heads/topic/one", "remotes/origin/later", "tags/v1.0"] {
        fs::write(git.join("refs").join(name), format!("{:040}\n", 1)).unwrap();
    }
    fs::write(git.join("packed-refs"), format!("# pack-refs with: peeled\n{:040} refs/heads/main\n^{:040}\n", 2, 3)).unwrap();
    root.canonicalize().unwrap()
}

fn in_folder(what: &str, cwd: &Path) -> Result<Classified, Problem> {
    classify(what, Some(cwd), None, &[])
}

fn code(result: Result<Classified, Problem>) -> ErrorCode {
    let problem = result.unwrap_err();
    assert!(!problem.fix.is_empty() && !problem.message.is_empty(), "{problem:?}");
    problem.code
}

#[test]
fn a_patch_is_known_by_its_content_under_any_name_and_spelling() {
    let dir = folder();
    for name in ["a.patch", "with space.diff", "café.patch", "no-extension", "it's.txt"] {
        let path = dir.path().join(name);
        fs::write(&path, PATCH).unwrap();
        let uri = format!("file://{}", percent_encoding::utf8_percent_encode(path.to_str().unwrap(), URI_PATH));
        let spellings = [name.to_owned(), path.display().to_string(), format!("{}\n", path.display()), format!("\"{name}\""), uri.clone()];
        for spelling in spellings.into_iter().chain([format!("# dropped\r\n{uri}\r\n")]) {
            let found = in_folder(&spelling, dir.path()).unwrap_or_else(|problem| panic!("{spelling}: {problem:?}"));
            assert_eq!(found.source, ReviewSource::PatchFile { path: path.clone() }, "{spelling}");
            assert_eq!(found.title, name);
            assert_eq!(found.summary, "1 file, +2 −1");
        }
    }
}

/// What a file manager leaves as it is in a file address.
const URI_PATH: &percent_encoding::AsciiSet = &percent_encoding::NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.');

#[test]
fn a_name_that_is_not_utf8_is_reached_by_its_address() {
    let dir = folder();
    let path = dir.path().join(OsStr::from_bytes(b"caf\xe9.patch"));
    fs::write(&path, PATCH).unwrap();
    let found = in_folder(&format!("file://{}/caf%E9.patch", dir.path().display()), dir.path()).unwrap();
    assert_eq!(found.source, ReviewSource::PatchFile { path });
    assert_eq!(found.title, "caf\u{fffd}.patch");
}

#[test]
fn what_is_no_patch_is_refused_with_words() {
    let dir = folder();
    let mut tar = vec![0u8; 512];
    tar[257..262].copy_from_slice(b"ustar");
    let cases: [(&str, &[u8], ErrorCode, &str); 12] = [
        ("a.patch", b"PK\x03\x04rest", ErrorCode::UnsupportedInput, "zip archive"),
        ("b.patch", b"\x1f\x8b\x08rest", ErrorCode::UnsupportedInput, "gzip"),
        ("c.patch", b"%PDF-1.7 rest", ErrorCode::UnsupportedInput, "PDF"),
        ("d.png", b"\x89PNG\r\n\x1a\nrest", ErrorCode::UnsupportedInput, "PNG image"),
        ("e.tar", &tar, ErrorCode::UnsupportedInput, "tar archive"),
        ("f.patch", b"", ErrorCode::NothingToReview, "empty"),
        ("g.patch", b"hello\n", ErrorCode::MalformedPatch, "no diff is in it"),
        ("h.patch", b"\x01\0\x02\x03\x04\x05", ErrorCode::UnsupportedInput, "binary"),
        ("i.rs", b"fn main() {}\n", ErrorCode::UnsupportedInput, "single file"),
        ("j.diff", b"*** a\tx\n--- b\ty\n***************\n", ErrorCode::UnsupportedInput, "context diff"),
        ("k.patch", b"diff --cc a\n--- a/a\n+++ b/a\n@@@ -1,1 -1,1 +1,1 @@@\n++a\n", ErrorCode::CombinedDiff, "`"),
        ("l.bundle", b"# v2 git bundle\n", ErrorCode::UnsupportedInput, "git bundle"),
    ];
    for (name, bytes, expected, words) in cases {
        fs::write(dir.path().join(name), bytes).unwrap();
        let problem = in_folder(name, dir.path()).unwrap_err();
        assert_eq!(problem.code, expected, "{name}");
        assert!(problem.message.contains(words), "{name}: {}", problem.message);
        assert_eq!(problem.disk_effect, "Nothing was queued and no file was changed.");
    }
}

#[test]
fn special_files_are_never_opened() {
    let dir = folder();
    let fifo = dir.path().join("pipe.patch");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    // Opening it for reading would wait for a writer; that the call returns is the test.
    assert_eq!(code(in_folder("pipe.patch", dir.path())), ErrorCode::UnsupportedInput);
    let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("s")).unwrap();
    assert_eq!(code(in_folder("s", dir.path())), ErrorCode::UnsupportedInput);
    assert_eq!(code(in_folder("/dev/null", dir.path())), ErrorCode::UnsupportedInput);
    assert_eq!(code(in_folder("/dev/zero", dir.path())), ErrorCode::UnsupportedInput);
}

#[test]
fn links_that_lead_nowhere_or_round_are_told_apart() {
    let dir = folder();
    symlink("round", dir.path().join("round")).unwrap();
    symlink("gone.patch", dir.path().join("dangling")).unwrap();
    let round = in_folder("round", dir.path()).unwrap_err();
    assert_eq!((round.code, round.message.contains("leads back")), (ErrorCode::Unreadable, true), "{round:?}");
    let dangling = in_folder("dangling", dir.path()).unwrap_err();
    assert!(dangling.code == ErrorCode::NotFound && dangling.message.contains("gone.patch"), "{dangling:?}");
}

#[test]
fn a_patch_above_the_limit_is_refused_before_it_is_read() {
    let dir = folder();
    let path = dir.path().join("huge.patch");
    fs::write(&path, PATCH).unwrap();
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(200 << 20).unwrap();
    let problem = in_folder("huge.patch", dir.path()).unwrap_err();
    assert_eq!(problem.code, ErrorCode::TooLarge);
    assert!(problem.message.contains("200 MiB") && problem.message.contains("64 MiB"), "{}", problem.message);
}

#[test]
fn a_repository_is_found_from_its_top_from_inside_and_from_a_linked_work_tree() {
    let dir = folder();
    let root = repository(dir.path(), "api");
    fs::create_dir_all(root.join("src/deep")).unwrap();
    for what in ["api", "api/src/deep", "./api/"] {
        let found = in_folder(what, dir.path()).unwrap();
        assert_eq!(found.source, ReviewSource::Uncommitted { repo: root.clone() });
        assert_eq!(found.summary, "uncommitted work of api");
    }
    let linked = dir.path().join("api-later");
    fs::create_dir_all(&linked).unwrap();
    let private = root.join(".git/worktrees/api-later");
    fs::create_dir_all(&private).unwrap();
    fs::write(private.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(private.join("commondir"), "../..\n").unwrap();
    fs::write(linked.join(".git"), format!("gitdir: {}\n", private.display())).unwrap();
    let found = in_folder(".", &linked).unwrap();
    assert_eq!(found.source, ReviewSource::Uncommitted { repo: linked.canonicalize().unwrap() });
    let found = in_folder("feature", &linked).unwrap();
    assert!(matches!(found.source, ReviewSource::Branch { .. }), "branches are the main repository's");
}

#[test]
fn ranges_name_their_repository_or_take_the_current_one() {
    let dir = folder();
    let root = repository(dir.path(), "api@home");
    let range = |base: &str, head: &str| ReviewSource::Range { repo: root.clone(), base: base.into(), head: head.into() };
    let found = in_folder("api@home@main..feature", dir.path()).unwrap();
    assert_eq!((found.source, found.title.as_str()), (range("main", "feature"), "api@home: main..feature"));
    assert_eq!(in_folder("main..feature", &root).unwrap().source, range("main", "feature"));
    assert_eq!(in_folder("v1.0..", &root).unwrap().source, range("v1.0", "HEAD"));
    assert_eq!(in_folder("HEAD@{1}..HEAD", &root).unwrap().source, range("HEAD@{1}", "HEAD"));
    assert_eq!(in_folder("abc1234..topic/one", &root).unwrap().source, range("abc1234", "topic/one"));
    let three = ReviewSource::Branch { repo: root.clone(), branch: "feature".into(), base: Some("main".into()) };
    assert_eq!(in_folder("main...feature", &root).unwrap().source, three);
    let unknown = in_folder("mian..feature", &root).unwrap_err();
    assert_eq!((unknown.code, unknown.fix[0].as_str()), (ErrorCode::UnknownRevision, "Did you mean `main`?"));
    assert_eq!(code(in_folder("main..feature", dir.path())), ErrorCode::NotARepository);
    assert_eq!(code(in_folder("nowhere@main..feature", dir.path())), ErrorCode::NotFound);
    assert_eq!(code(in_folder("..feature", &root)), ErrorCode::Usage);
    assert_eq!(code(in_folder("--output=x..feature", &root)), ErrorCode::UnknownRevision);
}

#[test]
fn a_branch_is_known_loose_packed_nested_or_remote() {
    let dir = folder();
    let root = repository(dir.path(), "api");
    for branch in ["feature", "main", "topic/one", "origin/later"] {
        let found = in_folder(branch, &root).unwrap();
        assert_eq!(found.source, ReviewSource::Branch { repo: root.clone(), branch: branch.into(), base: None });
    }
    let based = classify("feature", Some(&root), Some("main"), &[]).unwrap();
    assert_eq!(based.title, "api: feature against main");
    let near = in_folder("featrue", &root).unwrap_err();
    assert_eq!((near.code, near.fix[0].as_str()), (ErrorCode::NotFound, "Did you mean the branch `feature`?"));
    assert_eq!(code(in_folder("../../outside", &root)), ErrorCode::NotFound);
}

#[test]
fn a_base_turns_a_repository_into_its_current_branch() {
    let dir = folder();
    let root = repository(dir.path(), "api");
    let found = classify(".", Some(&root), Some("main"), &[]).unwrap();
    assert_eq!(found.source, ReviewSource::Branch { repo: root.clone(), branch: "feature".into(), base: Some("main".into()) });
    assert_eq!(code(classify(".", Some(&root), Some("-x"), &[])), ErrorCode::UnknownRevision);
    fs::write(root.join("x.patch"), PATCH).unwrap();
    assert_eq!(code(classify("x.patch", Some(&root), Some("main"), &[])), ErrorCode::Usage);
}

#[test]
fn plain_folders_are_taken_and_roots_are_not() {
    let dir = folder();
    let plain = dir.path().join("plain");
    fs::create_dir(&plain).unwrap();
    assert_eq!(code(in_folder("plain", dir.path())), ErrorCode::NothingToReview);
    fs::write(plain.join("a.py"), "x = 1\n").unwrap();
    let found = in_folder("plain", dir.path()).unwrap();
    assert_eq!(found.source, ReviewSource::Folder { path: plain.canonicalize().unwrap() });
    assert_eq!(code(in_folder("/", dir.path())), ErrorCode::RefusedRoot);
    assert_eq!(code(classify("plain", Some(dir.path()), Some("main"), &[])), ErrorCode::NotARepository);
}

#[test]
fn what_is_not_there_is_said_with_the_nearest_name() {
    let dir = folder();
    fs::write(dir.path().join("rate-limit.patch"), PATCH).unwrap();
    let problem = in_folder("rate-limt.patch", dir.path()).unwrap_err();
    assert_eq!((problem.code, problem.fix[0].as_str()), (ErrorCode::NotFound, "Did you mean `rate-limit.patch`?"));
    for what in ["", "  \n", "\0", "a\0b"] {
        assert_eq!(code(in_folder(what, dir.path())), ErrorCode::Usage, "{what:?}");
    }
    assert_eq!(code(in_folder(&"x".repeat(70_000), dir.path())), ErrorCode::Usage);
    assert_eq!(code(in_folder(&"x".repeat(300), dir.path())), ErrorCode::NotFound);
    assert_eq!(code(in_folder("ftp://example.org/x", dir.path())), ErrorCode::UnsupportedInput);
    assert_eq!(code(in_folder("git@example.org:acme/api.git", dir.path())), ErrorCode::UnsupportedInput);
    assert_eq!(code(in_folder("file://elsewhere/a.patch", dir.path())), ErrorCode::UnsupportedInput);
    assert_eq!(code(in_folder("file:///a\nfile:///b", dir.path())), ErrorCode::Usage);
    assert_eq!(code(in_folder(PATCH, dir.path())), ErrorCode::Usage);
    assert_eq!(code(in_folder("two lines\nof prose", dir.path())), ErrorCode::UnsupportedInput);
}

#[test]
fn utf16_and_coloured_patches_are_patches() {
    let dir = folder();
    let wide: Vec<u8> = [0xfeff].into_iter().chain(PATCH.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let coloured: String = PATCH.lines().map(|line| format!("\u{1b}[1m{line}\u{1b}[m\n")).collect();
    for bytes in [wide, coloured.into_bytes()] {
        assert!(looks_like_patch(&bytes));
        fs::write(dir.path().join("x.patch"), &bytes).unwrap();
        assert_eq!(in_folder("x.patch", dir.path()).unwrap().summary, "1 file, +2 −1");
    }
}

#[test]
fn patch_text_is_told_from_prose() {
    let mailbox = format!("From {:040} Mon Sep 17 00:00:00 2001\nSubject: x\n", 1);
    for text in
        [PATCH, "--- a\n+++ b\n@@ -1 +1 @@\n", "\u{feff}diff --git a/x b/x\r\n", "text\n\ndiff --cc x\n", &mailbox, "--- a\r\n+++ b\r\n"]
    {
        assert!(looks_like_patch(text.as_bytes()), "{text}");
    }
    for text in ["", "hello", "--- a list\n--- of things\n", "+++ b\n--- a\n", "From home to work", "@@ -1 +1 @@\n"] {
        assert!(!looks_like_patch(text.as_bytes()), "{text}");
    }
    assert_eq!(split_items("# c\nfile:///a\r\n\r\nhttps://x/y\n"), ["file:///a", "https://x/y"]);
    assert_eq!(split_items(PATCH), [PATCH]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_classifier_fail(text in "(?s).{0,120}", base in proptest::option::of(".{0,12}")) {
        let dir = folder();
        // Addresses are understood by the runner's own parser, which has its own such test.
        prop_assume!(!text.trim().to_ascii_lowercase().starts_with("http"));
        let _ = classify(&text, Some(dir.path()), base.as_deref(), &[]);
        let _ = split_items(&text);
    }

    #[test]
    fn no_reference_or_address_makes_the_classifier_fail(text in r#"[a@.\-~^{}/:'"%#? fil\n]{0,24}"#) {
        static PLACE: std::sync::LazyLock<(TempDir, PathBuf)> = std::sync::LazyLock::new(|| {
            let dir = folder();
            let root = repository(dir.path(), "a");
            (dir, root)
        });
        let (dir, root) = &*PLACE;
        let _ = classify(&text, Some(root), None, &[]);
        let _ = classify(&format!("file://{text}"), Some(dir.path()), None, &[]);
        let _ = classify(&format!("{}@{text}", root.display()), None, None, &[]);
    }

    #[test]
    fn what_the_parser_reads_looks_like_a_patch(
        parts in proptest::collection::vec(prop::sample::select(vec![
            "diff --git a/x b/x\n", "--- a/x\n", "+++ b/x\n", "@@ -1 +1 @@\n", "@@ -0,0 +1 @@\n", "+new\n", "-old\n", " same\n", "\r\n", "prose\n",
            "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\n", "Subject: [PATCH] x\n", "\n", "-- \n", "new file mode 100644\n",
            "rename from a\nrename to b\n", "GIT binary patch\n", "\\ No newline at end of file\n", "Index: x\n", "--- x\t2020\n+++ x\t2021\n@@ -1 +1 @@\n-a\n+b\n",
        ]), 0..14)
    ) {
        let text = parts.concat();
        if st_runner::diff::parse_patch(text.as_bytes()).is_ok() {
            prop_assert!(looks_like_patch(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn no_content_makes_the_classifier_fail(bytes in proptest::collection::vec(any::<u8>(), 0..400), lead in 0usize..4) {
        let dir = folder();
        let lead: &[u8] = [&b""[..], b"--- a\n+++ b\n@@ -", b"diff --git ", b"From 0123456789012345678901234567890123456789 "][lead];
        let content = [lead, &bytes].concat();
        fs::write(dir.path().join("x.patch"), &content).unwrap();
        let found = in_folder("x.patch", dir.path());
        prop_assert_eq!(found.is_ok(), st_runner::diff::parse_patch(&content).is_ok());
    }
}

//! Uncommitted work.

use super::*;

fn lines(range: std::ops::Range<u32>) -> String {
    range.map(|n| format!("line {n}\n")).collect()
}

#[test]
fn staged_unstaged_untracked_and_deleted_are_one_change() {
    let fixture = Fixture::new();
    for name in ["staged", "unstaged", "both", "gone", "removed", "untouched", "mode", "touched"] {
        fixture.write(name, format!("{name}\n"));
    }
    fixture.commit("first");
    fixture.write("staged", "staged change\n");
    fixture.write("added", "added\n");
    fixture.write("both", "one\n");
    fixture.git(["add", "staged", "added", "both"]);
    fixture.write("both", "two\n");
    fixture.write("unstaged", "unstaged change\n");
    fixture.write("new/deep/file", "untracked\n");
    fixture.write("touched", "touched\n");
    fs::remove_file(fixture.path("gone")).unwrap();
    fixture.git(["rm", "-q", "removed"]);
    fixture.chmod("mode", 0o755);
    let pinned = check_against_git(&fixture).unwrap();
    assert_eq!(shown(&pinned), ["A added", "M both", "D gone", "M mode", "A new/deep/file", "D removed", "M staged", "M unstaged"]);
    let both = files(&pinned).iter().find(|file| file.path.as_bytes() == b"both").unwrap();
    assert_eq!((bytes(&fixture, both.old), bytes(&fixture, both.new)), (b"both\n".to_vec(), b"two\n".to_vec()));
}

#[test]
fn nothing_uncommitted_is_said_with_what_to_do() {
    let fixture = Fixture::new();
    fixture.write("a", "a\n");
    fixture.commit("first");
    let problem = uncommitted(&fixture).unwrap_err();
    assert_eq!(problem.code, ErrorCode::NothingToReview);
    assert!(problem.fix[0].contains("BASE..HEAD"), "{problem:?}");
}

#[test]
fn before_the_first_commit_everything_is_added() {
    let fixture = Fixture::new();
    assert_eq!(uncommitted(&fixture).unwrap_err().code, ErrorCode::NothingToReview);
    fixture.write("a", "a\n");
    fixture.write("b", "b\n");
    fixture.git(["add", "a"]);
    assert_eq!(shown(&check_against_git(&fixture).unwrap()), ["A a", "A b"]);
}

#[test]
fn a_same_size_edit_within_one_tick_is_seen() {
    let fixture = Fixture::new();
    fixture.write("a", "aaaa\n");
    fixture.commit("first");
    // No time passes between the index and this: only the bytes tell.
    fixture.write("a", "bbbb\n");
    assert_eq!(shown(&check_against_git(&fixture).unwrap()), ["M a"]);
}

#[test]
fn ignore_files_are_obeyed_at_every_level() {
    let fixture = Fixture::new();
    fixture.write(".gitignore", "*.log\n!keep.log\n/build/\nforced/\n");
    fixture.write("sub/.gitignore", "*.tmp\n!*.log\n");
    fixture.write("forced/tracked", "1\n");
    fixture.git(["add", "-f", "forced/tracked"]);
    fixture.commit("first");
    fixture.write("forced/tracked", "2\n");
    fixture.write(".git/info/exclude", "secret\n");
    for name in ["a.log", "keep.log", "build/out", "sub/x.tmp", "sub/y.log", "sub/build/z", "secret", "forced/other", "plain"] {
        fixture.write(name, "x\n");
    }
    assert_eq!(shown(&check_against_git(&fixture).unwrap()), ["M forced/tracked", "A keep.log", "A plain", "A sub/build/z", "A sub/y.log"]);
}

#[test]
fn the_users_own_ignore_file_counts() {
    let fixture = Fixture::new();
    fixture.write("a.swp", "x\n");
    fixture.write("b", "x\n");
    let home = fixture.beside("home");
    fs::create_dir_all(home.join(".config/git")).unwrap();
    fs::write(home.join(".config/git/ignore"), "*.swp\n").unwrap();
    let user = UserSettings::load(&|name| (name == "HOME").then(|| home.clone().into()));
    let source = ReviewSource::Uncommitted { repo: fixture.top.clone() };
    let pinned = pin_in(&Surroundings { home: None, user }, &fixture.vault, &source, &PinLimits::default(), &|| false).unwrap();
    assert_eq!(shown(&pinned), ["A b"]);
    fs::write(home.join(".gitconfig"), "[core]\n\texcludesFile = ~/mine\n").unwrap();
    fs::write(home.join("mine"), "/b\n").unwrap();
    let user = UserSettings::load(&|name| (name == "HOME").then(|| home.clone().into()));
    let pinned = pin_in(&Surroundings { home: None, user }, &fixture.vault, &source, &PinLimits::default(), &|| false).unwrap();
    assert_eq!(shown(&pinned), ["A a.swp"]);
}

#[test]
fn links_are_read_as_links() {
    let fixture = Fixture::new();
    fixture.write("outside", "x\n");
    symlink("/etc/passwd", fixture.path("link")).unwrap();
    symlink("outside", fixture.path("turns")).unwrap();
    fs::create_dir(fixture.path("dir")).unwrap();
    fixture.write("dir/file", "x\n");
    fixture.commit("first");
    fs::remove_file(fixture.path("link")).unwrap();
    symlink("/etc/shadow", fixture.path("link")).unwrap();
    fs::remove_file(fixture.path("turns")).unwrap();
    fixture.write("turns", "a file now\n");
    // A folder that became a link: what git tracked below it is gone, whatever the link shows.
    fs::rename(fixture.path("dir"), fixture.beside("moved")).unwrap();
    symlink(fixture.beside("moved"), fixture.path("dir")).unwrap();
    let pinned = check_against_git(&fixture).unwrap();
    assert_eq!(shown(&pinned), ["A dir", "D dir/file", "M link", "T turns"]);
    let link = files(&pinned).iter().find(|file| file.path.as_bytes() == b"link").unwrap();
    assert_eq!(bytes(&fixture, link.new), b"/etc/shadow");
}

#[test]
fn renames_are_found_with_and_without_edit() {
    let fixture = Fixture::new();
    fixture.write("exact.rs", lines(0..40));
    fixture.write("edited.rs", lines(100..140));
    fixture.write("replaced.rs", lines(200..240));
    fixture.commit("first");
    fs::create_dir(fixture.path("to")).unwrap();
    fs::rename(fixture.path("exact.rs"), fixture.path("to/exact.rs")).unwrap();
    fs::rename(fixture.path("edited.rs"), fixture.path("to/other.rs")).unwrap();
    fixture.write("to/other.rs", lines(102..141));
    fs::remove_file(fixture.path("replaced.rs")).unwrap();
    fixture.write("to/replaced.rs", lines(300..340));
    let pinned = check_against_git(&fixture).unwrap();
    assert_eq!(shown(&pinned), ["D replaced.rs", "R exact.rs -> to/exact.rs", "R edited.rs -> to/other.rs", "A to/replaced.rs"]);
}

#[test]
fn names_that_are_not_utf8_are_kept_byte_for_byte() {
    let fixture = Fixture::new();
    fixture.write(b"caf\xe9/\xff.txt", "x\n");
    fixture.write("with \"quotes\"\tand\nlines", "x\n");
    fixture.write("-dash", "x\n");
    fixture.commit("first");
    fixture.write(b"caf\xe9/\xff.txt", "y\n");
    fixture.write(b"caf\xe9/.gitignore", "*.o\n");
    fixture.write(b"caf\xe9/x.o", "ignored\n");
    fixture.write(b"new\xfe", "y\n");
    fs::remove_file(fixture.path("-dash")).unwrap();
    let pinned = check_against_git(&fixture).unwrap();
    assert!(files(&pinned).iter().any(|file| file.path.as_bytes() == b"caf\xe9/\xff.txt"));
    assert_eq!(files(&pinned).len(), 4);
}

#[test]
fn the_executable_bit_counts_only_where_it_means_something() {
    let fixture = Fixture::new();
    fixture.write("plain", "x\n");
    fixture.write("run", "x\n");
    fixture.chmod("run", 0o755);
    fixture.commit("first");
    fixture.git(["config", "core.fileMode", "false"]);
    fixture.chmod("plain", 0o755);
    fixture.chmod("run", 0o644);
    assert!(check_against_git(&fixture).is_none());
    fixture.write("run", "y\n");
    fixture.write("new", "y\n");
    fixture.chmod("new", 0o755);
    let pinned = check_against_git(&fixture).unwrap();
    assert_eq!(shown(&pinned), ["A new", "M run"]);
}

#[test]
fn an_index_with_extensions_reads_like_any_other() {
    const MONITOR: &[&str] = &["-c", "core.fsmonitor=/bin/false", "-c", "core.fsmonitorHookVersion=2", "update-index"];
    let setups: [Vec<Vec<&str>>; 5] = [
        vec![vec!["update-index", "--split-index"], vec!["add", "dir/late"]],
        vec![vec!["update-index", "--force-untracked-cache"], vec!["status"], vec!["add", "dir/late"]],
        vec![vec!["add", "dir/late"], vec!["update-index", "--index-version", "4"]],
        vec![vec!["add", "dir/late"], [MONITOR, &["--fsmonitor"]].concat(), [MONITOR, &["--fsmonitor-valid", "a"]].concat()],
        vec![vec!["config", "index.skipHash", "true"], vec!["add", "dir/late"]],
    ];
    for setup in setups {
        let fixture = Fixture::new();
        for name in ["a", "b", "dir/c"] {
            fixture.write(name, format!("{name}\n"));
        }
        fixture.commit("first");
        fixture.write("dir/new", "new\n");
        fixture.git(["add", "dir/new"]);
        fixture.write("a", "changed\n");
        fixture.write("dir/late", "late\n");
        fs::remove_file(fixture.path("b")).unwrap();
        for command in &setup {
            fixture.git(command);
        }
        let pinned = check_against_git(&fixture).unwrap_or_else(|| panic!("{setup:?}"));
        assert_eq!(shown(&pinned), ["M a", "D b", "A dir/late", "A dir/new"], "{setup:?}");
    }
}

#[test]
fn intent_to_add_and_conflicts_are_read_from_disk() {
    let fixture = Fixture::new();
    fixture.write("file", lines(0..10));
    fixture.commit("base");
    fixture.git(["checkout", "-q", "-b", "other"]);
    fixture.write("file", lines(0..10).replace("line 5", "theirs"));
    fixture.commit("theirs");
    fixture.git(["checkout", "-q", "main"]);
    fixture.write("file", lines(0..10).replace("line 5", "ours"));
    fixture.commit("ours");
    let _conflict = std::process::Command::new("git")
        .current_dir(&fixture.top)
        .args(["-c", "user.name=A", "-c", "user.email=a@example.org", "merge", "-q", "other"])
        .output()
        .unwrap();
    fixture.write("intended", "x\n");
    fixture.git(["add", "-N", "intended"]);
    let pinned = check_against_git(&fixture).unwrap();
    assert_eq!(shown(&pinned), ["M file", "A intended"]);
    assert!(String::from_utf8(bytes(&fixture, files(&pinned)[0].new)).unwrap().contains("<<<<<<<"));
    assert!(pinned.notes.iter().any(|note| note.contains("1 unmerged")), "{:?}", pinned.notes);
}

#[test]
fn a_path_that_stopped_being_tracked_is_deleted_only_if_it_is_ignored() {
    let fixture = Fixture::new();
    fixture.write("ignored", "x\n");
    fixture.write("kept", "x\n");
    fixture.commit("first");
    fixture.git(["rm", "-q", "--cached", "ignored", "kept"]);
    fixture.write(".gitignore", "ignored\n");
    assert_eq!(shown(&check_against_git(&fixture).unwrap()), ["A .gitignore", "D ignored"]);
}

#[test]
fn a_sparse_checkout_deletes_nothing() {
    for sparse_index in ["false", "true"] {
        let fixture = Fixture::new();
        for name in ["in/a", "in/b", "out/deep/c", "out/d", "top"] {
            fixture.write(name, "x\n");
        }
        fixture.commit("first");
        fixture.git(["config", "index.sparse", sparse_index]);
        fixture.git(["sparse-checkout", "set", "--cone", "in"]);
        assert!(!fixture.path("out/d").exists());
        assert!(check_against_git(&fixture).is_none());
        fixture.write("in/a", "y\n");
        assert_eq!(shown(&uncommitted(&fixture).unwrap()), ["M in/a"], "sparse index: {sparse_index}");
        fixture.write("out/d", "present after all\n");
        assert_eq!(shown(&uncommitted(&fixture).unwrap()), ["M in/a", "M out/d"], "sparse index: {sparse_index}");
    }
}

#[test]
fn a_linked_worktree_and_a_repository_below_are_read_as_their_own() {
    let fixture = Fixture::new();
    fixture.write("a", "a\n");
    fixture.commit("first");
    let linked = fixture.beside("linked");
    fixture.git(["worktree", "add", "-q", "--detach", linked.to_str().unwrap()]);
    fs::write(linked.join("a"), "changed\n").unwrap();
    let pin =
        |repo: &Path| pin_plain(&fixture.vault, &ReviewSource::Uncommitted { repo: repo.to_owned() }, &PinLimits::default(), &|| false);
    assert_eq!(shown(&pin(&linked).unwrap()), ["M a"]);
    assert_eq!(pin(&fixture.top).unwrap_err().code, ErrorCode::NothingToReview);
    fs::create_dir(fixture.path("sub")).unwrap();
    fixture.write("a", "from below\n");
    assert_eq!(shown(&pin(&fixture.path("sub")).unwrap()), ["M a"]);
}

#[test]
fn submodules_are_pointers_and_nested_repositories_are_not_entered() {
    let fixture = Fixture::new();
    let library = fixture.beside("library");
    fs::create_dir(&library).unwrap();
    git_in(&library, ["init", "-q", "-b", "main"]);
    fs::write(library.join("x"), "1\n").unwrap();
    git_in(&library, ["add", "-A"]);
    git_in(&library, ["commit", "-q", "-m", "one"]);
    let first = git_in(&library, ["rev-parse", "HEAD"]).trim().to_owned();
    fixture.git(["submodule", "--quiet", "add", library.to_str().unwrap(), "lib"]);
    fixture.commit("with a submodule");
    assert!(check_against_git(&fixture).is_none());

    let inside = fixture.path("lib");
    fs::write(inside.join("x"), "2\n").unwrap();
    let pin =
        |repo: &Path| pin_plain(&fixture.vault, &ReviewSource::Uncommitted { repo: repo.to_owned() }, &PinLimits::default(), &|| false);
    assert_eq!(shown(&pin(&inside).unwrap()), ["M x"], "a submodule is a repository of its own");
    git_in(&inside, ["commit", "-q", "-a", "-m", "two"]);
    let second = git_in(&inside, ["rev-parse", "HEAD"]).trim().to_owned();

    let nested = fixture.path("nested");
    fs::create_dir(&nested).unwrap();
    git_in(&nested, ["init", "-q"]);
    fs::write(nested.join("y"), "1\n").unwrap();
    fixture.write("plain/.git/not-a-repository", "");
    fixture.write("plain/z", "1\n");
    let pinned = uncommitted(&fixture).unwrap();
    assert_eq!(shown(&pinned), ["M lib", "A plain/z"]);
    let present = |id: &str| VersionPointer::Present { blob: id.parse().unwrap(), mode: FileMode::Gitlink };
    assert_eq!((files(&pinned)[0].old, files(&pinned)[0].new), (present(&first), present(&second)));
    assert_eq!(pinned.blobs.len(), 1, "a submodule's commit has no bytes");
    assert!(pinned.notes.iter().any(|note| note.contains("`nested`")), "{:?}", pinned.notes);
    let aside: Vec<_> = pinned.decided.iter().map(|entry| (entry.file.lossy(), entry.status.clone())).collect();
    assert_eq!(aside, [("nested".to_owned(), CoverageStatus::Skipped(SkipReason::NestedRepository))]);
}

#[test]
fn line_endings_that_git_converts_are_no_change() {
    let fixture = Fixture::new();
    fixture.write("a.txt", "one\ntwo\nthree\n");
    fixture.write("b.txt", "one\ntwo\nthree\n");
    fixture.write("c.bin", "one\r\ntwo\r\n");
    fixture.commit("first");
    for name in ["a.txt", "c.bin"] {
        fixture.write(name, "one\r\ntwo\r\nthree\r\n");
    }
    fixture.write("b.txt", "one\r\n2\r\nthree\r\n");
    assert_eq!(shown(&uncommitted(&fixture).unwrap()), ["M a.txt", "M b.txt", "M c.bin"]);
    fixture.git(["config", "core.autocrlf", "true"]);
    let pinned = uncommitted(&fixture).unwrap();
    assert_eq!(shown(&pinned), ["M b.txt", "M c.bin"]);
    assert_eq!(fixture.expected().into_keys().collect::<Vec<_>>(), [b"b.txt".to_vec(), b"c.bin".to_vec()]);
    let b = &files(&pinned)[0];
    assert_eq!(bytes(&fixture, b.old), b"one\r\ntwo\r\nthree\r\n", "as it lay on disk before the edit");
    assert_eq!(bytes(&fixture, b.new), b"one\r\n2\r\nthree\r\n", "as it lies on disk");
    fixture.git(["config", "--unset", "core.autocrlf"]);
    fixture.write(".gitattributes", "a.txt text\n");
    assert_eq!(shown(&uncommitted(&fixture).unwrap()), ["A .gitattributes", "M b.txt", "M c.bin"]);
}

#[test]
fn a_large_file_behind_a_pointer_is_unchanged_or_binary() {
    let fixture = Fixture::new();
    let pointer = |oid: &str, size: usize| format!("version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {size}\n");
    fixture.write(".gitattributes", "");
    fixture.write("same.psd", pointer("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", 3));
    fixture.write("other.psd", pointer("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", 3));
    fixture.write("moved.psd", pointer("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", 3));
    fixture.commit("first");
    fixture.write("same.psd", "abc");
    fixture.write("other.psd", "abd");
    fixture.write("moved.psd", pointer(&"0".repeat(64), 3));
    let pinned = uncommitted(&fixture).unwrap();
    assert_eq!(shown(&pinned), ["M moved.psd"]);
    assert_eq!(pinned.decided.len(), 1);
    assert_eq!(
        (pinned.decided[0].file.lossy(), &pinned.decided[0].status),
        ("other.psd".into(), &CoverageStatus::Skipped(SkipReason::Binary))
    );
}

#[test]
fn the_configuration_comes_from_the_base_revision() {
    let fixture = Fixture::new();
    fixture.write(".sidetrack.toml", "exclude = []\n");
    fixture.write("a", "a\n");
    fixture.commit("first");
    fixture.write(".sidetrack.toml", "exclude = [\"**\"]\n");
    let pinned = uncommitted(&fixture).unwrap();
    assert_eq!(fixture.vault.get(pinned.config.unwrap()).unwrap(), b"exclude = []\n");
    assert!(pinned.blobs.contains(&pinned.config.unwrap()));
}

#[test]
fn what_moved_while_the_others_were_read_is_read_again() {
    let fixture = Fixture::new();
    for name in ["a", "b", "c", "gone"] {
        fixture.write(name, "0\n");
    }
    fixture.commit("first");
    for name in ["a", "b", "c", "gone"] {
        fixture.write(name, "1\n");
    }
    let source = ReviewSource::Uncommitted { repo: fixture.top.clone() };
    let asked = Cell::new(0u32);
    // Asked once a folder and once a file: at the fourth time `a` and `b` have been read.
    let restless = || {
        asked.set(asked.get() + 1);
        if asked.get() == 4 {
            fixture.write("a", "2\n");
            fixture.write("b", "0\n");
            fs::remove_file(fixture.path("gone")).unwrap();
        }
        false
    };
    let pinned = pin_plain(&fixture.vault, &source, &PinLimits::default(), &restless).unwrap();
    assert_eq!(asked.get(), 1 + 4 + 2);
    assert_eq!(shown(&pinned), ["M a", "M c", "D gone"]);
    assert_eq!(bytes(&fixture, files(&pinned)[0].new), b"2\n");
    assert_eq!(pinned.blobs.len(), 3, "what was read in vain is not kept: 0, 1 and 2");
}

#[test]
fn what_never_stands_still_is_left_out_and_said() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let fixture = Fixture::new();
    let stop = AtomicBool::new(false);
    for name in ["restless", "still"] {
        fixture.write(name, "0\n");
    }
    fixture.commit("first");
    fixture.write("still", "1\n");
    fixture.write("restless", "1\n");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut n = 1u64;
            while !stop.load(Ordering::Relaxed) {
                n += 1;
                fixture.write("restless", format!("{n}\n"));
            }
        });
        // Whether the writer is caught at it is up to the scheduler; what is pinned has to be whole.
        for _ in 0..20 {
            let pinned = uncommitted(&fixture).unwrap();
            let mut lines = shown(&pinned);
            for entry in &pinned.decided {
                assert_eq!(
                    (entry.file.lossy(), &entry.status),
                    ("restless".into(), &CoverageStatus::Skipped(SkipReason::ChangedWhileReading))
                );
                lines.push("M restless".into());
            }
            for file in files(&pinned).iter().filter(|file| file.path.as_bytes() == b"restless") {
                let text = String::from_utf8(bytes(&fixture, file.new)).unwrap();
                assert!(text.is_empty() || text.trim_end().parse::<u64>().is_ok(), "{text:?}");
            }
            lines.sort();
            assert_eq!(lines, ["M restless", "M still"]);
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn later_edits_do_not_move_the_review() {
    let fixture = Fixture::new();
    fixture.write("a", "0\n");
    fixture.commit("first");
    fixture.write("a", "1\n");
    let pinned = uncommitted(&fixture).unwrap();
    fixture.write("a", "2\n");
    fixture.git(["commit", "-qam", "second"]);
    fixture.git(["gc", "-q", "--prune=now"]);
    assert_eq!((bytes(&fixture, files(&pinned)[0].old), bytes(&fixture, files(&pinned)[0].new)), (b"0\n".to_vec(), b"1\n".to_vec()));
}

#[test]
fn a_cancelled_pin_keeps_nothing() {
    let fixture = Fixture::new();
    for n in 0..20 {
        fixture.write(format!("f{n}"), "x\n");
    }
    let source = ReviewSource::Uncommitted { repo: fixture.top.clone() };
    let left = Cell::new(12);
    let cancelled = || {
        left.set(left.get() - 1);
        left.get() <= 0
    };
    assert!(pin_plain(&fixture.vault, &source, &PinLimits::default(), &cancelled).is_err());
    assert_eq!(fs::read_dir(fixture.vault.root().join("blobs")).unwrap().count(), 0);
}

#[test]
fn a_repository_with_longer_ids_is_read_too() {
    let fixture = Fixture::with(&["--object-format=sha256"]);
    fixture.write("a", "0\n");
    fixture.write("same", "0\n");
    fixture.write(".sidetrack.toml", "\n");
    fixture.commit("first");
    fixture.write("a", "1\n");
    fixture.write("same", "0\n");
    let pinned = uncommitted(&fixture).unwrap();
    assert_eq!(shown(&pinned), ["M a"]);
    assert_eq!((bytes(&fixture, files(&pinned)[0].old), bytes(&fixture, files(&pinned)[0].new)), (b"0\n".to_vec(), b"1\n".to_vec()));
}

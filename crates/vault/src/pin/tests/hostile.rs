//! Repositories and folders that mean harm, or are only odd.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::*;

/// Everything a repository can bring along that git would run; each leaves a file when it runs.
fn armed() -> Fixture {
    let fixture = Fixture::new();
    for name in ["a.txt", "b.txt", "c.dat", "gone.txt"] {
        fixture.write(name, "one\ntwo\n");
    }
    fixture.commit("first");
    let canary = |name: &str| {
        let script = fixture.beside(&format!("{name}.sh"));
        fs::write(&script, format!("#!/bin/sh\ntouch {}\ncat\n", fixture.beside(&format!("canary-{name}")).display())).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        script.display().to_string()
    };
    for key in [
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "core.askPass",
        "diff.external",
        "diff.x.textconv",
        "diff.x.command",
        "filter.x.clean",
        "filter.x.smudge",
        "filter.x.process",
        "merge.x.driver",
        "gpg.program",
        "uploadpack.packObjectsHook",
        "credential.helper",
        "alias.status",
    ] {
        fixture.git(["config", key, &canary(key)]);
    }
    fixture.git(["config", "filter.x.required", "true"]);
    fixture.git(["config", "commit.gpgSign", "true"]);
    fixture.git(["config", "log.showSignature", "true"]);
    for hook in ["post-index-change", "fsmonitor-watchman", "pre-commit", "reference-transaction", "post-checkout"] {
        let path = fixture.path(format!(".git/hooks/{hook}"));
        fs::copy(canary(hook), &path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fixture.write(".gitattributes", "* filter=x diff=x merge=x\n");
    fixture.write(".git/info/attributes", "*.dat filter=x diff=x\n");
    fixture.write(".lfsconfig", "[lfs]\n\turl = http://127.0.0.1:1/\n");
    let included = fixture.beside("included");
    fs::write(&included, format!("[core]\n\tfsmonitor = {}\n\texcludesFile = /dev/zero\n", canary("included"))).unwrap();
    fixture.git(["config", "include.path", included.to_str().unwrap()]);
    fixture
}

fn canaries(fixture: &Fixture) -> Vec<String> {
    let names = fs::read_dir(fixture.beside(".")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("canary-")).collect()
}

#[test]
fn nothing_the_repository_brings_along_is_run_or_written() {
    let fixture = armed();
    fixture.write("a.txt", "one\n2\n");
    fixture.write("b.txt", "one\ntwo\n");
    fixture.write("c.dat", "one\n2\n");
    fixture.write("new.txt", "new\n");
    fs::remove_file(fixture.path("gone.txt")).unwrap();
    let _: Vec<()> = fs::read_dir(fixture.beside("."))
        .unwrap()
        .filter_map(|entry| {
            let path = entry.unwrap().path();
            path.file_name().unwrap().to_str().unwrap().starts_with("canary-").then(|| fs::remove_file(path).unwrap())
        })
        .collect();
    let before = fixture.git_dir_state();
    let pinned = uncommitted(&fixture).unwrap();
    assert_eq!(shown(&pinned), ["A .gitattributes", "A .lfsconfig", "M a.txt", "M c.dat", "D gone.txt", "A new.txt"]);
    assert!(pinned.notes.iter().any(|note| note.contains("filter") && note.contains("`a.txt`")), "{:?}", pinned.notes);
    let source = ReviewSource::Branch { repo: fixture.top.clone(), branch: "HEAD".into(), base: Some("main".into()) };
    assert_eq!(pin_plain(&fixture.vault, &source, &PinLimits::default(), &|| false).unwrap_err().code, ErrorCode::NothingToReview);
    assert_eq!(before, fixture.git_dir_state(), "`.git` was written to");
    assert_eq!(canaries(&fixture), [] as [String; 0]);

    // The canaries sing when git itself is asked.
    let _status = Command::new("git").current_dir(&fixture.top).args(["status"]).output().unwrap();
    assert_ne!(canaries(&fixture), [] as [String; 0]);
}

#[test]
fn a_lock_that_someone_holds_is_no_hindrance() {
    let fixture = Fixture::new();
    fixture.write("a", "0\n");
    fixture.commit("first");
    fixture.write("a", "1\n");
    for lock in ["index.lock", "HEAD.lock", "config.lock", "packed-refs.lock"] {
        fixture.write(format!(".git/{lock}"), "");
    }
    assert_eq!(shown(&uncommitted(&fixture).unwrap()), ["M a"]);
    assert!(fixture.path(".git/index.lock").exists());
}

fn mkfifo(path: &Path) {
    rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}

#[test]
fn what_is_no_file_is_never_opened() {
    let fixture = Fixture::new();
    fixture.write("tracked", "0\n");
    fixture.write("sub/x", "0\n");
    fixture.commit("first");
    fs::remove_file(fixture.path("tracked")).unwrap();
    mkfifo(&fixture.path("tracked"));
    mkfifo(&fixture.path("untracked"));
    mkfifo(&fixture.path("sub/.gitignore"));
    mkfifo(&fixture.path(".gitattributes"));
    let _socket = std::os::unix::net::UnixListener::bind(fixture.path("socket")).unwrap();
    fixture.write("sub/x", "1\r\n");
    let pinned = uncommitted(&fixture).unwrap();
    assert_eq!(shown(&pinned), ["M sub/x"]);
    assert_eq!(pinned.decided.len(), 1);
    let CoverageStatus::Failed(why) = &pinned.decided[0].status else { panic!("{:?}", pinned.decided) };
    assert!(pinned.decided[0].file.as_bytes() == b"tracked" && why.contains("FIFO"), "{why}");
    let note = pinned.notes.iter().find(|note| note.contains("not opened")).unwrap();
    for name in ["`untracked (a FIFO)`", "`socket (a socket)`", "`sub/.gitignore (a FIFO)`"] {
        assert!(note.contains(name), "{note}");
    }
}

#[test]
fn a_fifo_among_gits_own_files_is_refused() {
    for path in [
        ".git/config",
        ".git/HEAD",
        ".git/index",
        ".git/packed-refs",
        ".git/info/exclude",
        ".git/refs/heads/main",
        ".git/objects/info/alternates",
    ] {
        let fixture = Fixture::new();
        fixture.write("a", "0\n");
        fixture.commit("first");
        fixture.write("a", "1\n");
        let full = fixture.path(path);
        let _: Option<()> = fs::remove_file(&full).ok();
        mkfifo(&full);
        let problem = uncommitted(&fixture).unwrap_err();
        assert_eq!(problem.code, ErrorCode::UnsupportedInput, "{path}: {problem:?}");
        assert!(problem.message.contains("FIFO"), "{problem:?}");
    }
    let fixture = Fixture::new();
    fixture.write("a", "0\n");
    fixture.commit("first");
    let linked = fixture.beside("linked");
    fixture.git(["worktree", "add", "-q", "--detach", linked.to_str().unwrap()]);
    mkfifo(&fixture.path(".git/config.worktree"));
    let problem = pin_plain(&fixture.vault, &ReviewSource::Uncommitted { repo: linked }, &PinLimits::default(), &|| false).unwrap_err();
    assert_eq!(problem.code, ErrorCode::UnsupportedInput, "by way of a linked worktree");
}

#[test]
fn a_repository_of_another_owner_is_read_with_its_own_settings() {
    let fixture = Fixture::new();
    fixture.write("a", "0\n");
    fixture.write("run", "0\n");
    fixture.commit("first");
    fixture.git(["config", "core.fileMode", "false"]);
    fixture.chmod("run", 0o755);
    fixture.write("a", "1\n");
    if rustix::process::geteuid().is_root() {
        let changed = Command::new("chown").args(["-R", "65534:65534"]).arg(&fixture.top).status().unwrap();
        assert!(changed.success());
    }
    assert_eq!(shown(&uncommitted(&fixture).unwrap()), ["M a"]);
}

#[test]
fn a_working_tree_elsewhere_is_refused() {
    let fixture = Fixture::new();
    fixture.write("a", "0\n");
    fixture.commit("first");
    let elsewhere = fixture.beside("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("secret"), "secret\n").unwrap();
    fixture.git(["config", "core.worktree", elsewhere.to_str().unwrap()]);
    let problem = uncommitted(&fixture).unwrap_err();
    assert_eq!(problem.code, ErrorCode::UnsupportedInput);
    assert!(problem.message.contains("core.worktree"), "{problem:?}");
}

#[test]
fn a_format_that_can_not_be_read_is_refused_with_words() {
    let fixture = Fixture::with(&["--ref-format=reftable"]);
    fixture.write("a", "0\n");
    fixture.commit("first");
    fixture.write("a", "1\n");
    let problem = uncommitted(&fixture).unwrap_err();
    assert_eq!(problem.code, ErrorCode::UnsupportedInput, "{problem:?}");
    assert!(problem.message.contains("reftable"), "{problem:?}");

    let fixture = Fixture::new();
    fixture.write("a", "0\n");
    fixture.commit("first");
    fixture.write(".git/index", "not an index");
    let problem = uncommitted(&fixture).unwrap_err();
    assert_eq!(problem.code, ErrorCode::Unreadable, "{problem:?}");
    assert!(problem.message.contains("index"), "{problem:?}");
}

#[test]
fn a_place_without_a_repository_is_said() {
    let fixture = Fixture::new();
    let plain = fixture.beside("plain");
    fs::create_dir(&plain).unwrap();
    let code = |source| pin_plain(&fixture.vault, &source, &PinLimits::default(), &|| false).unwrap_err().code;
    assert_eq!(code(ReviewSource::Uncommitted { repo: plain.clone() }), ErrorCode::NotARepository);
    assert_eq!(code(ReviewSource::Uncommitted { repo: plain.join("gone") }), ErrorCode::NotFound);
    assert_eq!(code(ReviewSource::Folder { path: plain.join("gone") }), ErrorCode::NotFound);
    assert_eq!(code(ReviewSource::Uncommitted { repo: "/".into() }), ErrorCode::RefusedRoot);
    assert_eq!(code(ReviewSource::Folder { path: fixture.beside(".") }), ErrorCode::RefusedRoot, "it holds the vault");
    let around = Surroundings { home: Some(fixture.top.clone()), user: UserSettings::default() };
    fixture.write("sub/x", "0\n");
    for repo in [fixture.top.clone(), fixture.path("sub")] {
        let problem = pin_in(&around, &fixture.vault, &ReviewSource::Uncommitted { repo }, &PinLimits::default(), &|| false).unwrap_err();
        assert_eq!(problem.code, ErrorCode::RefusedRoot, "a repository of the whole home folder");
    }
}

#[test]
fn one_large_file_does_not_cost_the_others_their_review() {
    let fixture = Fixture::new();
    let large = vec![b'x'; 5000];
    fixture.write("large-same", &large);
    fixture.write("large-changed", &large);
    fixture.commit("first");
    fixture.write("large-same", &large);
    fixture.write("large-changed", [&large[..], b"y"].concat());
    fixture.write("large-new", &large);
    for n in 0..27 {
        fixture.write(format!("small{n:02}"), "x\n");
    }
    let source = ReviewSource::Uncommitted { repo: fixture.top.clone() };
    let pinned = pin_plain(&fixture.vault, &source, &PinLimits { file_bytes: 4096, ..PinLimits::default() }, &|| false).unwrap();
    assert_eq!(files(&pinned).len(), 27);
    let decided: Vec<_> = pinned.decided.iter().map(|entry| (entry.file.lossy(), entry.status.clone())).collect();
    let too_large = CoverageStatus::Skipped(SkipReason::TooLarge);
    assert_eq!(decided, [("large-changed".to_owned(), too_large.clone()), ("large-new".to_owned(), too_large)]);
}

#[test]
fn too_many_files_are_refused_before_they_are_read() {
    let fixture = Fixture::new();
    let folder = fixture.beside("many");
    for n in 0..300 {
        let place = folder.join((n % 7).to_string());
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join(n.to_string()), "x\n").unwrap();
    }
    let limits = PinLimits { files: 100, ..PinLimits::default() };
    let problem = pin_plain(&fixture.vault, &ReviewSource::Folder { path: folder.clone() }, &limits, &|| false).unwrap_err();
    assert_eq!(problem.code, ErrorCode::TooLarge);
    assert!(problem.fix.len() >= 2, "{problem:?}");
    fs::rename(&folder, fixture.path("many")).unwrap();
    let problem = pin_plain(&fixture.vault, &ReviewSource::Uncommitted { repo: fixture.top.clone() }, &limits, &|| false).unwrap_err();
    assert_eq!(problem.code, ErrorCode::TooLarge);
    assert!(problem.message.contains("untracked"), "{problem:?}");
    assert_eq!(fs::read_dir(fixture.vault.root().join("blobs")).unwrap().count(), 0);
}

#[test]
fn a_folder_without_git_counts_as_added() {
    let fixture = Fixture::new();
    let folder = fixture.beside("plain");
    fs::create_dir_all(folder.join("node_modules/x")).unwrap();
    fs::create_dir_all(folder.join(".hg")).unwrap();
    fs::create_dir_all(folder.join("src")).unwrap();
    for (name, bytes) in
        [("src/a.rs", &b"fn a() {}\n"[..]), ("node_modules/x/i.js", b"x\n"), (".hg/data", b"x\n"), ("b.bin", b"\0\x01"), ("empty", b"")]
    {
        fs::write(folder.join(name), bytes).unwrap();
    }
    symlink("/etc/passwd", folder.join("link")).unwrap();
    let pin = || pin_plain(&fixture.vault, &ReviewSource::Folder { path: folder.clone() }, &PinLimits::default(), &|| false);
    assert_eq!(shown(&pin().unwrap()), ["A b.bin", "A empty", "A link", "A node_modules/x/i.js", "A src/a.rs"]);
    fs::write(folder.join(".gitignore"), "node_modules\n").unwrap();
    let pinned = pin().unwrap();
    assert_eq!(shown(&pinned), ["A .gitignore", "A b.bin", "A empty", "A link", "A src/a.rs"]);
    assert!(pinned.notes[0].contains("counts as added") && pinned.notes[0].contains(".gitignore"), "{:?}", pinned.notes);
    let link = &files(&pinned)[3];
    assert_eq!(
        (link.new, bytes(&fixture, link.new)),
        (VersionPointer::Present { blob: crate::blob_id(b"/etc/passwd"), mode: FileMode::Symlink }, b"/etc/passwd".to_vec())
    );
    let empty = fixture.beside("empty");
    fs::create_dir(&empty).unwrap();
    assert_eq!(
        pin_plain(&fixture.vault, &ReviewSource::Folder { path: empty }, &PinLimits::default(), &|| false).unwrap_err().code,
        ErrorCode::NothingToReview
    );
}

/// Root may read everything, so the rule is tried by a process of another user, which runs this
/// same test from the start.
#[test]
fn what_may_not_be_read_is_a_failed_line_and_never_a_deletion() {
    use std::os::unix::process::CommandExt;
    if rustix::process::geteuid().is_root() {
        let here = std::env::current_exe().unwrap();
        let copy = tempfile::tempdir().unwrap();
        fs::set_permissions(copy.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let program = copy.path().join("tests");
        fs::copy(here, &program).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let name = "pin::tests::hostile::what_may_not_be_read_is_a_failed_line_and_never_a_deletion";
        let output =
            Command::new(program).args([name, "--exact"]).current_dir("/").env_remove("TMPDIR").uid(65534).gid(65534).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
        return;
    }
    let fixture = Fixture::new();
    for name in ["open", "shut-file", "shut/a", "shut/b/c", "listed/x"] {
        fixture.write(name, "0\n");
    }
    fixture.commit("first");
    for name in ["open", "shut-file", "shut/a"] {
        fixture.write(name, "1\n");
    }
    fixture.chmod("shut-file", 0);
    fixture.chmod("shut", 0);
    // Its names can be read and nothing else.
    fixture.chmod("listed", 0o444);
    let pinned = uncommitted(&fixture);
    fixture.chmod("shut", 0o755);
    fixture.chmod("listed", 0o755);
    let pinned = pinned.unwrap();
    assert_eq!(shown(&pinned), ["M open"]);
    let decided: Vec<_> = pinned.decided.iter().map(|entry| entry.file.lossy()).collect();
    assert_eq!(decided, ["listed", "shut", "shut-file"]);
    for entry in &pinned.decided {
        let CoverageStatus::Failed(why) = &entry.status else { panic!("{entry:?}") };
        assert!(why.contains("ermission denied"), "{why}");
    }
}

//! Ranges, branches, and clones that hold only a part.

use super::*;

fn range(fixture: &Fixture, repo: &Path, base: &str, head: &str) -> Result<Pinned, Problem> {
    pin_plain(
        &fixture.vault,
        &ReviewSource::Range { repo: repo.to_owned(), base: base.into(), head: head.into() },
        &PinLimits::default(),
        &|| false,
    )
}

fn branch(fixture: &Fixture, repo: &Path, branch: &str, base: Option<&str>) -> Result<Pinned, Problem> {
    let source = ReviewSource::Branch { repo: repo.to_owned(), branch: branch.into(), base: base.map(Into::into) };
    pin_plain(&fixture.vault, &source, &PinLimits::default(), &|| false)
}

/// main: base, m1; topic (from base): t1, t2.
fn forked() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("a", "0\n");
    fixture.write("dir/b", "0\n");
    fixture.write(".sidetrack.toml", "base\n");
    fixture.commit("base");
    fixture.git(["checkout", "-q", "-b", "topic"]);
    fixture.write("a", "topic\n");
    fixture.commit("topic: one\n\nbody");
    fixture.write("dir/new", "new\n");
    fs::remove_file(fixture.path("dir/b")).unwrap();
    fixture.commit("topic: two");
    fixture.git(["checkout", "-q", "main"]);
    fixture.write("main-only", "1\n");
    fixture.write(".sidetrack.toml", "later\n");
    fixture.commit("main: one");
    fixture
}

#[test]
fn a_range_is_the_difference_of_its_ends() {
    let fixture = forked();
    let before = fixture.git_dir_state();
    let pinned = range(&fixture, &fixture.top, "topic~2", "topic").unwrap();
    assert_eq!(before, fixture.git_dir_state());
    assert_eq!(shown(&pinned), ["M a", "D dir/b", "A dir/new"]);
    assert_eq!(commits_of(&pinned), ["topic: one", "topic: two"]);
    assert_eq!(fixture.vault.get(pinned.config.unwrap()).unwrap(), b"base\n");
    assert_eq!(
        shown(&range(&fixture, &fixture.top, "main", "topic").unwrap()),
        ["M .sidetrack.toml", "M a", "D dir/b", "A dir/new", "D main-only"]
    );
    assert_eq!(range(&fixture, &fixture.top, "main", "main").unwrap_err().code, ErrorCode::NothingToReview);
}

#[test]
fn a_branch_is_compared_with_its_merge_base() {
    let fixture = forked();
    let pinned = branch(&fixture, &fixture.top, "topic", None).unwrap();
    assert_eq!(shown(&pinned), ["M a", "D dir/b", "A dir/new"]);
    let base = fixture.git(["rev-parse", "--short=10", "main~1"]);
    assert_eq!(pinned.notes, [format!("compared `topic` with merge base {} of `main`", base.trim())]);
    assert_eq!(shown(&branch(&fixture, &fixture.top, "topic", Some("topic~1")).unwrap()), ["D dir/b", "A dir/new"]);
}

#[test]
fn the_default_branch_is_the_one_the_server_names() {
    let fixture = forked();
    fixture.git(["branch", "-m", "main", "develop"]);
    let clone = fixture.beside("clone");
    git_in(&fixture.beside("."), ["clone", "-q", fixture.top.to_str().unwrap(), clone.to_str().unwrap()]);
    git_in(&clone, ["branch", "main", "origin/topic~1"]);
    let pinned = branch(&fixture, &clone, "topic", None).unwrap();
    assert!(pinned.notes[0].contains("of `origin/develop`"), "{:?}", pinned.notes);
    assert!(pinned.notes[0].contains("`origin/topic`"), "{:?}", pinned.notes);

    assert_eq!(branch(&fixture, &fixture.top, "topic", None).unwrap_err().code, ErrorCode::UnknownRevision);
    fixture.git(["config", "init.defaultBranch", "develop"]);
    assert!(branch(&fixture, &fixture.top, "topic", None).unwrap().notes[0].contains("of `develop`"));
}

#[test]
fn what_does_not_exist_is_named() {
    let fixture = forked();
    for (base, head) in [("nowhere", "topic"), ("main", "topic:a"), ("main", "--upload-pack=x"), ("main^{tree}", "topic")] {
        let problem = range(&fixture, &fixture.top, base, head).unwrap_err();
        assert_eq!(problem.code, ErrorCode::UnknownRevision, "{problem:?}");
    }
    assert_eq!(branch(&fixture, &fixture.top, "nope", None).unwrap_err().code, ErrorCode::UnknownRevision);
    fixture.git(["checkout", "-q", "--orphan", "island"]);
    fixture.commit("unrelated");
    let problem = branch(&fixture, &fixture.top, "island", Some("main")).unwrap_err();
    assert!(problem.message.contains("no common ancestor"), "{problem:?}");
}

#[test]
fn subjects_are_kept_oldest_first_and_the_rest_is_said() {
    let fixture = Fixture::new();
    fixture.commit("root");
    let mut stream = String::new();
    for n in 0..230 {
        let message = format!("commit {n}");
        stream.push_str(&format!(
            "commit refs/heads/main\nmark :{}\ncommitter A <a@example.org> {} +0000\ndata {}\n{message}\n",
            n + 1,
            1_700_000_100 + n,
            message.len()
        ));
        stream.push_str(&if n == 0 { "from refs/heads/main^0\n".to_owned() } else { String::new() });
        stream.push_str(&format!("M 100644 inline f\ndata {}\n{n}\n\n", n.to_string().len() + 1));
    }
    let input = fixture.beside("stream");
    fs::write(&input, stream).unwrap();
    let status = std::process::Command::new("git")
        .current_dir(&fixture.top)
        .args(["fast-import", "--quiet"])
        .stdin(fs::File::open(&input).unwrap())
        .status()
        .unwrap();
    assert!(status.success());
    let pinned = range(&fixture, &fixture.top, "main~230", "main").unwrap();
    let subjects = commits_of(&pinned);
    assert_eq!((subjects.len(), subjects[0].as_str(), subjects[199].as_str()), (200, "commit 30", "commit 229"));
    assert!(pinned.notes.iter().any(|note| note.contains("newest 200") && note.contains(" 30 ")), "{:?}", pinned.notes);
}

#[test]
fn a_bare_repository_has_ranges_and_no_uncommitted_work() {
    let fixture = forked();
    let bare = fixture.beside("bare.git");
    git_in(&fixture.beside("."), ["clone", "-q", "--bare", fixture.top.to_str().unwrap(), bare.to_str().unwrap()]);
    assert_eq!(shown(&branch(&fixture, &bare, "topic", None).unwrap()), ["M a", "D dir/b", "A dir/new"]);
    let problem = pin_plain(&fixture.vault, &ReviewSource::Uncommitted { repo: bare }, &PinLimits::default(), &|| false).unwrap_err();
    assert_eq!(problem.code, ErrorCode::NotARepository);
    assert!(problem.message.contains("bare"), "{problem:?}");
}

#[test]
fn a_shallow_clone_says_what_is_missing() {
    let fixture = forked();
    let clone = fixture.beside("shallow");
    let url = format!("file://{}", fixture.top.display());
    git_in(&fixture.beside("."), ["clone", "-q", "--depth=1", "--no-single-branch", &url, clone.to_str().unwrap()]);
    let problem = branch(&fixture, &clone, "topic", Some("main")).unwrap_err();
    assert!(problem.message.contains("shallow") && problem.fix.iter().any(|fix| fix.contains("--unshallow")), "{problem:?}");
    let pinned = range(&fixture, &clone, "main", "origin/topic").unwrap();
    assert_eq!(shown(&pinned).len(), 5);
    assert_eq!(commits_of(&pinned), ["topic: two"]);
}

#[test]
fn a_partial_clone_is_never_completed() {
    let fixture = forked();
    fixture.git(["config", "uploadpack.allowFilter", "true"]);
    let clone = fixture.beside("partial");
    let url = format!("file://{}", fixture.top.display());
    git_in(&fixture.beside("."), ["clone", "-q", "--filter=blob:none", &url, clone.to_str().unwrap()]);
    let objects = || git_in(&clone, ["count-objects", "-v"]);
    let before = objects();
    let pinned = range(&fixture, &clone, "main~1", "origin/topic").unwrap();
    assert_eq!(objects(), before, "something was fetched");
    assert_eq!(shown(&pinned), ["D dir/b"], "its bytes are here, for `main` has them too");
    let failed: Vec<_> = pinned.decided.iter().map(|entry| entry.file.lossy()).collect();
    assert_eq!(failed, ["a", "dir/new"]);
    let CoverageStatus::Failed(why) = &pinned.decided[0].status else { panic!("{:?}", pinned.decided) };
    assert!(why.contains("partial clone") && why.contains("fetches nothing"), "{why}");
    // What is checked out is there, so uncommitted work is compared as ever.
    fs::write(clone.join("main-only"), "2\n").unwrap();
    let pinned = pin_plain(&fixture.vault, &ReviewSource::Uncommitted { repo: clone.clone() }, &PinLimits::default(), &|| false).unwrap();
    assert_eq!(shown(&pinned), ["M main-only"]);
}

#[test]
fn packed_objects_and_refs_read_like_loose_ones() {
    let fixture = forked();
    fixture.git(["gc", "-q", "--aggressive", "--prune=now"]);
    fixture.git(["pack-refs", "--all"]);
    assert_eq!(shown(&branch(&fixture, &fixture.top, "topic", None).unwrap()), ["M a", "D dir/b", "A dir/new"]);
}

#[test]
fn too_much_is_refused_with_what_to_do() {
    let fixture = forked();
    let source = ReviewSource::Range { repo: fixture.top.clone(), base: "topic~2".into(), head: "topic".into() };
    let pin = |limits: PinLimits| pin_plain(&fixture.vault, &source, &limits, &|| false);
    let problem = pin(PinLimits { files: 2, ..PinLimits::default() }).unwrap_err();
    assert_eq!((problem.code, problem.fix.len()), (ErrorCode::TooLarge, 3), "{problem:?}");
    assert_eq!(pin(PinLimits { total_bytes: 8, ..PinLimits::default() }).unwrap_err().code, ErrorCode::TooLarge);
    let pinned = pin(PinLimits { file_bytes: 1, ..PinLimits::default() }).unwrap();
    assert_eq!(pinned.decided.len(), 3);
    assert!(pinned.decided.iter().all(|entry| entry.status == CoverageStatus::Skipped(SkipReason::TooLarge)));
}

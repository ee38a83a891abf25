//! Any sequence of edits: what we freeze is what git would commit.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Write(usize, u8),
    Remove(usize),
    Rename(usize, usize),
    Link(usize, u8),
    Executable(usize, bool),
    Rewrite(usize),
    Ignore(usize, usize),
    Stage(usize),
    StageAll,
    Intend(usize),
    Unstage(usize),
    Commit,
    Reset,
}

const PATHS: [&[u8]; 12] = [
    b"a",
    b"b.log",
    b"dir",
    b"dir/a",
    b"dir/b.log",
    b"dir/sub/a",
    b"dir/sub",
    b"build/out",
    b"caf\xe9",
    b"sp ace/\"q\"",
    b"dir/sub/build/x",
    b"z/.hidden",
];
const IGNORES: [&str; 8] =
    ["*.log\n", "/build\n", "build/\n!build/out\n", "dir/*\n!dir/a\n", "**/sub\n", "a\n", "!*.log\n\\!x\n# c\n", "sub/**/x\nz/\n"];
const IGNORE_FILES: [&[u8]; 3] = [b".gitignore", b"dir/.gitignore", b"dir/sub/.gitignore"];

fn step() -> impl Strategy<Value = Step> {
    let path = 0..PATHS.len();
    prop_oneof![
        6 => (path.clone(), 0u8..4).prop_map(|(path, content)| Step::Write(path, content)),
        2 => path.clone().prop_map(Step::Remove),
        2 => (path.clone(), path.clone()).prop_map(|(from, to)| Step::Rename(from, to)),
        1 => (path.clone(), 0u8..2).prop_map(|(path, target)| Step::Link(path, target)),
        1 => (path.clone(), any::<bool>()).prop_map(|(path, on)| Step::Executable(path, on)),
        1 => path.clone().prop_map(Step::Rewrite),
        2 => (0..IGNORE_FILES.len(), 0..IGNORES.len()).prop_map(|(file, rules)| Step::Ignore(file, rules)),
        2 => path.clone().prop_map(Step::Stage),
        1 => Just(Step::StageAll),
        1 => path.clone().prop_map(Step::Intend),
        1 => path.prop_map(Step::Unstage),
        2 => Just(Step::Commit),
        1 => Just(Step::Reset),
    ]
}

/// Makes room for a file at a path: whatever is in the way goes.
fn clear(fixture: &Fixture, path: &[u8]) {
    let full = fixture.path(path);
    for parent in full.ancestors().skip(1).take_while(|parent| *parent != fixture.top) {
        if parent.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
            fs::remove_file(parent).unwrap();
        }
    }
    remove(&full);
    fs::create_dir_all(full.parent().unwrap()).unwrap();
}

fn remove(full: &Path) {
    match full.symlink_metadata() {
        Ok(found) if found.is_dir() => fs::remove_dir_all(full).unwrap(),
        Ok(_) => fs::remove_file(full).unwrap(),
        Err(_) => {}
    }
}

/// Whether a path is there without going through a link.
fn is_there(fixture: &Fixture, path: &[u8]) -> bool {
    let full = fixture.path(path);
    full.symlink_metadata().is_ok()
        && full
            .ancestors()
            .skip(1)
            .take_while(|parent| *parent != fixture.top)
            .all(|parent| parent.symlink_metadata().is_ok_and(|found| found.is_dir()))
}

/// Git may refuse a step (a path that is not there, or is ignored); then nothing happens.
fn try_git(fixture: &Fixture, args: &[&[u8]]) {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let mut command = std::process::Command::new("git");
    command.current_dir(&fixture.top).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.args(["-c", "user.name=A", "-c", "user.email=a@example.org"]).args(args.iter().map(|arg| OsStr::from_bytes(arg)));
    let _refused_or_not = command.output().unwrap();
}

fn apply(fixture: &Fixture, step: &Step) {
    match step {
        Step::Write(path, content) => {
            clear(fixture, PATHS[*path]);
            // All of one length, so that only time or bytes tell them apart.
            fixture.write(PATHS[*path], format!("content {content}\n").repeat(3));
        }
        Step::Remove(path) if is_there(fixture, PATHS[*path]) => remove(&fixture.path(PATHS[*path])),
        Step::Rename(from, to)
            if is_there(fixture, PATHS[*from]) && !PATHS[*to].starts_with(PATHS[*from]) && !PATHS[*from].starts_with(PATHS[*to]) =>
        {
            clear(fixture, PATHS[*to]);
            fs::rename(fixture.path(PATHS[*from]), fixture.path(PATHS[*to])).unwrap();
        }
        Step::Link(path, target) => {
            clear(fixture, PATHS[*path]);
            symlink(["dir", "nowhere"][usize::from(*target)], fixture.path(PATHS[*path])).unwrap();
        }
        Step::Executable(path, on)
            if is_there(fixture, PATHS[*path]) && fixture.path(PATHS[*path]).symlink_metadata().unwrap().is_file() =>
        {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(fixture.path(PATHS[*path]), fs::Permissions::from_mode(if *on { 0o755 } else { 0o644 })).unwrap();
        }
        Step::Rewrite(path) if is_there(fixture, PATHS[*path]) && fixture.path(PATHS[*path]).symlink_metadata().unwrap().is_file() => {
            let bytes = fs::read(fixture.path(PATHS[*path])).unwrap();
            fs::write(fixture.path(PATHS[*path]), bytes).unwrap();
        }
        Step::Remove(_) | Step::Rename(..) | Step::Executable(..) | Step::Rewrite(_) => {}
        Step::Ignore(file, rules) => {
            clear(fixture, IGNORE_FILES[*file]);
            fixture.write(IGNORE_FILES[*file], IGNORES[*rules]);
        }
        Step::Stage(path) => try_git(fixture, &[b"add", b"-f", b"--", PATHS[*path]]),
        Step::StageAll => try_git(fixture, &[b"add", b"-A"]),
        Step::Intend(path) => try_git(fixture, &[b"add", b"-N", b"--", PATHS[*path]]),
        Step::Unstage(path) => try_git(fixture, &[b"rm", b"-q", b"-r", b"--cached", b"--", PATHS[*path]]),
        Step::Commit => try_git(fixture, &[b"commit", b"-q", b"-m", b"step"]),
        Step::Reset => try_git(fixture, &[b"reset", b"-q"]),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_sequence_of_edits_is_frozen_as_git_would_commit_it(steps in proptest::collection::vec(step(), 1..28)) {
        let fixture = Fixture::new();
        fixture.write("a", "content 0\n".repeat(3));
        fixture.write("dir/a", "content 1\n".repeat(3));
        fixture.commit("first");
        for step in &steps {
            apply(&fixture, step);
        }
        check_against_git(&fixture);
    }
}

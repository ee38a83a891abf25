//! What real git prints is read as git meant it.

use std::collections::BTreeMap;

use st_model::change::{ChangeBody, ChangeSet, ChangeStatus};
use st_model::path::RepoPath;
use st_model::version::FileMode;
use st_runner::diff::{Edit, parse_patch, suggestion_patch, write_patch};

use crate::support::{Dice, Repo, Tree, apply_to_tree, counts, difference, grow};

type Stat = (Option<(u64, u64)>, char);

/// Path to counts and status letter, by git's own accounts.
fn by_git(repo: &Repo, options: &[&str], base: &str, head: &str) -> BTreeMap<Vec<u8>, Stat> {
    let run = |what: &str| {
        let mut args = vec!["diff", what, "-z"];
        args.extend(options.iter().filter(|option| !option.starts_with("--no-prefix") && !option.starts_with("--color")));
        args.extend([base, head]);
        repo.git(args)
    };
    let mut status = BTreeMap::new();
    let raw = run("--name-status");
    let mut words = raw.split(|&byte| byte == 0);
    while let Some(word) = words.next().filter(|word| !word.is_empty()) {
        let letter = char::from(word[0]);
        let mut path = words.next().unwrap();
        if matches!(letter, 'R' | 'C') {
            path = words.next().unwrap();
        }
        status.insert(path.to_vec(), letter);
    }
    let raw = run("--numstat");
    let mut words = raw.split(|&byte| byte == 0);
    let mut all = BTreeMap::new();
    while let Some(word) = words.next().filter(|word| !word.is_empty()) {
        let mut parts = word.splitn(3, |&byte| byte == b'\t');
        let number = |part: &[u8]| std::str::from_utf8(part).unwrap().parse::<u64>().ok();
        let (added, removed) = (number(parts.next().unwrap()), number(parts.next().unwrap()));
        let mut path = parts.next().unwrap();
        if path.is_empty() {
            words.next();
            path = words.next().unwrap();
        }
        all.insert(path.to_vec(), (added.zip(removed), status[path]));
    }
    all
}

/// Ours, next to git's; git counts nothing for a binary of which only the mode changed.
fn assert_same(change: &ChangeSet, mut git: BTreeMap<Vec<u8>, Stat>, show: &dyn Fn() -> String) {
    for file in change.files.iter().filter(|file| file.body == ChangeBody::Empty) {
        if let Some(stat) = git.get_mut(file.path.as_bytes()) {
            stat.0 = stat.0.or(Some((0, 0)));
        }
    }
    let text = |all: BTreeMap<Vec<u8>, Stat>| -> BTreeMap<String, Stat> {
        all.into_iter().map(|(path, stat)| (path.escape_ascii().to_string(), stat)).collect()
    };
    assert_eq!(text(by_us(change)), text(git), "{}", show());
}

fn by_us(change: &ChangeSet) -> BTreeMap<Vec<u8>, Stat> {
    let letter = |status| match status {
        ChangeStatus::Added => 'A',
        ChangeStatus::Deleted => 'D',
        ChangeStatus::Modified => 'M',
        ChangeStatus::Renamed => 'R',
        ChangeStatus::Copied => 'C',
        ChangeStatus::TypeChanged => 'T',
    };
    change.files.iter().map(|file| (file.path.as_bytes().to_vec(), (counts(file), letter(file.status)))).collect()
}

#[test]
fn every_form_of_git_diff_is_read_as_numstat_counts_it() {
    let forms: &[&[&str]] = &[
        &["-M"],
        &["-M", "-C", "--find-copies-harder", "--binary"],
        &["-M", "--no-prefix"],
        &["--no-renames", "--full-index", "--binary"],
        &["-M", "-U0"],
        &["-M", "-U1", "--src-prefix=old/", "--dst-prefix=newer/"],
        &["-M", "--color=always"],
        &["-M", "--patience", "--function-context"],
    ];
    let mut files = 0;
    for seed in 1..=12 {
        let mut dice = Dice(seed);
        let repo = Repo::new();
        let mut base = Tree::new();
        for _ in 0..4 {
            base = grow(&mut dice, &base);
        }
        let base_id = repo.commit(&base, "base");
        let mut head = base.clone();
        for _ in 0..3 {
            head = grow(&mut dice, &head);
        }
        let head_id = repo.commit(&head, "head");
        for form in forms {
            let mut args = vec!["diff"];
            args.extend(*form);
            args.extend([base_id.as_str(), head_id.as_str()]);
            let patch = repo.git(&args);
            if patch.is_empty() {
                continue;
            }
            let show = || format!("seed {seed}, {form:?}:\n{}", String::from_utf8_lossy(&patch));
            let parsed = parse_patch(&patch).unwrap_or_else(|problem| panic!("{problem}\n{}", show()));
            assert_eq!(parsed.broken, [], "{}", show());
            assert_same(&parsed.change, by_git(&repo, form, &base_id, &head_id), &show);
            files += parsed.change.files.len();
            if !form.contains(&"--color=always") {
                let tree = apply_to_tree(&parsed.change, &base, &head).unwrap_or_else(|why| panic!("{why}\n{}", show()));
                assert_eq!(difference(&tree, &head), None, "{}", show());
            }
        }
    }
    assert!(files > 200, "only {files} files were compared");
}

#[test]
fn a_mailbox_collapses_to_what_lies_between_base_and_head() {
    let (mut same, mut all) = (0, 0);
    for seed in 1..=12 {
        let mut dice = Dice(seed * 7919);
        let repo = Repo::new();
        let mut base = Tree::new();
        for _ in 0..3 {
            base = grow(&mut dice, &base);
        }
        let base_id = repo.commit(&base, "base");
        let mut head = base.clone();
        for step in 1..=6 {
            head = grow(&mut dice, &head);
            repo.commit(&head, &format!("step {step}: grüße\n\nFrom here on\n---\n more text"));
        }
        for (form, args) in [
            ("format-patch", vec!["format-patch", "--stdout", "-M", "--binary", base_id.as_str()]),
            ("log", vec!["log", "-p", "-M", "--binary", "--full-index", "HEAD", "--not", base_id.as_str()]),
        ] {
            let patch = repo.git(&args);
            let show = || format!("seed {seed}, {form}:\n{}", String::from_utf8_lossy(&patch));
            let net = by_git(&repo, &["-M"], &base_id, "HEAD");
            let parsed = match parse_patch(&patch) {
                Ok(parsed) => parsed,
                Err(problem) => {
                    assert!(net.is_empty(), "{problem}\n{}", show());
                    continue;
                }
            };
            assert_eq!(parsed.broken, [], "{}", show());
            let tree = apply_to_tree(&parsed.change, &base, &head).unwrap_or_else(|why| panic!("{why}\n{}", show()));
            assert_eq!(difference(&tree, &head), None, "{}", show());
            let ours = by_us(&parsed.change);
            for (path, (wanted, status)) in &net {
                let Some((got, _)) = ours.get(path).filter(|ours| ours.1 == *status) else { continue };
                all += 1;
                // A file that was binary on the way has no lines in the series.
                same += usize::from(got == wanted || got.is_none());
            }
            let again = parse_patch(&write_patch(&parsed.change)).unwrap();
            assert_eq!(by_us(&again.change), ours, "{}", show());
        }
    }
    // Git looks for renames between both ends, a series names them step by step: only files with
    // the same fate are compared. On a whole file git may find another script than on the lines known.
    assert!(all > 60, "only {all} files were compared");
    assert!(same * 100 >= all * 97, "{same} of {all} files as git counts them");
}

#[test]
fn a_plain_recursive_diff_is_read_as_the_trees_differ() {
    for seed in 1..=8 {
        let mut dice = Dice(seed * 104_729);
        let repo = Repo::new();
        let mut base = Tree::new();
        for _ in 0..4 {
            base = grow(&mut dice, &base);
        }
        base.retain(|_, file| file.0 != FileMode::Symlink);
        let mut head = base.clone();
        for _ in 0..3 {
            head = grow(&mut dice, &head);
        }
        head.retain(|_, file| file.0 != FileMode::Symlink);
        // Diff prints a name with a newline as it is, so that nobody can read it.
        base.retain(|name, _| !name.contains(&b'\n'));
        head.retain(|name, _| !name.contains(&b'\n'));
        for (side, tree) in [("one", &base), ("two", &head)] {
            std::fs::create_dir(repo.path().join(side)).unwrap();
            for (name, (mode, bytes)) in tree {
                repo.put(&[side.as_bytes(), b"/", name].concat(), *mode, bytes);
            }
        }
        let output = std::process::Command::new("diff")
            .current_dir(repo.path())
            .env("LC_ALL", "C")
            .env("TZ", "Pacific/Auckland")
            .args(["-ruN", "one", "two"])
            .output()
            .unwrap();
        if output.stdout.is_empty() {
            continue;
        }
        let show = || format!("seed {seed}:\n{}", String::from_utf8_lossy(&output.stdout));
        let parsed = parse_patch(&output.stdout).unwrap_or_else(|problem| panic!("{problem}\n{}", show()));
        assert_eq!(parsed.broken, [], "{}", show());
        let tree = apply_to_tree(&parsed.change, &base, &head).unwrap_or_else(|why| panic!("{why}\n{}", show()));
        let contents = |tree: &Tree| -> BTreeMap<Vec<u8>, Vec<u8>> {
            tree.iter().filter(|file| !file.1.1.is_empty()).map(|(name, file)| (name.clone(), file.1.clone())).collect()
        };
        // Plain diffs say nothing of modes and of empty files.
        assert_eq!(contents(&tree), contents(&head), "{}", show());
    }
}

#[test]
fn what_is_written_is_taken_by_git_apply() {
    for seed in 1..=6 {
        let mut dice = Dice(seed * 31);
        let repo = Repo::new();
        let mut base = Tree::new();
        for _ in 0..4 {
            base = grow(&mut dice, &base);
        }
        let base_id = repo.commit(&base, "base");
        let mut head = base.clone();
        for _ in 0..3 {
            head = grow(&mut dice, &head);
        }
        let head_id = repo.commit(&head, "head");
        let patch = repo.git(["diff", "-M", &base_id, &head_id]);
        if patch.is_empty() {
            continue;
        }
        let mut change = parse_patch(&patch).unwrap().change;
        // A binary change is only named; its bytes are not in the change.
        change.files.retain(|file| !matches!(file.body, ChangeBody::Binary { .. }));
        let written = write_patch(&change);
        repo.git(["checkout", "-q", "-f", &base_id]);
        repo.feed(&["apply", "--check", "--whitespace=nowarn", "-"], &written)
            .unwrap_or_else(|why| panic!("seed {seed}: {why}\n{}", String::from_utf8_lossy(&written)));
    }
}

#[test]
fn a_suggestion_is_taken_by_git_apply_and_keeps_the_file_s_line_ends() {
    let repo = Repo::new();
    for (name, text, at, put, after) in [
        ("plain.rs", "a\nbad\nc\n", 2..5, "good", "a\ngood\nc\n"),
        ("crlf.rs", "a\r\nbad\r\nc\r\n", 3..6, "good\nbetter", "a\r\ngood\r\nbetter\r\nc\r\n"),
        ("bare.rs", "a\nbad", 2..5, "good", "a\ngood"),
        ("one.rs", "bad", 0..3, "x\ny", "x\ny"),
        ("gone.rs", "a\nbad\nc\n", 2..6, "", "a\nc\n"),
        ("with space/qu\"ote\u{e9}.rs", "a\nb\n", 0..0, "first\n", "first\na\nb\n"),
    ] {
        repo.put(name.as_bytes(), FileMode::Regular, text.as_bytes());
        let path = RepoPath::parse(name.as_bytes()).unwrap();
        let patch = suggestion_patch(&path, text.as_bytes(), &[Edit { range: at, text: put.into() }]).unwrap();
        for args in [&["apply", "--check", "-"][..], &["apply", "--whitespace=nowarn", "-"]] {
            repo.feed(args, patch.as_bytes()).unwrap_or_else(|why| panic!("{name}: {why}\n{patch}"));
        }
        assert_eq!(String::from_utf8(std::fs::read(repo.file(name.as_bytes())).unwrap()).unwrap(), after, "{patch}");
    }
    let path = RepoPath::parse(b"x").unwrap();
    let edit = |range, text: &str| Edit { range, text: text.into() };
    assert_eq!(suggestion_patch(&path, b"abc\n", &[edit(0..2, "x"), edit(1..3, "y")]), None, "overlap");
    assert_eq!(suggestion_patch(&path, b"abc\n", &[edit(2..9, "x")]), None, "past the end");
    assert_eq!(suggestion_patch(&path, b"abc\n", &[edit(0..3, "abc")]), None, "nothing changed");
    assert_eq!(suggestion_patch(&path, b"caf\xe9\nb\n", &[edit(5..6, "c")]), None, "not UTF-8");
}

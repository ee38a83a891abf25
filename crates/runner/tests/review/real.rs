//! A change nobody made up: two published versions of a crate that the lock file brings.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use st_model::change::LineKind;
use st_model::finding::{Anchor, Finding, Side};

use crate::real_crate::{TwoVersions, changed_files, files, two_versions};
use crate::support::{Folder, Outcome, Said};

/// Git in a folder of its own, with nothing of the user's configuration.
fn git(dir: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "core.autocrlf=false", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .current_dir(dir)
        .output()
        .expect("git runs");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn put(tree: &BTreeMap<String, PathBuf>, names: &[String], dir: &Path) {
    for name in names {
        let target = dir.join(name);
        let _ = fs::remove_file(&target);
        if let Some(source) = tree.get(name) {
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            fs::copy(source, &target).unwrap();
        }
    }
}

/// The changed lines of both sides by file, read from the patch by a reader that shares nothing
/// with the one under test.
fn lines_of_patch(patch: &[u8]) -> BTreeMap<String, (BTreeSet<u32>, BTreeSet<u32>)> {
    let text = String::from_utf8_lossy(patch);
    let mut all: BTreeMap<String, (BTreeSet<u32>, BTreeSet<u32>)> = BTreeMap::new();
    let (mut name, mut old, mut new, mut left) = (String::new(), 0, 0, (0, 0));
    for line in text.split('\n') {
        if left == (0, 0) {
            if let Some(rest) = line.strip_prefix("diff --git a/") {
                name = rest.split(" b/").last().unwrap().to_owned();
            } else if let Some(rest) = line.strip_prefix("@@ -") {
                let count = |range: &str| -> (u32, u32) {
                    let (start, count) = range.split_once(',').unwrap_or((range, "1"));
                    (start.parse().unwrap(), count.parse().unwrap())
                };
                let mut ranges = rest.split(' ');
                let (before, after) = (count(ranges.next().unwrap()), count(ranges.next().unwrap().trim_start_matches('+')));
                (old, new, left) = (before.0, after.0, (before.1, after.1));
            }
            continue;
        }
        let sets = all.entry(name.clone()).or_default();
        match line.as_bytes().first() {
            Some(b'-') => {
                sets.0.insert(old);
                old += 1;
                left.0 -= 1;
            }
            Some(b'+') => {
                sets.1.insert(new);
                new += 1;
                left.1 -= 1;
            }
            Some(b'\\') => {}
            _ => {
                old += 1;
                new += 1;
                left = (left.0 - 1, left.1 - 1);
            }
        }
    }
    all
}

struct Change {
    versions: TwoVersions,
    old: BTreeMap<String, PathBuf>,
    new: BTreeMap<String, PathBuf>,
    names: Vec<String>,
}

impl Change {
    fn find() -> Self {
        let versions = two_versions(50).unwrap();
        let names = changed_files(&versions.old.1, &versions.new.1);
        assert!(names.len() >= 50);
        Self { old: files(&versions.old.1), new: files(&versions.new.1), names, versions }
    }

    /// Checks that a finding quotes what stands on its lines.
    fn check_quote(&self, finding: &Finding) {
        let name = finding.file.lossy();
        let tree = if finding.side == Side::New { &self.new } else { &self.old };
        let text = fs::read(&tree[&name]).unwrap();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> =
            text.lines().skip(finding.start_line as usize - 1).take((finding.end_line - finding.start_line + 1) as usize).collect();
        assert_eq!(finding.quote, lines.join("\n"), "{name}:{}", finding.start_line);
    }
}

fn check_streaming(outcome: &Outcome) {
    let first = outcome.said.iter().position(|said| matches!(said, Said::Finding(_))).expect("a finding");
    let last_file = outcome.said.iter().rposition(|said| matches!(said, Said::Progress(progress) if !progress.line.is_empty())).unwrap();
    assert!(first < last_file, "no finding before the last file was read");
}

#[test]
fn every_finding_on_a_real_patch_lies_on_a_changed_line() {
    let change = Change::find();
    let dir = tempfile::TempDir::new().unwrap();
    git(dir.path(), &["init", "-q"]);
    put(&change.old, &change.names, dir.path());
    git(dir.path(), &["add", "-Af"]);
    git(dir.path(), &["commit", "-qm", "old"]);
    put(&change.new, &change.names, dir.path());
    git(dir.path(), &["add", "-Af"]);
    let patch = git(dir.path(), &["diff", "--cached", "--no-color", "--no-ext-diff", "--no-renames", "--binary"]);
    let changed = lines_of_patch(&patch);

    let outcome = Folder::new().review_patch(&patch);
    assert_eq!(outcome.ledger().len(), change.names.len());
    let mut on_lines = 0;
    for finding in outcome.findings().into_iter().filter(|finding| finding.anchor != Anchor::File) {
        let sets = &changed[&finding.file.lossy()];
        let set = if finding.side == Side::New { &sets.1 } else { &sets.0 };
        for line in finding.start_line..=finding.end_line {
            assert!(set.contains(&line), "{} at {}:{line} is on no changed line", finding.rule, finding.file);
        }
        change.check_quote(finding);
        on_lines += 1;
    }
    assert!(on_lines > 0, "a change of {} files without one finding tests nothing", change.names.len());
    check_streaming(&outcome);
}

#[test]
fn every_finding_between_two_real_versions_lies_on_a_changed_line() {
    let change = Change::find();
    let mut folder = Folder::new();
    let read = |tree: &BTreeMap<String, PathBuf>, name: &str| tree.get(name).map(|path| fs::read(path).unwrap());
    for name in &change.names {
        folder = folder.file(name, read(&change.old, name).as_deref(), read(&change.new, name).as_deref());
    }
    let outcome = folder.review();
    assert_eq!(outcome.ledger().len(), change.names.len());
    for finding in outcome.findings().into_iter().filter(|finding| finding.anchor != Anchor::File) {
        let name = finding.file.lossy();
        let (old, new) = (read(&change.old, &name).unwrap_or_default(), read(&change.new, &name).unwrap_or_default());
        // Which lines count as changed is the comparison's choice; that it is a true comparison is
        // held by its own tests. Here: the line is one of its added or removed lines.
        let kind = if finding.side == Side::New { LineKind::Added } else { LineKind::Removed };
        let hunks = st_runner::diff::compare(&old, &new);
        let numbers: BTreeSet<u32> = hunks
            .iter()
            .flat_map(|hunk| st_runner::diff::numbered(hunk, kind))
            .filter(|(_, line)| line.kind == kind)
            .map(|(number, _)| number)
            .collect();
        assert!(
            numbers.contains(&finding.start_line) && numbers.contains(&finding.end_line),
            "{} at {name}:{}",
            finding.rule,
            finding.start_line
        );
        change.check_quote(finding);
    }
    check_streaming(&outcome);
    let mut by_rule: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in outcome.findings() {
        *by_rule.entry(&finding.rule).or_default() += 1;
    }
    let versions = &change.versions;
    eprintln!("{} {} to {}: {by_rule:?}\n{}", versions.name, versions.old.0, versions.new.0, outcome.log());
}

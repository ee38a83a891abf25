//! A real change: one published version of a crate against another, both brought by the lock file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use st_testkit::{Machine, Repo};

use crate::findings;

/// Fewest files that differ.
const FEWEST_FILES: usize = 50;

#[test]
fn between_two_versions_of_a_crate_every_finding_lies_on_a_changed_line() {
    let machine = Machine::new();
    let (name, old, new) = two_versions();
    let repo = Repo::init(&machine.work().join("crate"));
    copy(&old, repo.root());
    let base = repo.commit("old");
    for entry in std::fs::read_dir(repo.root()).unwrap().map(Result::unwrap).filter(|entry| entry.file_name() != ".git") {
        let path = entry.path();
        if path.is_dir() { std::fs::remove_dir_all(path).unwrap() } else { std::fs::remove_file(path).unwrap() }
    }
    copy(&new, repo.root());
    let head = repo.commit("new");
    let changed = changed_paths(&repo, &base, &head);
    let differ = changed.present.len() + changed.gone.len();
    assert!(differ >= FEWEST_FILES, "{name}: only {differ} files differ");

    let engine = machine.serve(&[]);
    let memory = PeakMemory::watch(engine.pid());
    let number = machine.submit(&[&format!("{}@{base}..{head}", repo.text())]);
    let task = machine.rested(number);
    let (engine_kib, worker_kib) = memory.end();
    assert_eq!(task["state"], "done", "{}", task["error"]);

    let ledger: BTreeSet<String> =
        task["coverage"].as_array().unwrap().iter().map(|line| line["file"].as_str().unwrap().to_owned()).collect();
    // Which removed file became which new one is a judgement; every path that is there now has to
    // have its line, and a line has to be about a path that changed.
    let missing: Vec<&String> = changed.present.difference(&ledger).collect();
    assert!(missing.is_empty(), "changed, and not in the ledger: {missing:?}");
    let foreign: Vec<&String> = ledger.iter().filter(|file| !changed.present.contains(*file) && !changed.gone.contains(*file)).collect();
    assert!(foreign.is_empty(), "in the ledger, and not changed: {foreign:?}");

    let events = machine.run(&["watch", &number.to_string(), "--since", "0", "--json"]).lines();
    let seq = |event: &Value| event["seq"].as_u64().unwrap_or(0);
    let first_finding = events.iter().find(|event| event["kind"] == "finding").map(seq).expect("a change of this size has findings");
    let last_covered = events.iter().rfind(|event| event["kind"] == "covered").map(seq).unwrap();
    let covered_before = events.iter().filter(|event| event["kind"] == "covered" && seq(event) < first_finding).count();
    assert!(first_finding < last_covered && covered_before < ledger.len(), "findings must stream, not come at the end");

    let found = findings(&machine, &task);
    assert!(!found.is_empty());
    for finding in &found {
        let file = finding["file"].as_str().unwrap();
        let old_file = finding["old_file"].as_str().unwrap_or(file);
        if finding["anchor"] == "file" {
            continue;
        }
        let lines = changed_lines(&repo, &base, old_file, &head, file);
        let side = if finding["side"] == "new" { &lines.added } else { &lines.removed };
        let (start, end) = (finding["start_line"].as_u64().unwrap(), finding["end_line"].as_u64().unwrap());
        assert!(
            start >= 1 && end >= start && (start..=end).any(|line| side.contains(&line)),
            "{file}:{start}-{end} was not changed: {finding}"
        );
        // And the quote is what stands there.
        let revision = if finding["side"] == "new" { &head } else { &base };
        let path = if finding["side"] == "new" { file } else { old_file };
        let text = repo.git(&["show", &format!("{revision}:{path}")]);
        let line = text.lines().nth(usize::try_from(start).unwrap() - 1).unwrap_or_default();
        let quoted = finding["quote"].as_str().unwrap().lines().next().unwrap_or_default();
        assert!(quoted.is_empty() || line.contains(quoted.trim_end_matches('…').trim()), "{file}:{start} is `{line}`, quoted `{quoted}`");
    }
    println!(
        "{name}: {} files, {} findings, first after {covered_before} files; peak memory: engine {engine_kib} KiB, worker {worker_kib} KiB",
        ledger.len(),
        found.len()
    );
}

/// Two versions of one package in the lock file whose sources are here and differ most.
fn two_versions() -> (String, PathBuf, PathBuf) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let metadata = cargo_metadata::MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .other_options(["--locked".to_owned(), "--offline".to_owned()])
        .exec()
        .unwrap();
    let mut versions: BTreeMap<&str, Vec<(&cargo_metadata::semver::Version, PathBuf)>> = BTreeMap::new();
    for package in metadata.packages.iter().filter(|package| package.source.is_some()) {
        let folder = package.manifest_path.parent().unwrap().as_std_path().to_owned();
        versions.entry(package.name.as_str()).or_default().push((&package.version, folder));
    }
    let mut best: Option<(usize, String, PathBuf, PathBuf)> = None;
    for (name, mut found) in versions.into_iter().filter(|(_, found)| found.len() > 1) {
        found.sort();
        let ((old_version, old), (new_version, new)) = (&found[0], &found[found.len() - 1]);
        let files = differing(old, new);
        // Enough is enough: the largest would only take longer.
        let fits = (FEWEST_FILES..600).contains(&files);
        if fits && best.as_ref().is_none_or(|(most, ..)| files > *most) {
            best = Some((files, format!("{name} {old_version} to {new_version}"), old.clone(), new.clone()));
        }
    }
    let (_, name, old, new) = best.expect("the lock file brings no package in two versions that differ in 50 files");
    (name, old, new)
}

fn differing(old: &Path, new: &Path) -> usize {
    let (old_files, new_files) = (files(old), files(new));
    let names: BTreeSet<&PathBuf> = old_files.iter().chain(&new_files).collect();
    names.into_iter().filter(|name| std::fs::read(old.join(name)).ok() != std::fs::read(new.join(name)).ok()).count()
}

/// Relative paths of the package's files.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if entry.file_name() == ".cargo-ok" {
                continue;
            }
            if path.is_dir() { open.push(path) } else { found.push(path.strip_prefix(root).unwrap().to_owned()) }
        }
    }
    found
}

fn copy(from: &Path, to: &Path) {
    for name in files(from) {
        let target = to.join(&name);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::write(target, std::fs::read(from.join(&name)).unwrap()).unwrap();
    }
}

/// Changed lines of one file, by side.
#[derive(Debug, Default)]
struct Lines {
    added: BTreeSet<u64>,
    removed: BTreeSet<u64>,
}

/// Paths that differ, renames not paired.
struct Paths {
    /// Added or modified.
    present: BTreeSet<String>,
    /// Deleted.
    gone: BTreeSet<String>,
}

fn changed_paths(repo: &Repo, base: &str, head: &str) -> Paths {
    let names = repo.git(&["diff", "--no-ext-diff", "--no-renames", "--name-status", "-z", base, head]);
    let fields: Vec<&str> = names.split('\0').filter(|field| !field.is_empty()).collect();
    let (gone, present): (Vec<_>, Vec<_>) = fields.chunks(2).partition(|pair| pair[0] == "D");
    let set = |pairs: Vec<&[&str]>| pairs.into_iter().map(|pair| pair[1].to_owned()).collect();
    Paths { present: set(present), gone: set(gone) }
}

/// What git itself says has changed between two versions of a file; read here by hand, so that no
/// parser of ours checks itself.
fn changed_lines(repo: &Repo, base: &str, old_file: &str, head: &str, file: &str) -> Lines {
    let exists = |revision: &str, path: &str| !repo.git(&["ls-tree", revision, "--", path]).is_empty();
    let diff = if exists(base, old_file) && exists(head, file) {
        repo.git(&["diff", "--no-ext-diff", "-U0", &format!("{base}:{old_file}"), &format!("{head}:{file}")])
    } else {
        repo.git(&["diff", "--no-ext-diff", "--no-renames", "-U0", base, head, "--", file])
    };
    let mut lines = Lines::default();
    for header in diff.lines().filter(|line| line.starts_with("@@ -")) {
        let mut ranges = header.split(' ').skip(1).take(2).map(|range| {
            let (start, length) = range[1..].split_once(',').unwrap_or((&range[1..], "1"));
            let start: u64 = start.parse().unwrap();
            start..start + length.parse::<u64>().unwrap()
        });
        lines.removed.extend(ranges.next().unwrap());
        lines.added.extend(ranges.next().unwrap());
    }
    lines
}

/// Samples the high-water marks of an engine and of the workers below it.
struct PeakMemory {
    stop: std::sync::mpsc::Sender<()>,
    sampler: std::thread::JoinHandle<(u64, u64)>,
}

impl PeakMemory {
    fn watch(engine: u32) -> Self {
        let (stop, stopped) = std::sync::mpsc::channel();
        let sampler = std::thread::spawn(move || {
            let (mut own, mut workers) = (0, 0);
            while stopped.recv_timeout(Duration::from_millis(20)) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                own = own.max(high_water(engine));
                workers = descendants(engine).into_iter().map(high_water).max().unwrap_or(0).max(workers);
            }
            (own, workers)
        });
        Self { stop, sampler }
    }

    /// Peaks of engine and worker, in KiB.
    fn end(self) -> (u64, u64) {
        drop(self.stop);
        self.sampler.join().unwrap()
    }
}

fn high_water(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}

fn descendants(pid: u32) -> Vec<u32> {
    let out = Command::new("ps").args(["-e", "-o", "pid=,ppid="]).output().unwrap();
    let table: Vec<(u32, u32)> = String::from_utf8_lossy(&out.stdout)
        .lines()
        .filter_map(|line| {
            let mut fields = line.split_whitespace().map(|field| field.parse().ok());
            Some((fields.next()??, fields.next()??))
        })
        .collect();
    let mut found = vec![pid];
    let mut at = 0;
    while at < found.len() {
        let parent = found[at];
        found.extend(table.iter().filter(|row| row.1 == parent).map(|row| row.0));
        at += 1;
    }
    found.split_off(1)
}

//! The pack's own tests: every example of every rule, and what every rule must say.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use st_model::change::{ChangeStatus, FileChange};
use st_model::finding::Finding;
use st_model::path::RepoPath;
use st_model::port::testing::ManualClock;
use st_model::review::PinnedFile;
use st_model::version::{BlobId, FileMode, VersionPointer};

use super::config::Config;
use super::language::Language;
use super::pack::{Example, ExampleFile, Examples, Matcher, Pack};
use super::{FileInput, catalogue, review_across, review_file, syntax};
use crate::diff;

/// One file of a change, with its bytes.
struct Changed {
    change: FileChange,
    pinned: PinnedFile,
    old: Option<Vec<u8>>,
    new: Option<Vec<u8>>,
}

impl Changed {
    fn input(&self) -> FileInput<'_> {
        FileInput {
            change: &self.change,
            old: self.old.as_deref(),
            new: self.new.as_deref(),
            old_version: Some(self.pinned.old),
            new_version: Some(self.pinned.new),
        }
    }
}

fn changed(file: &ExampleFile, default_path: &str) -> Changed {
    let path = RepoPath::parse(file.path.as_deref().unwrap_or(default_path).as_bytes()).unwrap();
    let new = file.new.as_ref().map(|text| {
        let mut bytes = text.repeat(file.repeat.unwrap_or(1)).into_bytes();
        if file.binary {
            bytes.extend_from_slice(b"\0\0\0");
        }
        bytes
    });
    let old = file.old.as_ref().map(|text| text.clone().into_bytes());
    let regular = |executable: bool| match (file.symlink, executable) {
        (true, _) => FileMode::Symlink,
        (false, true) => FileMode::Executable,
        (false, false) => FileMode::Regular,
    };
    let version = |bytes: &Option<Vec<u8>>, byte: u8, executable: bool| match bytes {
        _ if file.submodule => VersionPointer::Present { blob: BlobId([byte; 20]), mode: FileMode::Gitlink },
        Some(_) => VersionPointer::Present { blob: BlobId([byte; 20]), mode: regular(executable) },
        None => VersionPointer::Absent,
    };
    let (old_version, new_version) = (version(&old, 1, file.old_executable), version(&new, 2, file.new_executable));
    let status = match (&old_version, &new_version) {
        (VersionPointer::Absent, _) => ChangeStatus::Added,
        (_, VersionPointer::Absent) => ChangeStatus::Deleted,
        _ => ChangeStatus::Modified,
    };
    let pinned = PinnedFile { status, old_path: path.clone(), path, old: old_version, new: new_version };
    let change = diff::from_blobs(&pinned, old.as_deref(), new.as_deref());
    Changed { change, pinned, old, new }
}

fn files_of(example: &Example, examples: &Examples) -> Vec<Changed> {
    let language = examples.language.as_deref().and_then(Language::named).and_then(|languages| languages.first().copied());
    let path = language.map_or("sample.txt", Language::sample_path);
    match example {
        Example::Source(text) => vec![changed(
            &ExampleFile {
                path: None,
                old: None,
                new: Some(text.clone()),
                old_executable: false,
                new_executable: false,
                repeat: None,
                binary: false,
                symlink: false,
                submodule: false,
            },
            path,
        )],
        Example::File(file) => vec![changed(file, path)],
        Example::Files { files } => files.iter().map(|file| changed(file, path)).collect(),
    }
}

/// Reviews files as one change.
fn review(files: &[Changed]) -> Vec<Finding> {
    let pack = Pack::embedded().unwrap();
    let config = Config::default();
    let clock = ManualClock::at(0);
    let mut findings = Vec::new();
    let mut facts = Vec::new();
    let mut owners = Vec::new();
    for (index, file) in files.iter().enumerate() {
        let reviewed = review_file(pack, &config, &clock, file.input());
        assert!(!matches!(reviewed.status, st_model::coverage::CoverageStatus::Failed(_)), "{:?}", reviewed.status);
        findings.extend(reviewed.findings);
        if let Some(fact) = reviewed.facts {
            facts.push(fact);
            owners.push(index);
        }
    }
    findings.extend(review_across(pack, &config, &facts, |index, take| take(files[owners[index]].input())));
    findings
}

#[test]
fn every_rule_finds_its_failing_examples_and_passes_the_others() {
    let mut wrong = String::new();
    for rule in Pack::embedded().unwrap().rules() {
        for examples in &rule.examples {
            for (list, expected) in [(&examples.pass, false), (&examples.fail, true)] {
                for example in list {
                    let findings = review(&files_of(example, examples));
                    let found = findings.iter().any(|finding| finding.rule == rule.id);
                    if found != expected {
                        let others: Vec<&str> = findings.iter().map(|finding| finding.rule.as_str()).collect();
                        let what = if expected { "not found" } else { "found" };
                        writeln!(wrong, "{} [{:?}] {what}: {example:?}\n    findings: {others:?}", rule.id, examples.language).unwrap();
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn every_matcher_compiles() {
    let broken = syntax::broken_matchers(Pack::embedded().unwrap());
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
    for &language in Language::ALL {
        assert!(syntax::table(language).is_ok(), "{}", language.name());
    }
    for rule in Pack::embedded().unwrap().rules() {
        for scoped in &rule.matchers {
            if let Matcher::Secret(shape) = &scoped.matcher {
                assert!(shape.pattern().is_some(), "{}: bad expression", rule.id);
            }
        }
    }
}

#[test]
fn every_rule_says_what_why_and_what_to_do_and_has_an_example_for_each_language() {
    let pack = Pack::embedded().unwrap();
    assert!(pack.rules().len() >= 45, "only {} rules", pack.rules().len());
    assert_eq!(catalogue().len(), pack.rules().len());
    for (rule, info) in pack.rules().iter().zip(catalogue()) {
        let id = &rule.id;
        assert_eq!(*id, info.id);
        for text in [&rule.title, &rule.why, &rule.fix] {
            assert!(text.len() >= 10, "{id}: `{text}` says too little");
            assert!(!text.contains('<') || text.contains('`'), "{id}: raw HTML in `{text}`");
        }
        assert!(
            !rule.title.contains('\n') && rule.title.len() <= 100 && !rule.title.ends_with('.'),
            "{id}: title is one line without a period"
        );
        assert!(!rule.why.contains('\n') && !rule.fix.contains('\n'), "{id}: why and fix are one paragraph");
        assert!(rule.why.ends_with(['.', '`']) && rule.fix.ends_with(['.', '`']), "{id}: why and fix are sentences");
        assert!(rule.confidence > 0.0 && rule.confidence <= 1.0, "{id}: confidence");
        if let Some(cwe) = &rule.cwe {
            assert!(cwe.strip_prefix("CWE-").is_some_and(|number| number.parse::<u32>().is_ok()), "{id}: {cwe}");
        }
        assert!(id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'-')), "{id}");
        assert!(!rule.examples.is_empty(), "{id}: no examples");
        let shown: BTreeSet<&str> = rule.examples.iter().filter_map(|examples| examples.language.as_deref()).collect();
        for examples in &rule.examples {
            assert!(
                !examples.pass.is_empty() && !examples.fail.is_empty(),
                "{id}: {:?} lacks a passing or a failing example",
                examples.language
            );
        }
        // The members of a group share grammar and rule; one of them stands for all.
        for scoped in rule.matchers.iter().filter(|scoped| matches!(scoped.matcher, Matcher::Syntax(_))) {
            let group = |names: &[&str]| scoped.languages.iter().any(|language| names.contains(&language.name()));
            for language in &scoped.languages {
                let stands_for = match language {
                    Language::JavaScript | Language::TypeScript | Language::Tsx => {
                        group(&["javascript", "typescript", "tsx"])
                            && shown.iter().any(|name| ["javascript", "typescript", "tsx"].contains(name))
                    }
                    Language::C | Language::Cpp => shown.contains("c") || shown.contains("cpp"),
                    other => shown.contains(other.name()),
                };
                assert!(stands_for, "{id}: no example in {}", language.name());
            }
        }
    }
}

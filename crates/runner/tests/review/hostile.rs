//! Inputs made to break a reviewer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use st_model::broker::WorkerEnd;
use st_model::coverage::CoverageStatus;
use st_model::port::Clock;
use st_model::port::testing::ManualClock;
use st_model::problem::ErrorCode;
use st_model::time::Timestamp;
use st_runner::rules::language::Language;

use crate::support::{Folder, run_in};

#[test]
fn a_missing_or_broken_manifest_is_an_error_and_no_silence() {
    let dir = tempfile::TempDir::new().unwrap();
    assert!(matches!(run_in(dir.path()).end, WorkerEnd::Failed { problem, .. } if problem.code == ErrorCode::Internal));
    std::fs::write(dir.path().join("job.json"), "{").unwrap();
    assert!(matches!(run_in(dir.path()).end, WorkerEnd::Failed { .. }));
}

#[test]
fn an_empty_change_says_so() {
    assert!(matches!(Folder::new().review().end, WorkerEnd::Failed { problem, .. } if problem.code == ErrorCode::NothingToReview));
}

#[test]
fn a_patch_that_is_none_fails_with_a_cause() {
    let outcome = Folder::new().review_patch(b"PK\x03\x04 this is a zip");
    assert!(matches!(outcome.end, WorkerEnd::Failed { .. }), "{:?}", outcome.end);
}

#[test]
fn deep_nesting_is_partial_and_exhausts_no_stack() {
    for (name, open, close) in [("a.js", "(", ")"), ("a.py", "[", "]"), ("a.c", "{", "}"), ("a.json", "[", "]"), ("a.rs", "(", ")")] {
        let text = format!("{}1{}\n", format!("{open}\n").repeat(20_000), format!("{close}\n").repeat(20_000));
        let outcome = Folder::new().file(name, None, Some(text.as_bytes())).file("b.py", None, Some(b"eval(q)\n")).review();
        let ledger = outcome.ledger();
        assert!(matches!(&ledger[0].1, CoverageStatus::Partial(_) | CoverageStatus::Failed(_) | CoverageStatus::Reviewed), "{ledger:?}");
        assert_eq!(ledger[1].1, CoverageStatus::Reviewed);
    }
}

#[test]
fn nesting_below_the_limit_is_matched() {
    let text = format!("x = {}eval(q){}\n", "(".repeat(400), ")".repeat(400));
    let outcome = Folder::new().file("a.py", None, Some(text.as_bytes())).review();
    assert_eq!(outcome.rules(), ["security.eval"]);
    // The same twice, so that equal sub-trees of that depth are compared node by node.
    let deep = format!("{}a.b{}", "(".repeat(200), ")".repeat(200));
    let text = format!("if ({deep} === {deep}) f();\n");
    assert!(matches!(Folder::new().file("a.js", None, Some(text.as_bytes())).review().end, WorkerEnd::Done));
}

#[test]
fn many_findings_on_many_lines_stay_fast_enough_to_finish() {
    let text = "eval(q)\n".repeat(5_000);
    let outcome = Folder::new().file("a.py", None, Some(text.as_bytes())).review();
    assert_eq!(outcome.findings().len(), 5_000);
}

#[test]
fn a_missing_blob_fails_its_file_alone() {
    let folder = Folder::new().file("a.py", None, Some(b"eval(q)\n")).file("b.py", None, Some(b"eval(q + 1)\n"));
    let id = folder.blob(b"eval(q)\n");
    std::fs::remove_file(folder.path().join("blobs").join(id.to_string())).unwrap();
    let outcome = folder.review();
    assert!(matches!(outcome.ledger()[0].1, CoverageStatus::Failed(_)));
    assert_eq!(outcome.rules(), ["security.eval"]);
    assert!(matches!(outcome.end, WorkerEnd::Partial { .. }));
}

/// A clock on which every look takes a second.
#[derive(Debug, Default)]
struct Hurrying(AtomicU64);

impl Clock for Hurrying {
    fn now(&self) -> Timestamp {
        Timestamp(0)
    }

    fn monotonic(&self) -> Duration {
        Duration::from_secs(self.0.fetch_add(1, Ordering::SeqCst))
    }
}

#[test]
fn a_file_that_takes_too_long_fails_alone_and_says_so() {
    let text = "x = [1, 2, 3]\n".repeat(20_000);
    let folder = Folder::new().file("slow.py", None, Some(text.as_bytes())).file("quick.py", None, Some(b"eval(q)\n"));
    let outcome = folder.review_by(&Hurrying::default());
    assert!(
        matches!(&outcome.ledger()[0].1, CoverageStatus::Failed(why) if why.contains("longer than its time")),
        "{:?}",
        outcome.ledger()
    );
    assert_eq!(outcome.ledger()[1].1, CoverageStatus::Reviewed);
    assert_eq!(outcome.rules(), ["security.eval"]);
    assert!(matches!(&outcome.end, WorkerEnd::Partial { problem } if problem.message.contains("1 of 2 files")), "{:?}", outcome.end);
}

fn review_bytes(language: Language, old: Option<&[u8]>, new: &[u8]) {
    use st_model::change::ChangeStatus;
    use st_model::review::PinnedFile;
    use st_model::version::{BlobId, FileMode, VersionPointer};
    let path = crate::support::path(language.sample_path());
    let present = |byte| VersionPointer::Present { blob: BlobId([byte; 20]), mode: FileMode::Regular };
    let (status, before) = if old.is_some() { (ChangeStatus::Modified, present(1)) } else { (ChangeStatus::Added, VersionPointer::Absent) };
    let pinned = PinnedFile { status, old_path: path.clone(), path, old: before, new: present(2) };
    let change = st_runner::diff::from_blobs(&pinned, old, Some(new));
    let pack = st_runner::rules::pack::Pack::embedded().unwrap();
    let input = st_runner::rules::FileInput { change: &change, old, new: Some(new), old_version: None, new_version: None };
    let reviewed = st_runner::rules::review_file(pack, &Default::default(), &ManualClock::at(0), input);
    if let CoverageStatus::Failed(why) = &reviewed.status {
        panic!("{}: {why}", language.name());
    }
    let lines = u32::try_from(new.split(|&byte| byte == b'\n').count()).unwrap();
    for finding in &reviewed.findings {
        let limit = if finding.side == st_model::finding::Side::New { lines } else { u32::MAX };
        assert!(finding.end_line <= limit && finding.start_line <= finding.end_line, "{finding:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn random_bytes_never_panic_in_any_language(old in prop::collection::vec(any::<u8>(), 0..200), new in prop::collection::vec(any::<u8>(), 0..400)) {
        for &language in Language::ALL {
            review_bytes(language, None, &new);
            review_bytes(language, Some(&old), &new);
        }
    }

    #[test]
    fn random_code_like_text_never_panics(new in "([a-z_]{1,6}|[(){}\\[\\];:,.=<>+*/'\"`$#@!&|%-]|\n|    |if |for |return |def |fn |class |import |eval\\(|select |é|\u{202e}|\u{200b}){0,120}") {
        for &language in Language::ALL {
            review_bytes(language, None, new.as_bytes());
        }
    }
}

use std::collections::BTreeMap;

use serde_json::Value;

use super::text::Look;
use super::*;
use crate::dto::{ClaimsDto, CountsDto, ErrorDto, ProgressDto, StateDto, SuggestionDto, TokensDto};

fn task(state: StateDto, clean: bool) -> TaskDto {
    TaskDto {
        id: "01936f6e-0000-7000-8000-000000000042".into(),
        number: 42,
        title: "rate-limit.patch".into(),
        kind: "review".into(),
        runner: "rules".into(),
        state,
        reason: String::new(),
        change_state: "none".into(),
        complete: false,
        priority: "normal".into(),
        attempt: 1,
        max_attempts: 3,
        retry_at: None,
        throttled: None,
        position: None,
        waiting_for: Vec::new(),
        claims: ClaimsDto::default(),
        progress: ProgressDto::default(),
        timeout_ms: 600_000,
        tokens: TokensDto::default(),
        created_at: "2026-11-30T09:48:58.007Z".into(),
        pinned_at: Some("2026-11-30T09:48:58.020Z".into()),
        started_at: Some("2026-11-30T09:48:58.010Z".into()),
        finished_at: Some("2026-11-30T09:48:59.000Z".into()),
        findings: CountsDto::default(),
        coverage: Vec::new(),
        covered: BTreeMap::new(),
        clean,
        conflicts: Vec::new(),
        error: None,
        source: "rate-limit.patch".into(),
        origin: None,
        rerun_of: None,
    }
}

fn finding(id: u32, file: &str, line: u32, severity: &str) -> FindingDto {
    FindingDto {
        id,
        file: file.into(),
        file_b64: None,
        old_file: None,
        old_file_b64: None,
        side: "new".into(),
        start_line: line,
        end_line: line,
        severity: severity.into(),
        rule: "security.sql-concat".into(),
        title: "SQL text is put together from a variable".into(),
        body: "Whoever controls `name` controls the query. Bind it as a parameter.\n\n**Fix:** Use `?`.".into(),
        quote: "\tdb.execute(\"select \" + name)".into(),
        anchor: "exact".into(),
        suggestion: None,
        base: None,
        runner: "rules".into(),
        confidence: 0.9,
        cwe: Some("CWE-89".into()),
        fingerprint: format!("f{id}"),
        status: "new".into(),
    }
}

fn covered(file: &str, status: &str, reason: Option<&str>) -> CoverageDto {
    CoverageDto { file: file.into(), file_b64: None, status: status.into(), reason: reason.map(Into::into) }
}

/// One of everything that an export must cope with.
fn mixed() -> (TaskDto, Vec<FindingDto>, Vec<CoverageDto>) {
    let mut old = finding(2, "src/gone.py", 9, "medium");
    old.side = "old".into();
    let mut whole = finding(3, "caf\u{fffd}.txt", 0, "info");
    (whole.anchor, whole.file_b64, whole.end_line, whole.quote, whole.cwe) =
        ("file".into(), Some("Y2Fm6S50eHQ=".into()), 0, String::new(), None);
    let mut fixable = finding(4, "src/a b|c.py", 3, "low");
    fixable.suggestion =
        Some(SuggestionDto { patch: Some("--- a/src/a b|c.py\n+++ b/src/a b|c.py\n@@ -2,3 +2,3 @@\n x\n-y\n+z\n w\n".into()) });
    fixable.quote = "```\n<img src=x onerror=y> | \u{1b}[31m".into();
    fixable.title = "A <b>title</b> with | and `ticks` for @someone".into();
    fixable.body = "Body <script>x</script> and `a < b`.".into();
    let mut dismissed = finding(5, "src/a b|c.py", 1, "high");
    dismissed.status = "dismissed".into();
    let coverage = vec![
        covered("src/a b|c.py", "reviewed", None),
        covered("src/gone.py", "reviewed", None),
        covered("logo.png", "skipped", Some("binary")),
        covered("big.json", "skipped", Some("too large to review")),
        covered("half.py", "partial", Some("line 4 is longer than 64 KiB")),
        covered("odd.py", "failed", Some("the hunk at line 12 is cut off")),
    ];
    (task(StateDto::Done, false), vec![finding(1, "src/a b|c.py", 12, "high"), old, whole, fixable, dismissed], coverage)
}

#[test]
fn no_findings_is_said_only_when_every_file_was_reviewed_or_left_out_by_rule() {
    let reviewed = covered("a.rs", "reviewed", None);
    let binary = covered("b.png", "skipped", Some("binary"));
    let large = covered("c.json", "skipped", Some("too large to review"));
    let failed = covered("d.rs", "failed", Some("cut off"));
    let cases = [
        (StateDto::Done, true, vec![reviewed.clone()], "No findings; the one file was reviewed"),
        (StateDto::Done, true, vec![reviewed.clone(), binary], "No findings; 1 of 2 files reviewed in full"),
        (
            StateDto::Done,
            false,
            vec![reviewed.clone(), large.clone()],
            "Nothing was found in what was reviewed; 1 of 2 files reviewed in full",
        ),
        (StateDto::Done, false, vec![failed], "Nothing was found in what was reviewed; 0 of 1 file reviewed in full"),
        (StateDto::Done, true, vec![large], "Nothing was found in what was reviewed; 0 of 1 file reviewed in full"),
        (StateDto::Partial, true, vec![reviewed.clone()], "The review stopped early; 1 file reviewed"),
        (StateDto::Failed, true, vec![], "The review failed; no file was reviewed"),
        (StateDto::Running, true, vec![reviewed], "The review is not finished; 1 file reviewed so far"),
    ];
    for (state, clean, coverage, expected) in cases {
        let task = task(state, clean);
        let report = Report { task: &task, findings: &[], coverage: &coverage };
        let said = coverage::statement(&report);
        assert_eq!(said.headline, expected);
        for export in [text::text(&report, &Look::default()), markdown::markdown(&report)] {
            assert_eq!(export.contains("No findings"), expected.starts_with("No findings"), "{export}");
        }
    }
}

#[test]
fn text_shows_source_place_and_gaps_without_colour() {
    let (task, findings, coverage) = mixed();
    let text = text::text(&Report { task: &task, findings: &findings, coverage: &coverage }, &Look { color: false, width: 80 });
    insta::assert_snapshot!(text);
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn colour_adds_nothing_but_colour() {
    let (task, findings, coverage) = mixed();
    let report = Report { task: &task, findings: &findings, coverage: &coverage };
    let plain = text::text(&report, &Look { color: false, width: 80 });
    let mut coloured = text::text(&report, &Look { color: true, width: 80 });
    assert!(coloured.contains("\u{1b}[1m"));
    while let Some(start) = coloured.find("\u{1b}[") {
        let end = start + coloured[start..].find('m').unwrap() + 1;
        coloured.replace_range(start..end, "");
    }
    assert_eq!(coloured, plain);
}

#[test]
fn markdown_lets_nothing_break_out() {
    let (task, findings, coverage) = mixed();
    let markdown = markdown::markdown(&Report { task: &task, findings: &findings, coverage: &coverage });
    insta::assert_snapshot!(markdown);
    let mut inside = false;
    for line in markdown.lines() {
        if line.starts_with("````") {
            inside = !inside;
        }
        assert!(inside || !line.contains("<script") && !line.contains("<b>") && !line.contains("<img"), "{line}");
        assert!(!line.contains('\u{1b}'));
    }
    assert!(markdown.contains("````python\n```\n<img"), "the fence is longer than the run inside");
}

fn validated(report: &Report<'_>) -> Value {
    let schema: Value = serde_json::from_str(include_str!("sarif-2.1.0.schema.json")).unwrap();
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler.enable_format_assertions();
    compiler.add_resource("sarif.json", schema).unwrap();
    let index = compiler.compile("sarif.json", &mut schemas).unwrap();
    let log = sarif::sarif(report);
    if let Err(error) = schemas.validate(&log, index) {
        panic!("{error:#}\n{log:#}");
    }
    log
}

#[test]
fn sarif_validates_against_the_official_schema() {
    let (mut task, findings, coverage) = mixed();
    let log = validated(&Report { task: &task, findings: &findings, coverage: &coverage });
    insta::assert_json_snapshot!(log, {".runs[0].tool.driver.version" => "[version]", ".runs[0].tool.driver.semanticVersion" => "[version]"});
    task.state = StateDto::Failed;
    task.error = Some(ErrorDto {
        code: "timed_out".into(),
        message: "It took too long".into(),
        disk_effect: "No file was changed.".into(),
        fix: vec!["Raise the limit.".into()],
    });
    (task.started_at, task.finished_at) = (None, None);
    let log = validated(&Report { task: &task, findings: &[], coverage: &[] });
    assert_eq!(log["runs"][0]["invocations"][0]["executionSuccessful"], false);
}

#[test]
fn the_schema_test_can_fail() {
    let schema: Value = serde_json::from_str(include_str!("sarif-2.1.0.schema.json")).unwrap();
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("sarif.json", schema).unwrap();
    let index = compiler.compile("sarif.json", &mut schemas).unwrap();
    assert!(schemas.validate(&serde_json::json!({"version": "2.1.0", "runs": [{}]}), index).is_err());
}

#[test]
fn sarif_never_puts_a_removed_line_on_the_new_file() {
    let (task, findings, coverage) = mixed();
    let log = sarif::sarif(&Report { task: &task, findings: &findings, coverage: &coverage });
    for result in log["runs"][0]["results"].as_array().unwrap() {
        let region = &result["locations"][0]["physicalLocation"]["region"];
        assert_eq!(region.is_null(), result["properties"]["side"] == "old" || result["properties"]["anchor"] == "file", "{result:#}");
    }
}

#[test]
fn a_suggestion_becomes_replacements_of_whole_lines() {
    let task = task(StateDto::Done, false);
    let fixes = |patch: &str| {
        let mut finding = finding(1, "a.py", 3, "low");
        finding.suggestion = Some(SuggestionDto { patch: Some(patch.into()) });
        let log = validated(&Report { task: &task, findings: &[finding], coverage: &[] });
        log["runs"][0]["results"][0]["fixes"].clone()
    };
    let both = fixes("--- a/a.py\n+++ b/a.py\n@@ -2,4 +2,5 @@\n x\n-y\n-z\n+w\n+v\n+u\n q\n");
    let replacements = &both[0]["artifactChanges"][0]["replacements"];
    assert_eq!(replacements[0]["deletedRegion"], serde_json::json!({"startLine": 3, "startColumn": 1, "endLine": 5, "endColumn": 1}));
    assert_eq!(replacements[0]["insertedContent"]["text"], "w\nv\nu\n");
    let inserted = fixes("--- a/a.py\n+++ b/a.py\n@@ -2,2 +2,3 @@\n x\n+new\n y\n");
    let region = &inserted[0]["artifactChanges"][0]["replacements"][0]["deletedRegion"];
    assert_eq!(region, &serde_json::json!({"startLine": 3, "startColumn": 1, "endLine": 3, "endColumn": 1}));
    assert!(fixes("no patch at all").is_null());
}

#[test]
fn json_holds_findings_and_ledger() {
    let (task, findings, coverage) = mixed();
    let value = json::json(&Report { task: &task, findings: &findings, coverage: &coverage });
    assert_eq!(value["findings"].as_array().unwrap().len(), findings.len());
    assert_eq!(value["coverage"].as_array().unwrap().len(), coverage.len());
    assert_eq!(value["clean"], false);
}

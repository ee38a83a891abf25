//! The review of one file.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use st_model::broker::LogLevel;
use st_model::change::{ChangeBody, ChangeStatus, FileChange};
use st_model::coverage::{CoverageStatus, SkipReason};
use st_model::finding::{Finding, Side};
use st_model::port::Clock;
use st_model::version::{FileMode, VersionPointer};

use super::assemble::{Assembly, Hit};
use super::budget::Budget;
use super::checks::Check;
use super::classify;
use super::config::Config;
use super::language::Language;
use super::lock_facts::Facts;
use super::pack::{LineMatcher, Matcher, Pack, Region, Rule};
use super::secrets::SecretShape;
use super::suppress::Suppressions;
use super::syntax::{self, Parsed, Regions, SyntaxError};
use super::text::{Encoding, SideView};
use super::view::{FileView, Place, Remark};
use crate::diff;

/// Longest time one file may take. A file of 2 MiB takes well under a second in a release build;
/// what takes longer than this is built to.
pub const FILE_BUDGET: Duration = Duration::from_secs(10);

/// Lock files are only scanned for package names, so they may be larger than what is reviewed.
const MAX_LOCK_BYTES: usize = 64 * 1024 * 1024;

/// A changed file and its bytes, where they are known.
#[derive(Clone, Copy, Debug)]
pub struct FileInput<'a> {
    /// The change.
    pub change: &'a FileChange,
    /// The whole file before.
    pub old: Option<&'a [u8]>,
    /// The whole file after.
    pub new: Option<&'a [u8]>,
    /// What is reviewed, before.
    pub old_version: Option<VersionPointer>,
    /// What is reviewed, after.
    pub new_version: Option<VersionPointer>,
}

/// What came of a file.
#[derive(Debug)]
pub struct FileReview {
    /// In the order of the lines.
    pub findings: Vec<Finding>,
    /// What was done with the file.
    pub status: CoverageStatus,
    /// For the log.
    pub notes: Vec<(LogLevel, String)>,
    /// What the cross-file checks need of it.
    pub facts: Option<Facts>,
}

impl FileReview {
    fn failed(reason: String) -> Self {
        Self { findings: Vec::new(), status: CoverageStatus::Failed(reason), notes: Vec::new(), facts: None }
    }
}

/// Reviews one file. A panic in a parser or a check fails this file alone.
#[must_use]
pub fn review_file(pack: &Pack, config: &Config, clock: &dyn Clock, input: FileInput<'_>) -> FileReview {
    catch_unwind(AssertUnwindSafe(|| review(pack, config, clock, input))).unwrap_or_else(|_| {
        FileReview::failed("the reviewer stumbled over this file (a fault of ours); the other files are not affected".into())
    })
}

fn review(pack: &Pack, config: &Config, clock: &dyn Clock, input: FileInput<'_>) -> FileReview {
    let change = input.change;
    let budget = Budget::new(clock, FILE_BUDGET);
    let mut notes = Vec::new();
    let path = change.path.lossy();
    if config.excludes(&path) {
        return FileReview { findings: Vec::new(), status: CoverageStatus::Skipped(SkipReason::Excluded), notes, facts: None };
    }
    let is_lock = classify::is_lock_file(&change.path);
    let new_bytes = input.new.map(<[u8]>::len).or(match &change.body {
        ChangeBody::Binary { new_size, .. } => new_size.and_then(|size| usize::try_from(size).ok()),
        ChangeBody::Text { .. } | ChangeBody::Submodule { .. } | ChangeBody::Empty => None,
    });
    let largest = new_bytes.unwrap_or(0).max(input.old.map_or(0, <[u8]>::len)).max(hunk_bytes(change));
    let limit = if is_lock { MAX_LOCK_BYTES } else { usize::try_from(config.max_file_bytes).unwrap_or(usize::MAX) };
    let is_too_large = largest > limit;

    let (old_text, new_text) = if is_too_large { (None, None) } else { diff::sides(change, input.old, input.new) };
    let transcoded = new_text.as_ref().is_some_and(|side| side.transcoded);
    let view_of = |side: &diff::SideText, endings: &EndingChanges, own: Side| {
        SideView::new(
            &side.bytes,
            side.complete,
            |line| side.changed.contains(line) && !endings.only_ending(own, line),
            |line| side.known.contains(line),
        )
    };
    let endings = EndingChanges::of(change);
    let old = old_text.as_ref().map(|side| view_of(side, &endings, Side::Old));
    let new = new_text.as_ref().map(|side| view_of(side, &endings, Side::New));

    let main = new.as_ref().or(old.as_ref());
    let language = Language::detect(&change.path, main.map_or("", |side| side.line(1))).map(|language| refine(language, main));
    let is_generated = config.counts_as_generated(&path)
        || classify::is_generated_by_name(&change.path)
        || new.as_ref().is_some_and(|side| classify::is_generated_by_content(side, change.path.extension().as_deref()));
    let facts = Facts::of(&change.path, change.status != ChangeStatus::Added, new.as_ref());
    let mut file = FileView {
        change,
        path,
        language,
        is_test: classify::is_test(&change.path),
        is_generated,
        is_lock,
        old,
        new,
        new_bytes: new_bytes.and_then(|size| u64::try_from(size).ok()),
        parsed: None,
        regions: None,
    };
    if let Some(side) = &file.new
        && let Encoding::Guessed(name) = side.encoding
    {
        notes.push((LogLevel::Warn, format!("{}: not UTF-8; read as {name}, which is a guess", file.path)));
    }
    let status = skip_reason(&file, is_too_large);
    let mut searcher =
        Searcher { pack, config, file: &mut file, budget: &budget, hits: Vec::new(), secrets: Vec::new(), out_of_time: false };
    let status = match status {
        Some(reason) => {
            note_skip(&reason, searcher.file, input, &mut notes);
            searcher.whole_file_checks();
            CoverageStatus::Skipped(reason)
        }
        None => searcher.everything(),
    };
    let Searcher { hits, secrets, .. } = searcher;
    let mut assembly = Assembly::of(&file, input.old_version, input.new_version, !transcoded);
    assembly.secrets = secrets;
    let findings = assembly.findings(settle_suppressions(pack, config, &file, hits, &mut notes));
    FileReview { findings, status, notes, facts }
}

fn hunk_bytes(change: &FileChange) -> usize {
    match &change.body {
        ChangeBody::Text { hunks } => hunks.iter().flat_map(|hunk| &hunk.lines).map(|line| line.text.len() + 1).sum(),
        ChangeBody::Binary { .. } | ChangeBody::Submodule { .. } | ChangeBody::Empty => 0,
    }
}

/// C headers that hold C++.
fn refine(language: Language, side: Option<&SideView>) -> Language {
    let is_cpp = language == Language::C
        && side.is_some_and(|side| {
            side.known_lines().any(|(_, line)| {
                let line = line.trim_start();
                ["class ", "namespace ", "template<", "template <", "public:", "private:", "using namespace"]
                    .iter()
                    .any(|head| line.starts_with(head))
            })
        });
    if is_cpp { Language::Cpp } else { language }
}

fn skip_reason(file: &FileView<'_>, is_too_large: bool) -> Option<SkipReason> {
    let is_link = |mode| mode == Some(FileMode::Symlink);
    match &file.change.body {
        ChangeBody::Binary { .. } => Some(SkipReason::Binary),
        ChangeBody::Submodule { .. } => Some(SkipReason::Submodule),
        ChangeBody::Empty => Some(SkipReason::NoTextChange),
        ChangeBody::Text { .. } if is_link(file.change.new_mode) || (file.new.is_none() && is_link(file.change.old_mode)) => {
            Some(SkipReason::Symlink)
        }
        ChangeBody::Text { .. } if is_too_large => Some(SkipReason::TooLarge),
        ChangeBody::Text { .. } if file.is_lock => Some(SkipReason::LockFile),
        ChangeBody::Text { .. } if file.is_generated => Some(SkipReason::Generated),
        ChangeBody::Text { .. } => None,
    }
}

fn note_skip(reason: &SkipReason, file: &FileView<'_>, input: FileInput<'_>, notes: &mut Vec<(LogLevel, String)>) {
    let path = &file.path;
    match reason {
        SkipReason::Symlink => {
            let target =
                |side: Option<&SideView>| side.map_or_else(|| "nothing".to_owned(), |side| side.line(1).escape_debug().to_string());
            notes.push((
                LogLevel::Info,
                format!("{path}: symbolic link, not followed: {} → {}", target(file.old.as_ref()), target(file.new.as_ref())),
            ));
        }
        SkipReason::TooLarge => {
            let size = input.new.map_or(0, <[u8]>::len).max(input.old.map_or(0, <[u8]>::len)).max(hunk_bytes(file.change));
            notes.push((
                LogLevel::Warn,
                format!("{path}: {size} bytes, more than the review takes; raise `paths.max_file_bytes` in .sidetrack.toml"),
            ));
        }
        SkipReason::Binary
        | SkipReason::Submodule
        | SkipReason::Generated
        | SkipReason::LockFile
        | SkipReason::Excluded
        | SkipReason::NoTextChange
        | SkipReason::ChangedWhileReading
        | SkipReason::NestedRepository
        | SkipReason::NoGrammar => {}
    }
}

/// Drops what comments set aside, and says so when the change brought the comment itself.
fn settle_suppressions<'p>(
    pack: &'p Pack,
    config: &Config,
    file: &FileView<'_>,
    hits: Vec<Hit<'p>>,
    notes: &mut Vec<(LogLevel, String)>,
) -> Vec<Hit<'p>> {
    let mut on_new = file.new.as_ref().map(Suppressions::read).unwrap_or_default();
    let mut on_old = file.old.as_ref().map(Suppressions::read).unwrap_or_default();
    let mut kept = Vec::with_capacity(hits.len());
    for hit in hits {
        let covered = match hit.remark.place {
            Place::File => on_new.covers(&hit.rule.id, 0, 0),
            Place::Lines(Side::New, first, last) => on_new.covers(&hit.rule.id, first, last),
            Place::Lines(Side::Old, first, last) => on_old.covers(&hit.rule.id, first, last),
        };
        if !covered {
            kept.push(hit);
        }
    }
    let used: Vec<(u32, u32)> = on_new.used().collect();
    let total: u32 = used.iter().chain(&on_old.used().collect::<Vec<_>>()).map(|(_, count)| count).sum();
    if total > 0 {
        notes.push((LogLevel::Info, format!("{}: {total} findings set aside by comments", file.path)));
    }
    let rule = pack.rules().iter().find(|rule| rule.id == SUPPRESSION_RULE);
    for (line, count) in used {
        if let (Some(rule), Some(side)) = (rule, &file.new)
            && side.is_changed(line)
            && config.enables(rule)
        {
            let words = if count == 1 { "one finding".to_owned() } else { format!("{count} findings") };
            let remark = Remark::at(Place::Lines(Side::New, line, line)).with(format!("This change's own comment sets {words} aside."));
            kept.push(Hit { rule, severity: config.severity(rule).unwrap_or(rule.severity), remark });
        }
    }
    kept
}

/// The rule that reports comments a change brings to set its own findings aside.
pub(crate) const SUPPRESSION_RULE: &str = "hygiene.suppression-added";

struct Searcher<'p, 'f, 'c> {
    pack: &'p Pack,
    config: &'f Config,
    file: &'f mut FileView<'c>,
    budget: &'f Budget<'f>,
    hits: Vec<Hit<'p>>,
    secrets: Vec<(Side, std::ops::Range<usize>)>,
    out_of_time: bool,
}

impl<'p> Searcher<'p, '_, '_> {
    fn hit(&mut self, rule: &'p Rule, remark: Remark) {
        let severity = remark.severity.or_else(|| self.config.severity(rule)).unwrap_or(rule.severity);
        self.hits.push(Hit { rule, severity, remark });
    }

    /// The checks that look at a file as a whole; they run for skipped files too.
    fn whole_file_checks(&mut self) {
        for rule in self.pack.rules().iter().filter(|rule| self.config.enables(rule)) {
            for scoped in &rule.matchers {
                let Matcher::Builtin(Check::File(check)) = &scoped.matcher else { continue };
                if scoped.applies(&self.file.path, self.file.language, self.file.is_test) {
                    for remark in check(self.file) {
                        // A file that is left out by a stated rule has no lines to speak of.
                        self.hit(rule, remark);
                    }
                }
            }
        }
    }

    fn everything(&mut self) -> CoverageStatus {
        let mut missed = Vec::new();
        let mut failed = None;
        let mut no_grammar = true;
        if let Some(language) = self.file.language {
            no_grammar = false;
            if let Some(side) = &self.file.new {
                match syntax::parse(side.text(), language, self.budget) {
                    Ok(parsed) => {
                        self.file.regions = Some(Regions::of(&parsed, side, self.budget));
                        self.file.parsed = Some(parsed);
                    }
                    Err(error @ SyntaxError::TooDeep) => missed.push(format!("{error}; only the checks that need no syntax ran")),
                    Err(error @ (SyntaxError::OutOfTime | SyntaxError::NoParser)) => failed = Some(error),
                }
            }
        }
        self.scan_secrets();
        if failed.is_none() {
            failed = self.search_syntax().err();
        }
        self.scan_lines();
        self.whole_file_checks();
        if self.out_of_time {
            failed = Some(SyntaxError::OutOfTime);
        }
        for side in [&self.file.new, &self.file.old].into_iter().flatten() {
            if let Some(first) = side.too_long.first() {
                missed.push(format!(
                    "{} (line {first}) longer than {} bytes",
                    lines_word(side.too_long.len()),
                    super::text::MAX_LINE_BYTES
                ));
            }
        }
        match (failed, missed.is_empty()) {
            (Some(error), _) => CoverageStatus::Failed(format!("{error} ({} s)", FILE_BUDGET.as_secs())),
            (None, false) => CoverageStatus::Partial(missed.join("; ")),
            (None, true) if no_grammar => CoverageStatus::Skipped(SkipReason::NoGrammar),
            (None, true) => CoverageStatus::Reviewed,
        }
    }

    fn search_syntax(&mut self) -> Result<(), SyntaxError> {
        let (Some(side), Some(Parsed { trees })) = (&self.file.new, &self.file.parsed) else { return Ok(()) };
        let mut found = Vec::new();
        let mut result = Ok(());
        for (language, tree) in trees {
            let Ok(table) = syntax::table(*language) else { return Err(SyntaxError::NoParser) };
            let applies = |rule: usize, matcher: usize| {
                let rule = &self.pack.rules()[rule];
                let scoped = &rule.matchers[matcher];
                self.config.enables(rule)
                    && scoped.applies(&self.file.path, Some(*language), self.file.is_test)
                    && (!scoped.whole_file || side.complete)
            };
            result = syntax::search(tree, self.pack, table, side, self.budget, applies, &mut found);
            if result.is_err() {
                break;
            }
        }
        let pack = self.pack;
        for hit in found {
            let mut remark = Remark::at(Place::Lines(Side::New, hit.lines.0, hit.lines.1));
            remark.edit = hit.edit;
            self.hit(&pack.rules()[hit.rule], remark);
        }
        result
    }

    fn scan_lines(&mut self) {
        let Some(side) = &self.file.new else { return };
        let mut found = Vec::new();
        for rule in self.pack.rules().iter().filter(|rule| self.config.enables(rule)) {
            for scoped in &rule.matchers {
                let Matcher::Line(matcher) = &scoped.matcher else { continue };
                if !scoped.applies(&self.file.path, self.file.language, self.file.is_test) || (scoped.whole_file && !side.complete) {
                    continue;
                }
                for (number, line) in side.changed_lines() {
                    if self.budget.is_spent_coarse() {
                        self.out_of_time = true;
                        return;
                    }
                    if line_matches(matcher, self.file, side, number, line) {
                        found.push((rule, Remark::at(Place::Lines(Side::New, number, number))));
                    }
                }
            }
        }
        for (rule, remark) in found {
            self.hit(rule, remark);
        }
    }

    /// Finds secrets, also those of disabled rules: what is a secret is masked in every quote.
    fn scan_secrets(&mut self) {
        let mut found: Vec<(&'p Rule, bool, Side, u32, std::ops::Range<usize>)> = Vec::new();
        let shapes: Vec<(&'p Rule, bool, &'p SecretShape)> = self
            .pack
            .rules()
            .iter()
            .flat_map(|rule| rule.matchers.iter().map(move |scoped| (rule, scoped)))
            .filter_map(|(rule, scoped)| match &scoped.matcher {
                Matcher::Secret(shape) => {
                    let shape: &'p SecretShape = shape;
                    Some((rule, self.config.enables(rule) && scoped.applies(&self.file.path, self.file.language, self.file.is_test), shape))
                }
                Matcher::Syntax(_) | Matcher::Line(_) | Matcher::Builtin(_) => None,
            })
            .collect();
        for own in [Side::New, Side::Old] {
            let Some(side) = self.file.side(own) else { continue };
            for (number, line) in side.changed_lines() {
                if self.budget.is_spent_coarse() {
                    self.out_of_time = true;
                    return;
                }
                let Some(start) = side.line_range(number).map(|range| range.start) else { continue };
                for (rule, speaks, shape) in &shapes {
                    for range in shape.find(line) {
                        found.push((rule, *speaks, own, number, start + range.start..start + range.end));
                    }
                }
            }
        }
        for (rule, speaks, own, number, range) in found {
            self.secrets.push((own, range.clone()));
            // A secret that goes away is no news; that it was there stays true whoever removes it.
            if speaks && own == Side::New {
                let mut remark = Remark::at(Place::Lines(own, number, number));
                remark.secret = Some(range);
                self.hit(rule, remark);
            }
        }
    }
}

fn line_matches(matcher: &LineMatcher, file: &FileView<'_>, side: &SideView, number: u32, line: &str) -> bool {
    if matcher.unless.as_ref().is_some_and(|unless| unless.is_match(line)) {
        return false;
    }
    let start = side.line_range(number).map_or(0, |range| range.start);
    matcher.pattern.find_iter(line).any(|found| match (matcher.region, &file.regions) {
        (Region::Any, _) => true,
        (Region::Code, Some(regions)) => !regions.in_comment(start + found.start()) && !regions.in_string(start + found.start()),
        (Region::Code, None) => !looks_like_comment(line),
        (Region::Comment, Some(regions)) => regions.in_comment(start + found.start()),
        (Region::Comment, None) => looks_like_comment(line),
    })
}

fn looks_like_comment(line: &str) -> bool {
    let line = line.trim_start();
    ["//", "#", "/*", "*", "<!--", "--", ";", "%"].iter().any(|mark| line.starts_with(mark))
}

fn lines_word(count: usize) -> String {
    if count == 1 { "one line".to_owned() } else { format!("{count} lines") }
}

/// Lines of which nothing but the ending changed.
#[derive(Debug, Default)]
struct EndingChanges {
    old: std::collections::HashSet<u32>,
    new: std::collections::HashSet<u32>,
}

impl EndingChanges {
    /// Compares each run of removed lines with the added lines that follow it, in order.
    fn of(change: &FileChange) -> Self {
        use st_model::change::LineKind;
        let mut all = Self::default();
        let ChangeBody::Text { hunks } = &change.body else { return all };
        let has_crlf = |hunk: &&st_model::change::Hunk| hunk.lines.iter().any(|line| line.ending != st_model::change::LineEnding::Lf);
        // Most changes have one kind of ending and are not worth the search.
        for hunk in hunks.iter().filter(has_crlf) {
            let (mut old, mut new) = (hunk.old_start, hunk.new_start);
            let mut removed: std::collections::VecDeque<(u32, &st_model::change::DiffLine)> = std::collections::VecDeque::new();
            for line in &hunk.lines {
                match line.kind {
                    LineKind::Context => {
                        removed.clear();
                        old = old.saturating_add(1);
                        new = new.saturating_add(1);
                    }
                    LineKind::Removed => {
                        removed.push_back((old, line));
                        old = old.saturating_add(1);
                    }
                    LineKind::Added => {
                        let at = removed.iter().position(|(_, before)| before.text == line.text && before.ending != line.ending);
                        if let Some(at) = at {
                            removed.drain(..at);
                            if let Some((number, _)) = removed.pop_front() {
                                all.old.insert(number);
                                all.new.insert(new);
                            }
                        }
                        new = new.saturating_add(1);
                    }
                }
            }
        }
        all
    }

    fn only_ending(&self, side: Side, line: u32) -> bool {
        match side {
            Side::Old => self.old.contains(&line),
            Side::New => self.new.contains(&line),
        }
    }
}

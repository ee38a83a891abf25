//! From two versions to hunks.

use std::collections::HashMap;

use similar::{Algorithm, DiffOp};
use st_model::change::{DiffLine, Hunk, LineKind};

use super::lines::{Line, raw_lines};

/// Lines of context around a change, as git's default.
pub(super) const CONTEXT: usize = 3;

/// A run of lines that differs, as half-open index ranges on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) old: (usize, usize),
    pub(super) new: (usize, usize),
}

/// The runs in which two sequences of lines differ, rising; none of them touches the next.
///
/// Bounded in time on any pair: past a size the search settles for a script that is not the
/// shortest, and is exact in any case.
pub(super) fn runs<'a>(old: &[Line<'a>], new: &[Line<'a>]) -> Vec<Run> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(a, b)| a == b).count();
    let (old_mid, new_mid) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    if old_mid.is_empty() && new_mid.is_empty() {
        return Vec::new();
    }
    if old_mid.is_empty() || new_mid.is_empty() {
        return vec![Run { old: (head, head + old_mid.len()), new: (head, head + new_mid.len()) }];
    }
    // Numbers in place of lines: the search compares a pair of lines many times.
    let mut numbers = HashMap::new();
    let mut number = |line: &Line<'a>| -> usize {
        let next = numbers.len();
        *numbers.entry(*line).or_insert(next)
    };
    let old_ids: Vec<usize> = old_mid.iter().map(&mut number).collect();
    let new_ids: Vec<usize> = new_mid.iter().map(&mut number).collect();
    let mut found: Vec<Run> = Vec::new();
    for op in similar::capture_diff_slices(Algorithm::Myers, &old_ids, &new_ids) {
        if matches!(op, DiffOp::Equal { .. }) {
            continue;
        }
        let (old, new) = (op.old_range(), op.new_range());
        let run = Run { old: (head + old.start, head + old.end), new: (head + new.start, head + new.end) };
        match found.last_mut() {
            Some(last) if last.old.1 == run.old.0 && last.new.1 == run.new.0 => {
                last.old.1 = run.old.1;
                last.new.1 = run.new.1;
            }
            _ => found.push(run),
        }
    }
    found
}

/// The hunks that turn `old` into `new`, with three lines of context.
#[must_use]
pub fn compare(old: &[u8], new: &[u8]) -> Vec<Hunk> {
    let old: Vec<Line<'_>> = raw_lines(old).map(Line::of).collect();
    let new: Vec<Line<'_>> = raw_lines(new).map(Line::of).collect();
    let mut heading = Heading { lines: &old, at: 0, last: None };
    hunks_of(&old, &new, 1, 1).into_iter().map(|hunk| Hunk { section: heading.above(&hunk), ..hunk }).collect()
}

/// The hunks between two runs of lines of which the first is line `old_first` and `new_first`
/// of its file.
pub(super) fn hunks_of(old: &[Line<'_>], new: &[Line<'_>], old_first: u64, new_first: u64) -> Vec<Hunk> {
    let runs = runs(old, new);
    let mut hunks = Vec::new();
    let mut index = 0;
    while let Some(first) = runs.get(index) {
        // Runs with at most twice the context between them share a hunk.
        let mut end = index + 1;
        while end < runs.len() && runs[end].old.0 - runs[end - 1].old.1 <= 2 * CONTEXT {
            end += 1;
        }
        let lead = first.old.0.min(CONTEXT);
        let trail = (old.len() - runs[end - 1].old.1).min(CONTEXT);
        let (old_from, new_from) = (first.old.0 - lead, first.new.0 - lead);
        let mut lines = Vec::new();
        let mut at = old_from;
        for run in &runs[index..end] {
            push(&mut lines, LineKind::Context, &old[at..run.old.0]);
            push(&mut lines, LineKind::Removed, &old[run.old.0..run.old.1]);
            push(&mut lines, LineKind::Added, &new[run.new.0..run.new.1]);
            at = run.old.1;
        }
        push(&mut lines, LineKind::Context, &old[at..at + trail]);
        let old_end = at + trail;
        let new_end = runs[end - 1].new.1 + trail;
        hunks.push(Hunk {
            old_start: git_start(old_first, old_from, old_end),
            old_lines: count(old_end - old_from),
            new_start: git_start(new_first, new_from, new_end),
            new_lines: count(new_end - new_from),
            section: Vec::new(),
            lines,
        });
        index = end;
    }
    hunks
}

fn push(lines: &mut Vec<DiffLine>, kind: LineKind, from: &[Line<'_>]) {
    lines.extend(from.iter().map(|line| DiffLine { kind, text: line.text.to_vec(), ending: line.ending }));
}

/// A hunk's start as git writes it: a side without lines names the line before it.
fn git_start(first: u64, from: usize, end: usize) -> u32 {
    let start = first.saturating_add(u64::try_from(from).unwrap_or(u64::MAX));
    u32::try_from(if from == end { start.saturating_sub(1) } else { start }).unwrap_or(u32::MAX)
}

fn count(lines: usize) -> u32 {
    u32::try_from(lines).unwrap_or(u32::MAX)
}

/// Finds the text behind the second `@@`: the last line above a hunk that starts like a
/// definition, by git's own rule for files of no known kind.
struct Heading<'a> {
    lines: &'a [Line<'a>],
    at: usize,
    last: Option<usize>,
}

impl Heading<'_> {
    fn above(&mut self, hunk: &Hunk) -> Vec<u8> {
        let first = usize::try_from(hunk.old_start).unwrap_or(usize::MAX);
        let first = if hunk.old_lines == 0 { first } else { first.saturating_sub(1) };
        while self.at < first.min(self.lines.len()) {
            let starts = self.lines[self.at].text.first();
            if starts.is_some_and(|&byte| byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$') {
                self.last = Some(self.at);
            }
            self.at += 1;
        }
        let text = self.last.map_or(&[][..], |line| self.lines[line].text);
        text[..text.len().min(80)].trim_ascii_end().to_vec()
    }
}

//! Two patches of one file in a row, put together on the lines that both speak of.

use st_model::change::{DiffLine, Hunk, LineKind};

use super::compare::hunks_of;
use super::hunk::position;
use super::lines::Line;

/// How two patches contradict each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Misfit(pub(super) String);

/// One step through a patch, seen from the version between the two.
enum Step {
    /// So many lines that the patch does not show; they are the same on both of its sides.
    Gap(u64),
    /// A line of the patch.
    Line(DiffLine),
    /// Past the last line of a file whose end is known.
    End,
}

/// Walks a patch's lines in order, with the gaps between its hunks.
struct Walk {
    hunks: std::vec::IntoIter<Hunk>,
    lines: std::vec::IntoIter<DiffLine>,
    /// Next line number on the side that counts the gaps.
    next: u32,
    /// Picks a hunk's place on that side.
    place: fn(&Hunk) -> (u32, u32),
    /// Whether the file ends with the last hunk.
    ends: bool,
    held: Option<Step>,
}

impl Walk {
    fn new(hunks: Vec<Hunk>, place: fn(&Hunk) -> (u32, u32), ends: bool) -> Self {
        Self { hunks: hunks.into_iter(), lines: Vec::new().into_iter(), next: 1, place, ends, held: None }
    }

    fn step(&mut self) -> Step {
        if let Some(step) = self.held.take() {
            return step;
        }
        loop {
            if let Some(line) = self.lines.next() {
                return Step::Line(line);
            }
            let Some(hunk) = self.hunks.next() else { return if self.ends { Step::End } else { Step::Gap(u64::MAX) } };
            let (start, count) = (self.place)(&hunk);
            let at = position(start, count);
            let gap = at.saturating_sub(self.next);
            self.next = at.saturating_add(count);
            self.lines = hunk.lines.into_iter();
            if gap > 0 {
                return Step::Gap(u64::from(gap));
            }
        }
    }
}

/// Collects the lines of the outcome into hunks.
struct Builder {
    hunks: Vec<Hunk>,
    open: Option<Hunk>,
    old_next: u64,
    new_next: u64,
}

impl Builder {
    fn gap(&mut self, lines: u64) {
        self.close();
        self.old_next = self.old_next.saturating_add(lines);
        self.new_next = self.new_next.saturating_add(lines);
    }

    fn line(&mut self, kind: LineKind, line: DiffLine) {
        let hunk = self.open.get_or_insert_with(|| Hunk {
            old_start: clamp(self.old_next),
            old_lines: 0,
            new_start: clamp(self.new_next),
            new_lines: 0,
            section: Vec::new(),
            lines: Vec::new(),
        });
        if kind != LineKind::Added {
            hunk.old_lines += 1;
            self.old_next += 1;
        }
        if kind != LineKind::Removed {
            hunk.new_lines += 1;
            self.new_next += 1;
        }
        hunk.lines.push(DiffLine { kind, ..line });
    }

    fn close(&mut self) {
        if let Some(mut hunk) = self.open.take() {
            if hunk.old_lines == 0 {
                hunk.old_start -= 1;
            }
            if hunk.new_lines == 0 {
                hunk.new_start -= 1;
            }
            self.hunks.push(hunk);
        }
    }
}

fn clamp(line: u64) -> u32 {
    u32::try_from(line).unwrap_or(u32::MAX)
}

/// The patch that does what `first` and then `second` do. `first_ends` and `second_ends` say
/// that the patch knows the version between the two to its last line (it made or emptied it).
///
/// The outcome keeps every line that either patch shows, so it may hold more context than is
/// customary and lines that are removed and added alike; [`tidy`] makes it customary.
pub(super) fn compose(first: Vec<Hunk>, first_ends: bool, second: Vec<Hunk>, second_ends: bool) -> Result<Vec<Hunk>, Misfit> {
    let mut first = Walk::new(first, |hunk| (hunk.new_start, hunk.new_lines), first_ends);
    let mut second = Walk::new(second, |hunk| (hunk.old_start, hunk.old_lines), second_ends);
    let mut out = Builder { hunks: Vec::new(), open: None, old_next: 1, new_next: 1 };
    let mut between: u64 = 1;
    loop {
        // What only one of the patches knows of, first: lines gone before the version between, or
        // come after it.
        let one = match first.step() {
            Step::Line(line) if line.kind == LineKind::Removed => {
                out.line(LineKind::Removed, line);
                continue;
            }
            step => step,
        };
        let other = match second.step() {
            Step::Line(line) if line.kind == LineKind::Added => {
                out.line(LineKind::Added, line);
                first.held = Some(one);
                continue;
            }
            step => step,
        };
        // Both steps now stand for lines of the version between.
        match (one, other) {
            (Step::End, Step::End) => break,
            (Step::Gap(u64::MAX), Step::Gap(u64::MAX)) => break,
            (Step::End, Step::Gap(u64::MAX)) | (Step::Gap(u64::MAX), Step::End) => break,
            (Step::Gap(here), Step::Gap(there)) => {
                let shared = here.min(there);
                out.gap(shared);
                between = between.saturating_add(shared);
                first.held = left(here, shared);
                second.held = left(there, shared);
            }
            (Step::Gap(here), Step::Line(line)) => {
                let kind = line.kind;
                out.line(kind, line);
                between += 1;
                first.held = left(here, 1);
            }
            (Step::Line(line), Step::Gap(there)) => {
                let kind = line.kind;
                out.line(kind, line);
                between += 1;
                second.held = left(there, 1);
            }
            (Step::Line(mine), Step::Line(theirs)) => {
                if (&mine.text, mine.ending) != (&theirs.text, theirs.ending) {
                    return Err(Misfit(format!("line {between} is not what the earlier patch left there")));
                }
                match (mine.kind, theirs.kind) {
                    (LineKind::Context, kind) => out.line(kind, mine),
                    (kind, LineKind::Context) => out.line(kind, mine),
                    // Added by the one, removed by the other: it never was.
                    _ => {}
                }
                between += 1;
            }
            (Step::End, Step::Gap(_) | Step::Line(_)) => {
                return Err(Misfit(format!("it speaks of line {between}, but the earlier patch leaves {} lines", between - 1)));
            }
            (Step::Gap(_) | Step::Line(_), Step::End) => {
                return Err(Misfit(format!("it removes the file at line {between}, but the earlier patch left more lines")));
            }
        }
    }
    out.close();
    Ok(out.hunks)
}

/// What is left of a gap. The endless gap behind the last hunk stays endless.
fn left(gap: u64, used: u64) -> Option<Step> {
    match gap {
        u64::MAX => Some(Step::Gap(u64::MAX)),
        gap if gap > used => Some(Step::Gap(gap - used)),
        _ => None,
    }
}

/// The same change in the customary form: as few changed lines as found, three lines of context.
pub(super) fn tidy(hunks: &[Hunk]) -> Vec<Hunk> {
    let mut tidied = Vec::new();
    for hunk in hunks {
        let pick = |gone: LineKind| -> Vec<Line<'_>> {
            let kept = hunk.lines.iter().filter(|line| line.kind != gone);
            kept.map(|line| Line { text: &line.text, ending: line.ending }).collect()
        };
        let (old, new) = (pick(LineKind::Added), pick(LineKind::Removed));
        let first = |start, lines| u64::from(position(start, lines));
        tidied.extend(hunks_of(&old, &new, first(hunk.old_start, hunk.old_lines), first(hunk.new_start, hunk.new_lines)));
    }
    tidied
}

/// Two patches of the same version, side by side; `None` when they touch the same lines.
/// A hunk that both hold counts once.
pub(super) fn side_by_side(first: &[Hunk], second: &[Hunk]) -> Option<Vec<Hunk>> {
    let mut all: Vec<&Hunk> = first.iter().chain(second).collect();
    all.sort_by_key(|hunk| (position(hunk.old_start, hunk.old_lines), hunk.old_lines));
    all.dedup_by(|a, b| a.old_start == b.old_start && a.lines == b.lines);
    let (mut next, mut delta) = (1u32, 0i64);
    let mut merged = Vec::with_capacity(all.len());
    for hunk in all {
        let at = position(hunk.old_start, hunk.old_lines);
        if at < next {
            return None;
        }
        next = at.saturating_add(hunk.old_lines);
        let new_at = i64::from(at) + delta - i64::from(hunk.new_lines == 0);
        delta += i64::from(hunk.new_lines) - i64::from(hunk.old_lines);
        merged.push(Hunk { new_start: u32::try_from(new_at).ok()?, ..hunk.clone() });
    }
    Some(merged)
}

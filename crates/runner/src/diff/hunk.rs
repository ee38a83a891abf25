//! Hunks: the `@@` line and what it announces.

use st_model::change::{DiffLine, Hunk, LineEnding, LineKind};

use super::cursor::{Cursor, trim_cr};

/// The highest line number that a patch may speak of. No source file comes near it, and sides
/// laid out by line number stay small.
pub(super) const MAX_LINE: u32 = 10_000_000;

/// Why a file's part of the patch can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The patch breaks its format at this line.
    At(usize, String),
    /// More lines than one review holds.
    TooLarge,
}

impl Fault {
    pub(super) fn at(line: usize, why: impl Into<String>) -> Self {
        Self::At(line, why.into())
    }
}

/// What is still allowed to be read, over all files.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// Lines of hunks.
    pub(super) lines: usize,
    /// Line steps spent on putting patches of one file together.
    pub(super) steps: usize,
    /// Sum over files of the highest line number that a file's hunks speak of.
    pub(super) span: u64,
}

impl Default for Budget {
    /// Four million lines (some 300 MB in memory), two hundred million steps, a span of two
    /// thousand million lines.
    fn default() -> Self {
        Self { lines: 4_000_000, steps: 200_000_000, span: 2_000_000_000 }
    }
}

/// The numbers of an `@@` line.
struct Header<'a> {
    old: (u32, u32),
    new: (u32, u32),
    section: &'a [u8],
}

/// Whether `line` looks like a hunk's header.
pub(super) fn is_header(line: &[u8]) -> bool {
    line.strip_prefix(b"@@ -").is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_digit))
}

fn header(line: &[u8]) -> Result<Header<'_>, &'static str> {
    let rest = line.strip_prefix(b"@@ -").ok_or("no hunk header")?;
    let (old, rest) = span(rest)?;
    let rest = rest.strip_prefix(b" +").ok_or("a hunk header without `+` numbers")?;
    let (new, rest) = span(rest)?;
    let section = rest.strip_prefix(b" @@").ok_or("a hunk header that does not end in `@@`")?;
    Ok(Header { old, new, section: section.strip_prefix(b" ").unwrap_or(section).trim_ascii_end() })
}

fn span(text: &[u8]) -> Result<((u32, u32), &[u8]), &'static str> {
    let (start, rest) = number(text)?;
    let (count, rest) = match rest.strip_prefix(b",") {
        Some(rest) => number(rest)?,
        None => (1, rest),
    };
    if start.checked_add(count).is_none_or(|end| end > MAX_LINE) {
        return Err("a line number above 10,000,000");
    }
    if start == 0 && count > 0 {
        return Err("a hunk that starts at line 0 and has lines");
    }
    Ok(((start, count), rest))
}

fn number(text: &[u8]) -> Result<(u32, &[u8]), &'static str> {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if digits.is_empty() {
        return Err("a hunk header without numbers");
    }
    let number = digits.iter().try_fold(0u32, |sum, digit| sum.checked_mul(10)?.checked_add(u32::from(digit - b'0')));
    number.map(|number| (number, rest)).ok_or("a line number above 10,000,000")
}

/// All hunks that follow, of one file.
#[derive(Debug, Default)]
pub(super) struct Hunks {
    pub(super) hunks: Vec<Hunk>,
    /// Whether the new side's numbers did not add up and were computed from the old side's.
    pub(super) renumbered: bool,
    /// Whether some hunk had CRLF line ends all over, so that the content's own can't be told.
    pub(super) crlf: bool,
}

/// Reads hunks as long as they follow.
pub(super) fn hunks(cursor: &mut Cursor<'_>, budget: &mut Budget) -> Result<Hunks, Fault> {
    let mut all = Hunks::default();
    let (mut old_next, mut delta) = (1u32, 0i64);
    let mut ended = false;
    loop {
        skip_blanks(cursor);
        let Some(line) = cursor.peek().filter(|line| is_header(line)) else { break };
        let at = cursor.line();
        let mut hunk = one(cursor, line, budget, &mut all.crlf)?;
        if ended {
            return Err(Fault::at(at, "a hunk follows the end of the file"));
        }
        ended = hunk.lines.iter().any(|line| line.ending == LineEnding::None);
        let old_at = position(hunk.old_start, hunk.old_lines);
        if old_at < old_next {
            return Err(Fault::at(at, "hunks overlap or are out of order"));
        }
        old_next = old_at + hunk.old_lines;
        let new_at = i64::from(old_at) + delta;
        delta += i64::from(hunk.new_lines) - i64::from(hunk.old_lines);
        let expected = u32::try_from(if hunk.new_lines == 0 { new_at - 1 } else { new_at }).unwrap_or(0);
        if expected != hunk.new_start {
            hunk.new_start = expected;
            all.renumbered = true;
        }
        all.hunks.push(hunk);
    }
    let reach = u64::from(old_next).max(u64::try_from(i64::from(old_next) + delta).unwrap_or(0));
    budget.span = budget.span.checked_sub(reach).ok_or(Fault::TooLarge)?;
    stray(cursor)?;
    Ok(all)
}

/// Passes blank lines between two hunks, which some tools put there.
fn skip_blanks(cursor: &mut Cursor<'_>) {
    let mut ahead = cursor.clone();
    while ahead.peek().is_some_and(|line| trim_cr(line).is_empty()) {
        ahead.next();
        if ahead.peek().is_some_and(is_header) {
            *cursor = ahead.clone();
        }
        if ahead.line() > cursor.line() + 3 {
            return;
        }
    }
}

/// A hunk's place on a side: a side without lines names the line before.
pub(super) fn position(start: u32, lines: u32) -> u32 {
    if lines == 0 { start.saturating_add(1) } else { start }
}

/// Lines right behind the last hunk that look like more of it: its counts are too small, and
/// leaving them out would hide a change.
fn stray(cursor: &Cursor<'_>) -> Result<(), Fault> {
    let mut ahead = cursor.clone();
    loop {
        let at = ahead.line();
        let header = ahead.rest().starts_with(b"--- ") && ahead.second_starts(b"+++ ");
        let Some(line) = ahead.next() else { return Ok(()) };
        let separator = matches!(trim_cr(line), b"-- " | b"--" | b"---");
        match line.first() {
            Some(b'+' | b'-') if !header && !separator => {
                return Err(Fault::at(at, "more changed lines than the hunk's header announces"));
            }
            Some(b' ') => {}
            _ => return Ok(()),
        }
    }
}

fn one(cursor: &mut Cursor<'_>, raw_header: &[u8], budget: &mut Budget, crlf: &mut bool) -> Result<Hunk, Fault> {
    let at = cursor.line();
    let head = header(trim_cr(raw_header)).map_err(|why| Fault::at(at, why))?;
    cursor.next();
    let (mut old_left, mut new_left) = (head.old.1, head.new.1);
    let mut lines: Vec<DiffLine> = Vec::new();
    let mut all_cr = raw_header.ends_with(b"\r");
    let short = |line: usize, old_left: u32, new_left: u32| {
        let announced = format!("{} old and {} new lines", head.old.1, head.new.1);
        let found = format!("{} old and {} new", head.old.1 - old_left, head.new.1 - new_left);
        Fault::at(line, format!("the hunk of line {at} announces {announced}, but has {found}"))
    };
    loop {
        let Some(line) = cursor.peek() else {
            if old_left + new_left > 0 {
                return Err(short(cursor.line(), old_left, new_left));
            }
            break;
        };
        if let Some(b'\\') = line.first() {
            no_newline(&mut lines, old_left, new_left).map_err(|why| Fault::at(cursor.line(), why))?;
            cursor.next();
            continue;
        }
        if old_left + new_left == 0 {
            break;
        }
        let (kind, text) = match line.split_first() {
            Some((b' ', text)) => (LineKind::Context, text),
            Some((b'-', text)) => (LineKind::Removed, text),
            Some((b'+', text)) => (LineKind::Added, text),
            // A blank context line whose blank was lost on the way.
            None => (LineKind::Context, line),
            Some((b'\r', [])) => (LineKind::Context, line),
            Some(_) => return Err(short(cursor.line(), old_left, new_left)),
        };
        let (old, new) = (u32::from(kind != LineKind::Added), u32::from(kind != LineKind::Removed));
        match (old_left.checked_sub(old), new_left.checked_sub(new)) {
            (Some(old), Some(new)) => (old_left, new_left) = (old, new),
            _ => return Err(short(cursor.line(), old_left, new_left)),
        }
        budget.lines = budget.lines.checked_sub(1).ok_or(Fault::TooLarge)?;
        let (text, ending) = match text.strip_suffix(b"\r") {
            Some(text) => (text, LineEnding::CrLf),
            None => (text, LineEnding::Lf),
        };
        all_cr &= ending == LineEnding::CrLf;
        lines.push(DiffLine { kind, text: text.to_vec(), ending });
        cursor.next();
    }
    if all_cr && !lines.is_empty() {
        *crlf = true;
        strip_container(&mut lines);
    }
    Ok(Hunk {
        old_start: head.old.0,
        old_lines: head.old.1,
        new_start: head.new.0,
        new_lines: head.new.1,
        section: head.section.to_vec(),
        lines,
    })
}

/// `\ No newline at end of file`: the line before it ends its side.
fn no_newline(lines: &mut [DiffLine], old_left: u32, new_left: u32) -> Result<(), &'static str> {
    let Some(last) = lines.last_mut() else { return Err("`\\ No newline` before any line") };
    let more = match last.kind {
        LineKind::Context => old_left + new_left,
        LineKind::Removed => old_left,
        LineKind::Added => new_left,
    };
    if more > 0 || last.ending == LineEnding::None {
        return Err("`\\ No newline` in the middle of the file");
    }
    if last.ending == LineEnding::CrLf {
        last.text.push(b'\r');
    }
    last.ending = LineEnding::None;
    Ok(())
}

/// Takes off the carriage returns of a patch file that was converted to CRLF as a whole.
fn strip_container(lines: &mut [DiffLine]) {
    for line in lines {
        match line.ending {
            LineEnding::CrLf if line.text.last() == Some(&b'\r') => {
                line.text.pop();
            }
            LineEnding::CrLf => line.ending = LineEnding::Lf,
            LineEnding::None if line.text.last() == Some(&b'\r') => {
                line.text.pop();
            }
            LineEnding::None | LineEnding::Lf => {}
        }
    }
}

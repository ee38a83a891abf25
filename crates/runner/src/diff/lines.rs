//! Lines as bytes, and sets of line numbers.

use std::ops::RangeInclusive;

use st_model::change::LineEnding;

/// One line of a text: its bytes without the ending, and the ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Line<'a> {
    /// The bytes without the line ending.
    pub(super) text: &'a [u8],
    /// How it ends.
    pub(super) ending: LineEnding,
}

impl<'a> Line<'a> {
    /// Takes a raw line, its `\n` included when it has one.
    pub(super) fn of(raw: &'a [u8]) -> Self {
        match raw {
            [text @ .., b'\r', b'\n'] => Self { text, ending: LineEnding::CrLf },
            [text @ .., b'\n'] => Self { text, ending: LineEnding::Lf },
            text => Self { text, ending: LineEnding::None },
        }
    }
}

/// The bytes of a line ending.
pub(super) fn ending_bytes(ending: LineEnding) -> &'static [u8] {
    match ending {
        LineEnding::Lf => b"\n",
        LineEnding::CrLf => b"\r\n",
        LineEnding::None => b"",
    }
}

/// The lines of `bytes`, each with its `\n`; a text that ends in `\n` has no empty line after it.
pub(super) fn raw_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        let (line, tail) = rest.split_at(end);
        rest = tail;
        Some(line)
    })
}

/// A set of line numbers, counted from 1, kept as sorted ranges that do not touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineSet {
    ranges: Vec<(u32, u32)>,
}

impl LineSet {
    /// The lines `first..=last`; empty when `last < first`.
    #[must_use]
    pub fn range(first: u32, last: u32) -> Self {
        let mut set = Self::default();
        set.insert(first, last);
        set
    }

    /// Adds the lines `first..=last`. Adding in rising order costs nothing; else the ranges are searched.
    pub fn insert(&mut self, first: u32, last: u32) {
        if last < first {
            return;
        }
        if let Some(end) = self.ranges.last_mut()
            && first >= end.0
        {
            if first <= end.1.saturating_add(1) {
                end.1 = end.1.max(last);
            } else {
                self.ranges.push((first, last));
            }
            return;
        }
        let from = self.ranges.partition_point(|range| range.1.saturating_add(1) < first);
        let to = self.ranges.partition_point(|range| range.0 <= last.saturating_add(1));
        let mut merged = (first, last);
        if from < to {
            merged = (first.min(self.ranges[from].0), last.max(self.ranges[to - 1].1));
        }
        self.ranges.splice(from..to, [merged]);
    }

    /// Drops the lines after `last`.
    pub fn clip(&mut self, last: u32) {
        self.ranges.truncate(self.ranges.partition_point(|range| range.0 <= last));
        if let Some(end) = self.ranges.last_mut() {
            end.1 = end.1.min(last);
        }
    }

    /// Whether `line` is in the set.
    #[must_use]
    pub fn contains(&self, line: u32) -> bool {
        self.intersects(line, line)
    }

    /// Whether any of the lines `first..=last` is in the set.
    #[must_use]
    pub fn intersects(&self, first: u32, last: u32) -> bool {
        let at = self.ranges.partition_point(|range| range.1 < first);
        self.ranges.get(at).is_some_and(|range| range.0 <= last)
    }

    /// Whether all of the lines `first..=last` are in the set.
    #[must_use]
    pub fn covers(&self, first: u32, last: u32) -> bool {
        let at = self.ranges.partition_point(|range| range.1 < first);
        last < first || self.ranges.get(at).is_some_and(|range| range.0 <= first && last <= range.1)
    }

    /// The ranges, rising.
    pub fn ranges(&self) -> impl Iterator<Item = RangeInclusive<u32>> + '_ {
        self.ranges.iter().map(|&(first, last)| first..=last)
    }

    /// The lines, rising.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.ranges().flatten()
    }

    /// Number of lines.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.ranges.iter().map(|range| u64::from(range.1 - range.0) + 1).sum()
    }

    /// Whether there is no line.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_last_line_without_newline_is_a_line_and_a_trailing_newline_is_not() {
        assert_eq!(raw_lines(b"a\r\nb\n\nc").collect::<Vec<_>>(), [&b"a\r\n"[..], b"b\n", b"\n", b"c"]);
        assert_eq!(raw_lines(b"a\n").count(), 1);
        assert_eq!(raw_lines(b"").count(), 0);
        assert_eq!(Line::of(b"a\r\n"), Line { text: b"a", ending: LineEnding::CrLf });
        assert_eq!(Line::of(b"a\r"), Line { text: b"a\r", ending: LineEnding::None });
    }

    proptest! {
        #[test]
        fn a_line_set_holds_what_was_put_in(spans in prop::collection::vec((1u32..60, 0u32..8), 0..20)) {
            let mut set = LineSet::default();
            let mut oracle = BTreeSet::new();
            for (first, more) in spans {
                set.insert(first, first + more);
                oracle.extend(first..=first + more);
            }
            prop_assert_eq!(set.iter().collect::<Vec<_>>(), oracle.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(set.len(), oracle.len() as u64);
            let ranges: Vec<_> = set.ranges().collect();
            prop_assert!(ranges.windows(2).all(|pair| pair[0].end() + 1 < *pair[1].start()), "ranges touch: {ranges:?}");
            for line in 0..80 {
                prop_assert_eq!(set.contains(line), oracle.contains(&line));
                prop_assert_eq!(set.intersects(line, line + 3), (line..=line + 3).any(|l| oracle.contains(&l)));
                prop_assert_eq!(set.covers(line, line + 3), (line..=line + 3).all(|l| oracle.contains(&l)));
            }
        }
    }
}

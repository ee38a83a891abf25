//! Applying hunks, exactly.

use st_model::change::{Hunk, LineKind};

use super::hunk::position;
use super::lines::{Line, ending_bytes, raw_lines};

/// Why hunks do not apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// The text has other bytes there.
    #[error("line {line} is not what the hunk expects")]
    Differs {
        /// Line of the text, from 1.
        line: u32,
    },
    /// The text is too short.
    #[error("the text ends before line {line}, which the hunk expects")]
    Ends {
        /// Line the hunk speaks of, from 1.
        line: u32,
    },
    /// The hunks overlap or are out of order.
    #[error("the hunk at line {line} overlaps the one before it")]
    Overlap {
        /// First line of the hunk, from 1.
        line: u32,
    },
}

/// `old` with `hunks` applied at exactly the lines they name.
///
/// # Errors
/// When a line is not what a hunk expects there; nothing is guessed or moved.
pub fn apply(old: &[u8], hunks: &[Hunk]) -> Result<Vec<u8>, ApplyError> {
    let mut out = Vec::with_capacity(old.len());
    let mut lines = raw_lines(old);
    let mut next = 1u32;
    for hunk in hunks {
        let at = position(hunk.old_start, hunk.old_lines);
        if at < next {
            return Err(ApplyError::Overlap { line: at });
        }
        while next < at {
            out.extend_from_slice(lines.next().ok_or(ApplyError::Ends { line: at })?);
            next += 1;
        }
        for line in &hunk.lines {
            if line.kind != LineKind::Added {
                let there = Line::of(lines.next().ok_or(ApplyError::Ends { line: next })?);
                if (there.text, there.ending) != (&line.text, line.ending) {
                    return Err(ApplyError::Differs { line: next });
                }
                next += 1;
            }
            if line.kind != LineKind::Removed {
                out.extend_from_slice(&line.text);
                out.extend_from_slice(ending_bytes(line.ending));
            }
        }
    }
    lines.for_each(|line| out.extend_from_slice(line));
    Ok(out)
}

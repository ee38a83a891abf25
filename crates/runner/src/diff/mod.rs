//! From patch text or two versions to hunks, and back.
//!
//! Everything is bytes from end to end: no line, name or line ending is decoded on the way.
//!
//! | module | job |
//! |---|---|
//! | `input` | marks, encodings and colours off; what is no patch is named |
//! | `mail`, `mime` | mailboxes, logs and exports cut into patches |
//! | `scan`, `section`, `hunk`, `binary`, `names` | one patch into its files' parts |
//! | `series`, `compose` | a series into its net change |
//! | `compare`, `apply`, `write` | two versions into hunks, hunks onto a text, a change into a patch |
//! | `sides`, `lines`, `text` | what rules read: both sides as text with line numbers |

mod apply;
mod binary;
mod compare;
mod compose;
mod cursor;
mod hunk;
mod input;
mod lines;
mod mail;
mod mime;
mod names;
mod scan;
mod section;
mod series;
mod sides;
mod text;
mod write;

pub use apply::{ApplyError, apply};
pub use compare::compare;
pub use lines::LineSet;
pub use sides::{SideText, from_blobs, numbered, sides};
pub use write::{Edit, suggestion_patch, write_file, write_patch};

use st_model::change::ChangeSet;
use st_model::coverage::{CoverageEntry, CoverageStatus};
use st_model::problem::{ErrorCode, Problem};

use hunk::Budget;
use mail::Source;
use section::same_blob;
use series::{Net, Patch};

/// A parsed patch: the net change, and the files that could not be read from it.
#[derive(Clone, Debug, Default)]
pub struct ParsedPatch {
    /// The net change.
    pub change: ChangeSet,
    /// Files whose part of the patch is broken: `failed`, with line number and reason. A name
    /// that can't be a path is listed, escaped, under `unsafe-name/`. None of them is in `change`.
    pub broken: Vec<CoverageEntry>,
    /// What the user should know, such as "5 commits collapsed to the net change".
    pub notes: Vec<String>,
}

/// Parses git-format and plain unified diffs and mailboxes of several commits; collapses a
/// series to its net change.
///
/// # Errors
/// When the bytes are no patch, a combined diff, or nothing in them can be read.
pub fn parse_patch(bytes: &[u8]) -> Result<ParsedPatch, Problem> {
    if bytes.trim_ascii().is_empty() {
        let fix = "Check the command that made it: a diff of two equal versions is empty";
        return Err(Problem::no_change(ErrorCode::NothingToReview, "The patch is empty", fix));
    }
    if input::foreign(bytes).is_some() {
        return Err(input::refusal(bytes, bytes));
    }
    let (text, mut notes) = input::prepare(bytes);
    let mut budget = Budget::default();
    let mut series = Vec::new();
    let (mut combined, mut context) = (false, false);
    for segment in mail::segments(&text) {
        let found = scan::scan(&segment.text, segment.first_line, &mut budget);
        combined |= found.combined;
        context |= found.context;
        if !found.parts.is_empty() {
            series.push(Commit {
                subject: segment.subject,
                source: segment.source,
                number: segment.number,
                decoded_mail: segment.decoded_mail,
                parts: found.parts,
            });
        }
    }
    if series.is_empty() {
        return Err(input::refusal(bytes, &text));
    }
    order(&mut series, &mut notes);
    let commits: Vec<String> = series.iter().filter_map(|commit| commit.subject.clone()).collect();
    let patches: Vec<Patch> = series
        .into_iter()
        .flat_map(|commit| {
            let decoded_mail = commit.decoded_mail;
            scan::splits(commit.parts).into_iter().map(move |parts| Patch { parts, decoded_mail })
        })
        .collect();
    if commits.len() > 1 {
        notes.push(format!("{} commits collapsed to the net change", commits.len()));
    } else if patches.len() > 1 {
        notes.push(format!("{} patches in a row collapsed to the net change", patches.len()));
    }
    let net = series::collapse(patches, &mut budget);
    finish(net, commits, notes, combined, context)
}

/// One patch of the series before it is cut further.
struct Commit {
    subject: Option<String>,
    source: Source,
    number: Option<(u32, u32)>,
    decoded_mail: Option<usize>,
    parts: Vec<section::Read>,
}

/// Puts a series in order, oldest first: mails by their `[PATCH n/m]`, a log by its blob ids.
fn order(series: &mut [Commit], notes: &mut Vec<String>) {
    let numbers: Vec<_> = series.iter().filter_map(|commit| commit.number).collect();
    let total = numbers.first().map(|number| number.1);
    if numbers.len() == series.len() && numbers.iter().all(|number| Some(number.1) == total) {
        let mut unique: Vec<_> = numbers.iter().map(|number| number.0).collect();
        let sorted = unique.is_sorted();
        unique.sort_unstable();
        unique.dedup();
        if unique.len() == series.len() && !sorted {
            series.sort_by_key(|commit| commit.number);
            notes.push("the mails were put in the order of their numbers".to_owned());
        }
        return;
    }
    if series.len() > 1 && series.iter().all(|commit| commit.source == Source::Log) && newest_first(series) {
        series.reverse();
    }
}

/// Whether a log runs from new to old, as it does unless the blob ids of its files say otherwise.
fn newest_first(series: &[Commit]) -> bool {
    let mut last = std::collections::HashMap::new();
    let (mut forward, mut backward) = (0usize, 0usize);
    for section in series.iter().flat_map(|commit| &commit.parts).flatten() {
        let Some(ids) = &section.ids else { continue };
        if let Some((old, new)) = last.insert(section.change.path.as_bytes(), (&ids.old, &ids.new)) {
            forward += usize::from(same_blob(new, &ids.old));
            backward += usize::from(same_blob(old, &ids.new));
        }
    }
    backward >= forward
}

fn finish(net: Net, commits: Vec<String>, mut notes: Vec<String>, combined: bool, context: bool) -> Result<ParsedPatch, Problem> {
    notes.extend(net.notes);
    for (remark, files) in net.remarks {
        let more = match files.len() {
            0 | 1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        notes.extend(files.first().map(|first| format!("{first}{more}: {remark}")));
    }
    if net.files.is_empty() {
        let Some(first) = net.broken.first() else {
            let message = match commits.len() {
                0 | 1 => "The patch changes nothing".to_owned(),
                count => format!("The {count} commits of the patch cancel each other out"),
            };
            return Err(Problem::no_change(ErrorCode::NothingToReview, message, "Give a patch whose end differs from its start"));
        };
        return Err(nothing_readable(first, net.broken.len(), combined, context));
    }
    Ok(ParsedPatch { change: ChangeSet { files: net.files, commits }, broken: net.broken, notes })
}

fn nothing_readable(first: &CoverageEntry, count: usize, combined: bool, context: bool) -> Problem {
    if combined {
        let message = "The patch is a combined diff of a merge, which shows several old sides at once";
        let fix = "Compare the merge with its first parent: `git diff MERGE^1 MERGE`, or `git show -m --first-parent MERGE`";
        return Problem::no_change(ErrorCode::CombinedDiff, message, fix);
    }
    if context {
        return Problem::no_change(ErrorCode::UnsupportedInput, "The patch is a context diff", "Make a unified one with `diff -u`");
    }
    let why = match &first.status {
        CoverageStatus::Failed(why) | CoverageStatus::Partial(why) => why.clone(),
        CoverageStatus::Skipped(reason) => reason.words().to_owned(),
        CoverageStatus::Reviewed => String::new(),
    };
    let code = if matches!(first.status, CoverageStatus::Skipped(_)) { ErrorCode::TooLarge } else { ErrorCode::MalformedPatch };
    let message = match count {
        1 => format!("The patch can't be read: {}: {why}", first.file),
        count => format!("None of the {count} files in the patch can be read; the first is {}: {why}", first.file),
    };
    Problem::no_change(code, message, "Make the patch again, and pass it on as a file so that nothing rewrites its lines")
}

//! One file's part of a patch, in git's format or plain.

use st_model::change::{ChangeBody, ChangeStatus, DiffLine, FileChange, Hunk, LineEnding, LineKind};
use st_model::path::RepoPath;
use st_model::version::FileMode;

use super::binary::{self, Sizes};
use super::cursor::{Cursor, trim_cr};
use super::hunk::{self, Budget, Fault, Hunks};
use super::names;

/// Blob ids of an `index` line as written, mostly abbreviated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ids {
    pub(super) old: Vec<u8>,
    pub(super) new: Vec<u8>,
}

/// Whether two abbreviated ids can be of the same blob; no file is the same as no file.
pub(super) fn same_id(one: &[u8], other: &[u8]) -> bool {
    let length = one.len().min(other.len());
    length >= 4 && one[..length] == other[..length]
}

/// Whether both ids are of the same blob.
pub(super) fn same_blob(one: &[u8], other: &[u8]) -> bool {
    !is_zero(one) && same_id(one, other)
}

/// Whether an id stands for no file.
fn is_zero(id: &[u8]) -> bool {
    id.iter().all(|&digit| digit == b'0')
}

/// One file's part of a patch.
#[derive(Clone, Debug)]
pub(super) struct Section {
    /// The change; a submodule's is still the text that git prints for it.
    pub(super) change: FileChange,
    /// Its `index` line.
    pub(super) ids: Option<Ids>,
    /// What the user should know about it.
    pub(super) notes: Vec<&'static str>,
}

/// A part that can't be read, and how to list it.
#[derive(Clone, Debug)]
pub(super) struct Broken {
    /// The file, or a stand-in for a name that is no path.
    pub(super) path: Option<RepoPath>,
    pub(super) fault: Fault,
}

/// What a part came to.
pub(super) type Read = Result<Section, Broken>;

/// What the header lines of a part say.
#[derive(Default)]
struct Head {
    old_mode: Option<FileMode>,
    new_mode: Option<FileMode>,
    added: bool,
    deleted: bool,
    rename_from: Option<Vec<u8>>,
    rename_to: Option<Vec<u8>>,
    copy_from: Option<Vec<u8>>,
    copy_to: Option<Vec<u8>>,
    ids: Option<Ids>,
    /// Names of `---` and `+++`, or of a `Binary files` line, prefixes and all.
    marks: Option<(Vec<u8>, Vec<u8>)>,
}

enum Body {
    None,
    Binary(Sizes),
    Hunks(Hunks),
}

/// Reads a part that starts at a `diff --git` line.
pub(super) fn git(cursor: &mut Cursor<'_>, budget: &mut Budget) -> Read {
    let at = cursor.line();
    let line = trim_cr(cursor.next().unwrap_or_default());
    let rest = line.strip_prefix(b"diff --git ").unwrap_or_default();
    let pair = names::git_pair(rest);
    let mut head = Head::default();
    let body = match extended(cursor, &mut head) {
        0 if !body_follows(cursor) => Err(Fault::at(at, "a `diff --git` line with nothing behind it")),
        _ => git_body(cursor, &mut head, budget),
    };
    let fallback = pair.as_ref().and_then(stripped).map_or_else(|| rest.to_vec(), |(_, new)| new);
    let (old, new) = match git_names(&head, pair.as_ref()) {
        Ok(names) => names,
        Err(why) => return Err(broken(&fallback, at, Fault::at(at, why))),
    };
    let body = body.map_err(|fault| broken(if head.deleted { &old } else { &new }, at, fault))?;
    build(at, head, &old, &new, body)
}

fn body_follows(cursor: &Cursor<'_>) -> bool {
    let rest = cursor.rest();
    [&b"--- "[..], b"GIT binary patch", b"Binary files ", b"@@ -"].iter().any(|start| rest.starts_with(start))
}

/// Reads the lines between `diff --git` and the body; gives their number.
fn extended(cursor: &mut Cursor<'_>, head: &mut Head) -> usize {
    let mut count = 0;
    loop {
        let mode = |digits: &[u8]| {
            let digits = std::str::from_utf8(digits).ok()?;
            FileMode::from_git(u32::from_str_radix(digits.trim(), 8).ok()?)
        };
        if let Some(rest) = cursor.peek_after(b"old mode ") {
            head.old_mode = mode(rest);
        } else if let Some(rest) = cursor.peek_after(b"new mode ") {
            head.new_mode = mode(rest);
        } else if let Some(rest) = cursor.peek_after(b"new file mode ") {
            (head.new_mode, head.added) = (mode(rest), true);
        } else if let Some(rest) = cursor.peek_after(b"deleted file mode ") {
            (head.old_mode, head.deleted) = (mode(rest), true);
        } else if let Some(rest) = cursor.peek_after(b"rename from ") {
            head.rename_from = Some(names::whole(rest));
        } else if let Some(rest) = cursor.peek_after(b"rename to ") {
            head.rename_to = Some(names::whole(rest));
        } else if let Some(rest) = cursor.peek_after(b"copy from ") {
            head.copy_from = Some(names::whole(rest));
        } else if let Some(rest) = cursor.peek_after(b"copy to ") {
            head.copy_to = Some(names::whole(rest));
        } else if let Some(rest) = cursor.peek_after(b"index ") {
            let (ids, unchanged) = index(rest);
            head.ids = ids;
            if let Some(same) = unchanged.and_then(mode) {
                head.old_mode = head.old_mode.or(Some(same));
                head.new_mode = head.new_mode.or(Some(same));
            }
        } else if cursor.peek_after(b"similarity index ").or_else(|| cursor.peek_after(b"dissimilarity index ")).is_none() {
            return count;
        }
        cursor.next();
        count += 1;
    }
}

/// The ids of an `index` line and the mode behind them.
fn index(rest: &[u8]) -> (Option<Ids>, Option<&[u8]>) {
    let (range, mode) = match memchr::memchr(b' ', rest) {
        Some(at) => (&rest[..at], Some(&rest[at + 1..])),
        None => (rest, None),
    };
    let hex = |id: &[u8]| !id.is_empty() && id.len() <= 64 && id.iter().all(u8::is_ascii_hexdigit);
    let ids = memchr::memmem::find(range, b"..").map(|at| (&range[..at], &range[at + 2..]));
    (ids.filter(|(old, new)| hex(old) && hex(new)).map(|(old, new)| Ids { old: old.to_vec(), new: new.to_vec() }), mode)
}

fn git_body(cursor: &mut Cursor<'_>, head: &mut Head, budget: &mut Budget) -> Result<Body, Fault> {
    if cursor.peek_after(b"GIT binary patch").is_some() {
        cursor.next();
        return binary::block(cursor).map(Body::Binary);
    }
    if let Some(rest) = cursor.peek_after(b"Binary files ") {
        head.marks = binary_names(rest);
        cursor.next();
        return Ok(Body::Binary((None, None)));
    }
    if cursor.rest().starts_with(b"--- ") {
        let at = cursor.line();
        let Some((old, new)) = marks(cursor) else { return Err(Fault::at(at, "a `---` line without a `+++` line")) };
        head.marks = Some((old.0, new.0));
        let after = cursor.line();
        let hunks = hunk::hunks(cursor, budget)?;
        if hunks.hunks.is_empty() {
            return Err(Fault::at(after, "file names without a hunk"));
        }
        return Ok(Body::Hunks(hunks));
    }
    if cursor.peek().is_some_and(hunk::is_header) {
        return hunk::hunks(cursor, budget).map(Body::Hunks);
    }
    Ok(Body::None)
}

type Mark<'a> = (Vec<u8>, &'a [u8]);

/// Reads a `---` and a `+++` line: names with their timestamps.
fn marks<'a>(cursor: &mut Cursor<'a>) -> Option<(Mark<'a>, Mark<'a>)> {
    let old = names::dated(cursor.peek_after(b"--- ")?);
    cursor.next();
    let new = names::dated(cursor.peek_after(b"+++ ")?);
    cursor.next();
    Some((old, new))
}

/// The names of `Binary files X and Y differ`, when there is one way to split them.
fn binary_names(rest: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let rest = rest.strip_suffix(b" differ")?;
    let splits: Vec<usize> = memchr::memmem::find_iter(rest, b" and ").take(64).collect();
    let name = |text: &[u8]| names::whole(text);
    let pairs = splits.iter().map(|&at| (name(&rest[..at]), name(&rest[at + 5..])));
    let mut agreeing = pairs.clone().filter(|(old, new)| names::is_null(old) || names::is_null(new) || tails_agree(old, new));
    agreeing.next().or_else(|| pairs.take(1).next())
}

fn tails_agree(old: &[u8], new: &[u8]) -> bool {
    old == new
        || names::strip_pair(Some(old), Some(new)) == {
            let tail = |name: &[u8]| memchr::memchr(b'/', name).map(|at| name[at + 1..].to_vec());
            (tail(old), tail(new))
        }
}

type Pair = (Vec<u8>, Vec<u8>);

/// A pair of names without their prefixes.
fn stripped((old, new): &Pair) -> Option<Pair> {
    match names::strip_pair(Some(old), Some(new)) {
        (Some(old), Some(new)) => Some((old, new)),
        _ => None,
    }
}

/// The file's names before and after. What a rename says is exact, then come `---` and `+++`,
/// then the first line, whose names `pair` holds.
fn git_names(head: &Head, pair: Option<&Pair>) -> Result<Pair, &'static str> {
    let moved = |from: &Option<Vec<u8>>, to: &Option<Vec<u8>>| from.clone().zip(to.clone());
    if let Some(names) = moved(&head.rename_from, &head.rename_to).or_else(|| moved(&head.copy_from, &head.copy_to)) {
        return Ok(names);
    }
    let first = pair.and_then(stripped);
    let Some((old, new)) = &head.marks else {
        let (_, new) = first.ok_or("a `diff --git` line whose names can't be told apart")?;
        return Ok((new.clone(), new));
    };
    let real = |name: &Vec<u8>| (!names::is_null(name)).then(|| name.clone());
    let (old, new) = (real(old), real(new));
    // A name next to `/dev/null` has the prefix that the first line shows.
    let unprefixed = pair.is_some_and(|(old, new)| old == new);
    let (old, new) = match (old, new) {
        (Some(only), None) | (None, Some(only)) if unprefixed => (Some(only.clone()), Some(only)),
        (Some(only), None) => {
            let name = first
                .as_ref()
                .filter(|(old, _)| only.ends_with(old))
                .map_or_else(|| names::strip_pair(Some(&only), None).0, |(old, _)| Some(old.clone()));
            (name.clone(), name)
        }
        (None, Some(only)) => {
            let name = first
                .as_ref()
                .filter(|(_, new)| only.ends_with(new))
                .map_or_else(|| names::strip_pair(None, Some(&only)).1, |(_, new)| Some(new.clone()));
            (name.clone(), name)
        }
        (old, new) => names::strip_pair(old.as_deref(), new.as_deref()),
    };
    let (Some(old), Some(new)) = (old, new) else { return Err("a change from no file to no file") };
    if let Some((_, named)) = first
        && named != new
    {
        return Err("the `diff --git` line and the `+++` line name different files");
    }
    Ok((old, new))
}

/// Reads a part without `diff --git`, which starts at a `---` line.
pub(super) fn plain(cursor: &mut Cursor<'_>, budget: &mut Budget) -> Read {
    let at = cursor.line();
    let Some(((old, old_stamp), (new, new_stamp))) = marks(cursor) else {
        return Err(broken(b"", at, Fault::at(at, "a `---` line without a `+++` line")));
    };
    let hunks = hunk::hunks(cursor, budget);
    let single = match &hunks {
        Ok(hunks) => match hunks.hunks.as_slice() {
            [only] => Some((only.old_lines == 0, only.new_lines == 0)),
            _ => None,
        },
        Err(_) => None,
    };
    // No file: `/dev/null`, or an empty side that is dated to the epoch or revision 0.
    let added = names::is_null(&old) || single.is_some_and(|(empty, _)| empty) && no_file(old_stamp);
    let deleted = names::is_null(&new) || single.is_some_and(|(_, empty)| empty) && no_file(new_stamp);
    let real = |name: &[u8]| (!names::is_null(name)).then(|| name.to_vec());
    let (old, new) = match (real(&old), real(&new)) {
        (None, None) => return Err(broken(b"/dev/null", at, Fault::at(at, "a change from no file to no file"))),
        (old, new) => names::strip_pair(old.as_deref(), new.as_deref()),
    };
    let new = new.or_else(|| old.clone()).unwrap_or_default();
    let head = Head { added: added && !deleted, deleted: deleted && !added, ..Head::default() };
    match hunks {
        Ok(hunks) if hunks.hunks.is_empty() => Err(broken(&new, at, Fault::at(at, "file names without a hunk"))),
        Ok(hunks) => build(at, head, &new, &new, Body::Hunks(hunks)),
        Err(fault) => Err(broken(&new, at, fault)),
    }
}

/// Whether a timestamp or revision stands for a file that is not there.
fn no_file(stamp: &[u8]) -> bool {
    let epoch = stamp.starts_with(b"1970-01-01 ") || stamp.starts_with(b"Thu Jan  1 ") && stamp.ends_with(b"1970");
    // East and west of Greenwich the epoch is another day or hour.
    let epoch = epoch || stamp.starts_with(b"1969-12-31 ");
    epoch || stamp == b"(revision 0)" || stamp == b"(nonexistent)"
}

/// A `Binary files X and Y differ` line of a plain diff.
pub(super) fn plain_binary(at: usize, rest: &[u8]) -> Option<Read> {
    let (old, new) = binary_names(rest)?;
    let real = |name: &[u8]| (!names::is_null(name)).then(|| name.to_vec());
    let (old, new) = (real(&old), real(&new));
    let head = Head { added: old.is_none(), deleted: new.is_none(), ..Head::default() };
    let (old, new) = names::strip_pair(old.as_deref(), new.as_deref());
    let name = new.or(old)?;
    Some(build(at, head, &name, &name, Body::Binary((None, None))))
}

/// A file that a plain diff only names: `name`, with what is known of its body.
pub(super) fn named(at: usize, name: &[u8], is_binary: bool) -> Read {
    build(at, Head::default(), name, name, if is_binary { Body::Binary((None, None)) } else { Body::None })
}

/// `Submodule PATH OLD..NEW:` of `git diff --submodule=log`.
pub(super) fn submodule_log(cursor: &mut Cursor<'_>) -> Option<Read> {
    let at = cursor.line();
    let rest = cursor.peek_after(b"Submodule ")?;
    let (range_at, range) = rest
        .split(|&byte| byte == b' ')
        .scan(0, |start, word| {
            let here = *start;
            *start += word.len() + 1;
            Some((here, word))
        })
        .find(|(start, word)| *start > 0 && memchr::memmem::find(word, b"..").is_some())?;
    let name = &rest[..range_at - 1];
    let range = range.strip_suffix(b":").unwrap_or(range);
    let cut = memchr::memmem::find(range, b"..")?;
    let (old, new) = (&range[..cut], range[cut..].trim_ascii_start());
    let new = new.strip_prefix(b"...").or_else(|| new.strip_prefix(b".."))?;
    if ![old, new].iter().all(|id| id.len() >= 4 && id.iter().all(u8::is_ascii_hexdigit)) {
        return None;
    }
    cursor.next();
    let (added, deleted) = (is_zero(old), is_zero(new));
    let line = |kind, id: &[u8]| DiffLine { kind, text: [b"Subproject commit ", id].concat(), ending: LineEnding::Lf };
    let mut lines = Vec::new();
    if !added {
        lines.push(line(LineKind::Removed, old));
    }
    if !deleted {
        lines.push(line(LineKind::Added, new));
    }
    let (old_lines, new_lines) = (u32::from(!added), u32::from(!deleted));
    let hunks = vec![Hunk { old_start: old_lines, old_lines, new_start: new_lines, new_lines, section: Vec::new(), lines }];
    let gitlink = Some(FileMode::Gitlink);
    let head = Head { added, deleted, old_mode: gitlink.filter(|_| !added), new_mode: gitlink.filter(|_| !deleted), ..Head::default() };
    Some(build(at, head, name, name, Body::Hunks(Hunks { hunks, ..Hunks::default() })))
}

/// A part that can't be read, of the file `name`, or of a file without a usable name.
pub(super) fn broken(name: &[u8], line: usize, fault: Fault) -> Broken {
    let unnamed = || RepoPath::parse(format!("unnamed-file/line-{line}").as_bytes()).ok();
    Broken { path: if name.is_empty() { unnamed() } else { names::ledger_path(name).or_else(unnamed) }, fault }
}

fn build(at: usize, head: Head, old: &[u8], new: &[u8], body: Body) -> Read {
    let listed = if head.deleted { old } else { new };
    let fail = |why: String| Err(broken(listed, at, Fault::At(at, why)));
    for name in [old, new] {
        if let Some(why) = names::refused(name) {
            return Err(broken(name, at, Fault::At(at, format!("a file name that is not taken: {why}"))));
        }
    }
    let (Ok(old_path), Ok(path)) = (RepoPath::parse(old), RepoPath::parse(new)) else {
        return fail("a file name that is not taken".into());
    };
    let swapped = matches!((head.old_mode, head.new_mode), (Some(a), Some(b)) if kind(a) != kind(b));
    let (from_null, to_null) = head.marks.as_ref().map_or((false, false), |(old, new)| (names::is_null(old), names::is_null(new)));
    let (added, deleted) = (head.added || from_null, head.deleted || to_null);
    let status = match () {
        () if added && deleted => return fail("a file that is both new and deleted".into()),
        () if added => ChangeStatus::Added,
        () if deleted => ChangeStatus::Deleted,
        () if head.rename_from.is_some() => ChangeStatus::Renamed,
        () if head.copy_from.is_some() => ChangeStatus::Copied,
        () if swapped => ChangeStatus::TypeChanged,
        () => ChangeStatus::Modified,
    };
    let mut notes = Vec::new();
    let body = match body {
        Body::None => {
            if head.ids.as_ref().is_some_and(|ids| content_changed(ids, status)) {
                return fail("the header says that the content changed, but no hunk follows (cut off, or made with `-D` or `-w`)".into());
            }
            ChangeBody::Empty
        }
        Body::Binary((old_size, new_size)) => ChangeBody::Binary {
            old_size: old_size.filter(|_| status != ChangeStatus::Added),
            new_size: new_size.filter(|_| status != ChangeStatus::Deleted),
        },
        Body::Hunks(Hunks { mut hunks, renumbered, crlf }) => {
            let (had, left) = (hunks.iter().any(|hunk| hunk.old_lines > 0), hunks.iter().any(|hunk| hunk.new_lines > 0));
            match status {
                ChangeStatus::Added if had => return fail("a new file whose hunks have old lines".into()),
                ChangeStatus::Deleted if left => return fail("a deleted file whose hunks leave lines".into()),
                ChangeStatus::Added | ChangeStatus::Deleted if hunks.len() > 1 => {
                    return fail("a new or deleted file in more than one hunk".into());
                }
                ChangeStatus::Added => hunks.iter_mut().for_each(|hunk| (hunk.old_start, hunk.new_start) = (0, 1)),
                ChangeStatus::Deleted => hunks.iter_mut().for_each(|hunk| (hunk.old_start, hunk.new_start) = (1, 0)),
                ChangeStatus::Modified | ChangeStatus::Renamed | ChangeStatus::Copied | ChangeStatus::TypeChanged => {}
            }
            if renumbered && !matches!(status, ChangeStatus::Added | ChangeStatus::Deleted) {
                notes.push("line numbers of the new side did not add up and were computed from the old side's");
            }
            if crlf {
                notes.push("the patch itself has CRLF line ends, so the line ends of the files can't be told");
            }
            hunks.retain(|hunk| !hunk.lines.is_empty());
            if hunks.is_empty() { ChangeBody::Empty } else { ChangeBody::Text { hunks } }
        }
    };
    let moved = matches!(status, ChangeStatus::Renamed | ChangeStatus::Copied);
    let old_path = if moved { old_path } else { path.clone() };
    let change = FileChange { status, old_path, path, old_mode: head.old_mode, new_mode: head.new_mode, body };
    Ok(Section { change, ids: head.ids, notes })
}

/// Whether an `index` line without a body announces lines that are not there.
fn content_changed(ids: &Ids, status: ChangeStatus) -> bool {
    /// The empty blob, in both of git's hash functions.
    const EMPTY: [&[u8]; 2] =
        [b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", b"473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"];
    let empty = |id: &[u8]| EMPTY.iter().any(|empty| same_id(id, empty));
    match status {
        ChangeStatus::Added => !empty(&ids.new),
        ChangeStatus::Deleted => !empty(&ids.old),
        ChangeStatus::Modified | ChangeStatus::Renamed | ChangeStatus::Copied | ChangeStatus::TypeChanged => ids.old != ids.new,
    }
}

/// What a mode makes of a file: the three between which a change is a change of type.
pub(super) fn kind(mode: FileMode) -> u8 {
    match mode {
        FileMode::Regular | FileMode::Executable => 0,
        FileMode::Symlink => 1,
        FileMode::Gitlink => 2,
    }
}

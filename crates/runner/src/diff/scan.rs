//! Finding the files' parts in a text that may hold anything else between them.

use std::collections::HashMap;

use super::cursor::{Cursor, trim_cr};
use super::hunk::{self, Budget, Fault};
use super::names;
use super::section::{self, Broken, Read};

/// What a text holds.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The parts, in order.
    pub(super) parts: Vec<Read>,
    /// Whether a combined diff of a merge was met.
    pub(super) combined: bool,
    /// Whether a context diff was met.
    pub(super) context: bool,
}

/// Why a combined diff is not read.
pub(super) const COMBINED: &str = "a combined diff of a merge, which shows several old sides at once";

/// Finds and reads every file's part of `text`, whose first line is number `first_line`.
pub(super) fn scan(text: &[u8], first_line: usize, budget: &mut Budget) -> Scan {
    let mut scan = Scan::default();
    let mut cursor = Cursor::new(text, first_line);
    let mut listing = Listing::default();
    // Set behind a broken part, whose further hunks belong to it.
    let mut skipping = false;
    while !cursor.at_end() {
        let at = cursor.line();
        let rest = cursor.rest();
        let part = match rest[0] {
            b'd' if rest.starts_with(b"diff ") => {
                skipping = false;
                command(&mut cursor, budget, &mut scan, &mut listing, &mut skipping)
            }
            b'-' if starts_plain(&cursor) => Some(section::plain(&mut cursor, budget)),
            b'*' if rest.starts_with(b"*** ") && cursor.second_starts(b"--- ") => {
                let part = context(&cursor);
                scan.context |= part.is_some();
                part
            }
            b'@' if rest.starts_with(b"@@@ ") && !skipping => {
                scan.combined = true;
                skipping = true;
                Some(Err(section::broken(b"", at, Fault::at(at, COMBINED))))
            }
            b'@' if !skipping && starts_orphan(&cursor) => {
                Some(Err(section::broken(b"", at, Fault::at(at, "a hunk without the name of its file"))))
            }
            b'I' if rest.starts_with(b"Index: ") => {
                skipping = false;
                svn(&mut cursor)
            }
            b'B' | b'F' | b'O' => {
                listing.line(&cursor);
                None
            }
            b'S' if rest.starts_with(b"Submodule ") => section::submodule_log(&mut cursor),
            _ => None,
        };
        if let Some(part) = part {
            skipping |= part.is_err();
            scan.parts.push(part);
        }
        // A part that could not be read must not be met again at the same line.
        if cursor.line() == at {
            cursor.next();
        }
    }
    listing.finish(&mut scan.parts);
    scan
}

/// `--- X`, `+++ Y`, and a hunk or the end.
fn starts_plain(cursor: &Cursor<'_>) -> bool {
    if !cursor.rest().starts_with(b"--- ") || !cursor.second_starts(b"+++ ") {
        return false;
    }
    let mut ahead = cursor.clone();
    ahead.next();
    ahead.next();
    ahead.at_end() || ahead.peek().is_some_and(hunk::is_header)
}

/// A context diff, which is not read: `*** X`, `--- Y` and a line of asterisks.
fn context(cursor: &Cursor<'_>) -> Option<Read> {
    let mut ahead = cursor.clone();
    let old = names::dated(ahead.peek_after(b"*** ")?).0;
    ahead.next();
    let new = names::dated(ahead.peek_after(b"--- ")?).0;
    ahead.next();
    ahead.peek_after(b"***************")?;
    let real = |name: &[u8]| (!names::is_null(name)).then(|| name.to_vec());
    let (old, new) = (real(&old), real(&new));
    let (old, new) = names::strip_pair(old.as_deref(), new.as_deref());
    let name = new.or(old).unwrap_or_default();
    Some(Err(section::broken(&name, cursor.line(), Fault::at(cursor.line(), "a context diff; only unified diffs are read"))))
}

fn starts_orphan(cursor: &Cursor<'_>) -> bool {
    cursor.peek().is_some_and(hunk::is_header) && [&b" "[..], b"+", b"-"].iter().any(|start| cursor.second_starts(start))
}

/// A line that starts with `diff `: git's header, a combined diff, or the command of a plain one.
fn command(cursor: &mut Cursor<'_>, budget: &mut Budget, scan: &mut Scan, listing: &mut Listing, skipping: &mut bool) -> Option<Read> {
    let at = cursor.line();
    let combined = cursor.peek_after(b"diff --cc ").or_else(|| cursor.peek_after(b"diff --combined "));
    if let Some(name) = combined {
        let name = names::whole(name);
        cursor.next();
        scan.combined = true;
        *skipping = true;
        return Some(Err(section::broken(&name, at, Fault::at(at, COMBINED))));
    }
    if cursor.rest().starts_with(b"diff --git ") {
        return Some(section::git(cursor, budget));
    }
    listing.recursive |= cursor.peek_after(b"diff -").is_some();
    cursor.next();
    None
}

/// `Index: NAME` and a line of `=`, behind which svn puts a plain diff, a refusal, or nothing.
fn svn(cursor: &mut Cursor<'_>) -> Option<Read> {
    let at = cursor.line();
    let name = cursor.peek_after(b"Index: ")?.trim_ascii();
    if !cursor.second_starts(b"===") {
        return None;
    }
    cursor.next();
    cursor.next();
    if cursor.rest().starts_with(b"--- ") || cursor.rest().starts_with(b"diff ") {
        return None;
    }
    let binary = cursor.peek_after(b"Cannot display: file marked as a binary type.").is_some();
    Some(section::named(at, name, binary))
}

/// Lines of a recursive plain diff that only name files.
#[derive(Default)]
struct Listing {
    recursive: bool,
    parts: Vec<(bool, Read)>,
}

impl Listing {
    fn line(&mut self, cursor: &Cursor<'_>) {
        let at = cursor.line();
        let unseen = |name: &[u8], why: &str| Err::<_, Broken>(section::broken(name, at, Fault::at(at, why)));
        if let Some(rest) = cursor.peek_after(b"Binary files ") {
            if let Some(part) = section::plain_binary(at, rest) {
                self.parts.push((true, part));
            }
        } else if let Some(rest) = cursor.peek_after(b"Files ") {
            if let Some(Ok(part)) = section::plain_binary(at, rest) {
                let why = "the patch says that the file differs, but not how (made with `-q`)";
                self.parts.push((false, unseen(part.change.path.as_bytes(), why)));
            }
        } else if let Some(rest) = cursor.peek_after(b"Only in ")
            && let Some(cut) = memchr::memmem::find(rest, b": ")
        {
            let (folder, name) = (&rest[..cut], &rest[cut + 2..]);
            let path = [folder.trim_ascii_end(), b"/", name].concat();
            let path = path.strip_prefix(b"./").unwrap_or(&path);
            let why = "only in one of the compared folders, and the patch does not hold its lines (`diff -N` would)";
            self.parts.push((false, unseen(path, why)));
        }
    }

    /// Lists what was named, when the text is a recursive diff and no prose that happens to say so.
    fn finish(self, parts: &mut Vec<Read>) {
        let recursive = self.recursive || parts.is_empty();
        parts.extend(self.parts.into_iter().filter(|(sure, _)| *sure || recursive).map(|(_, part)| part));
    }
}

/// Cuts the parts of one text into patches: a file that comes again starts the next patch.
pub(super) fn splits(parts: Vec<Read>) -> Vec<Vec<Read>> {
    use st_model::change::ChangeStatus::{Added, Copied, Deleted, Modified, Renamed, TypeChanged};
    /// What a patch did at a path: took the file there, put one there, by a rename.
    #[derive(Default, Clone, Copy)]
    struct Seen {
        taken: bool,
        put: bool,
        moved: bool,
    }
    let mut patches: Vec<Vec<Read>> = vec![Vec::new()];
    let mut seen: HashMap<Vec<u8>, Seen> = HashMap::new();
    for part in parts {
        if let Ok(section) = &part {
            let change = &section.change;
            let (old, new) = (change.old_path.as_bytes(), change.path.as_bytes());
            let at = |path: &[u8], seen: &HashMap<Vec<u8>, Seen>| seen.get(path).copied().unwrap_or_default();
            let (source, target) = (at(old, &seen), at(new, &seen));
            // Within one patch a path is taken once and filled once; a rename may take what
            // another rename fills (a swap of names), and a new file may follow a deleted one.
            let again = match change.status {
                Added | Copied => target.put,
                Renamed => source.taken || target.put || source.put && !source.moved,
                Modified | TypeChanged => source.taken || target.put,
                Deleted => source.taken || source.put,
            };
            if again {
                seen.clear();
                patches.push(Vec::new());
            }
            if !matches!(change.status, Added | Copied) {
                seen.entry(old.to_vec()).or_default().taken = true;
            }
            if change.status != Deleted {
                let entry = seen.entry(new.to_vec()).or_default();
                (entry.put, entry.moved) = (true, change.status == Renamed);
            }
        }
        if let Some(patch) = patches.last_mut() {
            patch.push(part);
        }
    }
    patches
}

/// Whether a text has `line` as a whole line, its line end aside.
pub(super) fn has_line(text: &[u8], wanted: impl Fn(&[u8]) -> bool) -> bool {
    Cursor::new(text, 1).any(|line| wanted(trim_cr(line)))
}

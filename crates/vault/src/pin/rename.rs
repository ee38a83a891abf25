//! Renames: a deleted file and an added one that hold the same, or at least half of it.
//!
//! The measure is git's: both files are cut into lines of at most 64 bytes; the bytes of the
//! lines they share, over the size of the larger file.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use st_model::change::ChangeStatus;
use st_model::problem::Problem;
use st_model::review::PinnedFile;
use st_model::version::{BlobId, FileMode, VersionPointer};

use super::stopped;

/// Most pairs that are compared line by line, as git bounds it (`diff.renameLimit`).
const PAIRS: usize = 250_000;

/// Longest piece of a line, in bytes.
const PIECE: usize = 64;

/// Turns pairs of deleted and added files into renames. Returns a note when there were too many
/// to compare by content.
pub(super) fn find(
    files: &mut Vec<PinnedFile>,
    bytes: &dyn Fn(BlobId) -> Result<Vec<u8>, Problem>,
    cancelled: &dyn Fn() -> bool,
) -> Result<Option<String>, Problem> {
    let mut deleted = side(files, |file| (file.status == ChangeStatus::Deleted).then_some(file.old));
    let mut added = side(files, |file| (file.status == ChangeStatus::Added).then_some(file.new));
    let mut pairs = exact(files, &mut deleted, &mut added);
    // A link's target is too short to compare by halves.
    let is_file = |entry: &Entry| entry.mode != FileMode::Symlink;
    deleted.retain(is_file);
    added.retain(is_file);
    let mut note = None;
    if deleted.len().saturating_mul(added.len()) > PAIRS {
        note = Some(format!(
            "{} deleted and {} added files are too many to look for renames with edits among them",
            deleted.len(),
            added.len()
        ));
    } else if !deleted.is_empty() && !added.is_empty() {
        pairs.extend(similar(files, &deleted, &added, bytes, cancelled)?);
    }
    let gone: BTreeSet<usize> = pairs.iter().map(|pair| pair.0).collect();
    for (from, to) in pairs {
        let (old_path, old) = (files[from].old_path.clone(), files[from].old);
        let target = &mut files[to];
        target.status = ChangeStatus::Renamed;
        target.old_path = old_path;
        target.old = old;
    }
    let mut at = 0;
    files.retain(|_| {
        at += 1;
        !gone.contains(&(at - 1))
    });
    Ok(note)
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: usize,
    blob: BlobId,
    mode: FileMode,
}

fn side(files: &[PinnedFile], pointer: impl Fn(&PinnedFile) -> Option<VersionPointer>) -> Vec<Entry> {
    let entry = |(at, file)| match pointer(file)? {
        VersionPointer::Present { blob, mode: mode @ (FileMode::Regular | FileMode::Executable | FileMode::Symlink) } => {
            Some(Entry { at, blob, mode })
        }
        VersionPointer::Present { mode: FileMode::Gitlink, .. } | VersionPointer::Absent => None,
    };
    files.iter().enumerate().filter_map(entry).collect()
}

/// Pairs with the same bytes; of several, the one with the same file name.
fn exact(files: &[PinnedFile], deleted: &mut Vec<Entry>, added: &mut Vec<Entry>) -> Vec<(usize, usize)> {
    let key = |entry: &Entry| (entry.blob, entry.mode == FileMode::Symlink);
    let mut sources: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for entry in deleted.iter() {
        sources.entry(key(entry)).or_default().push(entry.at);
    }
    let mut pairs = Vec::new();
    for same_name in [true, false] {
        added.retain(|entry| {
            let Some(from) = sources.get_mut(&key(entry)) else { return true };
            let name = files[entry.at].path.file_name();
            let Some(found) = from.iter().position(|&at| !same_name || files[at].old_path.file_name() == name) else { return true };
            pairs.push((from.remove(found), entry.at));
            false
        });
    }
    let used: BTreeSet<usize> = pairs.iter().map(|pair| pair.0).collect();
    deleted.retain(|entry| !used.contains(&entry.at));
    pairs
}

/// Pairs that share at least half, the most alike first.
fn similar(
    files: &[PinnedFile],
    deleted: &[Entry],
    added: &[Entry],
    bytes: &dyn Fn(BlobId) -> Result<Vec<u8>, Problem>,
    cancelled: &dyn Fn() -> bool,
) -> Result<Vec<(usize, usize)>, Problem> {
    let mut scored = Vec::new();
    let sources = deleted.iter().map(|entry| Ok((entry.at, Pieces::of(&bytes(entry.blob)?)))).collect::<Result<Vec<_>, Problem>>()?;
    for entry in added {
        if cancelled() {
            return Err(stopped());
        }
        let target = Pieces::of(&bytes(entry.blob)?);
        for (from, source) in &sources {
            if let Some(score) = source.score(&target) {
                let same_name = files[*from].old_path.file_name() == files[entry.at].path.file_name();
                scored.push((score, same_name, *from, entry.at));
            }
        }
    }
    scored.sort_by(|a, b| (b.0, b.1).cmp(&(a.0, a.1)).then_with(|| (a.2, a.3).cmp(&(b.2, b.3))));
    let (mut from_used, mut to_used) = (BTreeSet::new(), BTreeSet::new());
    let mut pairs = Vec::new();
    for (_, _, from, to) in scored {
        if !from_used.contains(&from) && !to_used.contains(&to) {
            from_used.insert(from);
            to_used.insert(to);
            pairs.push((from, to));
        }
    }
    Ok(pairs)
}

/// A file cut into pieces: how many bytes each distinct piece makes up.
struct Pieces {
    size: u64,
    bytes_by_piece: HashMap<u64, u64>,
}

impl Pieces {
    fn of(bytes: &[u8]) -> Self {
        let mut bytes_by_piece = HashMap::new();
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            for piece in line.chunks(PIECE) {
                let mut hasher = DefaultHasher::new();
                piece.hash(&mut hasher);
                *bytes_by_piece.entry(hasher.finish()).or_insert(0) += size(piece);
            }
        }
        Self { size: size(bytes), bytes_by_piece }
    }

    /// Shared bytes in thousandths of the larger file, when that is at least half.
    fn score(&self, other: &Self) -> Option<u64> {
        let (small, large) = (self.size.min(other.size), self.size.max(other.size));
        if small * 2 < large || small == 0 {
            return None;
        }
        let shared: u64 = self.bytes_by_piece.iter().map(|(piece, bytes)| bytes.min(other.bytes_by_piece.get(piece).unwrap_or(&0))).sum();
        (shared * 2 >= large).then(|| shared * 1000 / large)
    }
}

fn size(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use st_model::path::RepoPath;

    use super::*;
    use crate::hash::blob_id;

    fn lines(range: std::ops::Range<u32>) -> Vec<u8> {
        range.flat_map(|n| format!("line number {n}\n").into_bytes()).collect()
    }

    /// Deleted and added files in; `old -> new` of the renames, and what is left, out.
    fn check(deleted: &[(&str, Vec<u8>)], added: &[(&str, Vec<u8>)], expected: &[&str]) {
        let mut store = HashMap::new();
        let mut files = Vec::new();
        for (names, status) in [(deleted, ChangeStatus::Deleted), (added, ChangeStatus::Added)] {
            for (name, bytes) in names {
                let blob = blob_id(bytes);
                store.insert(blob, bytes.clone());
                let path = RepoPath::parse(name.as_bytes()).unwrap();
                let present = VersionPointer::Present { blob, mode: FileMode::Regular };
                let (old, new) =
                    if status == ChangeStatus::Added { (VersionPointer::Absent, present) } else { (present, VersionPointer::Absent) };
                files.push(PinnedFile { status, old_path: path.clone(), path, old, new });
            }
        }
        let note = find(&mut files, &|id| Ok(store[&id].clone()), &|| false).unwrap();
        assert_eq!(note, None);
        let mut shown: Vec<_> = files.iter().map(|file| format!("{:?} {} -> {}", file.status, file.old_path, file.path)).collect();
        shown.sort();
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_moved_file_is_a_rename_also_when_edited() {
        check(&[("a.rs", lines(0..20))], &[("b/a.rs", lines(0..20))], &["Renamed a.rs -> b/a.rs"]);
        check(&[("a.rs", lines(0..20))], &[("b.rs", lines(3..23))], &["Renamed a.rs -> b.rs"]);
    }

    #[test]
    fn less_than_half_is_no_rename() {
        check(&[("a.rs", lines(0..20))], &[("b.rs", lines(15..35))], &["Added b.rs -> b.rs", "Deleted a.rs -> a.rs"]);
        check(&[("a.rs", lines(0..20))], &[("b.rs", lines(0..60))], &["Added b.rs -> b.rs", "Deleted a.rs -> a.rs"]);
    }

    #[test]
    fn the_same_bytes_and_name_come_first() {
        check(
            &[("x/one.txt", lines(0..9)), ("x/two.txt", lines(0..9))],
            &[("y/two.txt", lines(0..9)), ("y/three.txt", lines(0..9))],
            &["Renamed x/one.txt -> y/three.txt", "Renamed x/two.txt -> y/two.txt"],
        );
        check(&[("old", lines(0..20))], &[("less", lines(5..25)), ("more", lines(1..21))], &["Added less -> less", "Renamed old -> more"]);
    }
}

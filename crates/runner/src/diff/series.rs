//! A series of patches, collapsed to its net change.

use std::collections::{BTreeMap, HashMap};

use st_model::change::{ChangeBody, ChangeStatus, DiffLine, FileChange, Hunk, LineKind};
use st_model::coverage::{CoverageEntry, CoverageStatus, SkipReason};
use st_model::path::RepoPath;
use st_model::version::FileMode;

use super::compose::{compose, side_by_side, tidy};
use super::hunk::{Budget, Fault};
use super::section::{Broken, Ids, Read, Section, kind, same_id};
use super::sides::join_swap;

/// One patch of a series: its files' parts, and where its line numbers count.
#[derive(Debug)]
pub(super) struct Patch {
    /// The parts.
    pub(super) parts: Vec<Read>,
    /// Set when line numbers count in the decoded body of that mail.
    pub(super) decoded_mail: Option<usize>,
}

/// The net change.
#[derive(Debug, Default)]
pub(super) struct Net {
    pub(super) files: Vec<FileChange>,
    pub(super) broken: Vec<CoverageEntry>,
    pub(super) notes: Vec<String>,
    /// Remarks, each with the files it is about.
    pub(super) remarks: BTreeMap<&'static str, Vec<RepoPath>>,
}

/// What the series did to one file so far.
#[derive(Clone, Debug)]
struct File {
    /// Place in the outcome: that of the file's first part.
    order: usize,
    change: FileChange,
    ids: Option<Ids>,
    /// Number of parts put together.
    parts: usize,
    /// Set when the file can't be told any more.
    fault: Option<CoverageStatus>,
    notes: Vec<&'static str>,
}

/// Collapses `patches`, oldest first.
pub(super) fn collapse(patches: Vec<Patch>, budget: &mut Budget) -> Net {
    let mut files: HashMap<Vec<u8>, File> = HashMap::new();
    let mut order = 0;
    let mut notes = Vec::new();
    for (index, patch) in patches.into_iter().enumerate() {
        let mut sections = Vec::with_capacity(patch.parts.len());
        for part in patch.parts {
            order += 1;
            match part {
                Ok(section) => sections.push((order, section)),
                Err(broken) => note_broken(&mut files, broken, order, patch.decoded_mail, &mut notes),
            }
        }
        step(&mut files, sections, index + 1, budget, &mut notes);
    }
    let mut files: Vec<File> = files.into_values().collect();
    files.sort_by_key(|file| file.order);
    let mut net = Net { notes, ..Net::default() };
    for file in files {
        finish(file, &mut net);
    }
    net
}

fn note_broken(files: &mut HashMap<Vec<u8>, File>, broken: Broken, order: usize, mail: Option<usize>, notes: &mut Vec<String>) {
    let status = match broken.fault {
        Fault::At(line, why) => CoverageStatus::Failed(match mail {
            None => format!("line {line} of the patch: {why}"),
            Some(mail) => format!("line {line} of the decoded body of mail {mail}: {why}"),
        }),
        Fault::TooLarge => CoverageStatus::Skipped(SkipReason::TooLarge),
    };
    let Some(path) = broken.path else {
        notes.push(format!("a file without a usable name was not read: {status:?}"));
        return;
    };
    let key = path.as_bytes().to_vec();
    let lost = || File {
        order,
        change: FileChange {
            status: ChangeStatus::Modified,
            old_path: path.clone(),
            path: path.clone(),
            old_mode: None,
            new_mode: None,
            body: ChangeBody::Empty,
        },
        ids: None,
        parts: 1,
        fault: None,
        notes: Vec::new(),
    };
    files.entry(key).or_insert_with(lost).fault.get_or_insert(status);
}

/// Applies one patch to the net change. All its parts speak of the state before it, so names may
/// be swapped within it.
fn step(files: &mut HashMap<Vec<u8>, File>, sections: Vec<(usize, Section)>, number: usize, budget: &mut Budget, notes: &mut Vec<String>) {
    let key = |path: &RepoPath| path.as_bytes().to_vec();
    let copies: Vec<Option<File>> = sections
        .iter()
        .map(|(_, section)| {
            let copied = section.change.status == ChangeStatus::Copied;
            files.get(section.change.old_path.as_bytes()).filter(|_| copied).cloned()
        })
        .collect();
    let mut taken = Vec::with_capacity(sections.len());
    for ((order, section), copy) in sections.into_iter().zip(copies) {
        let before = match section.change.status {
            ChangeStatus::Added => None,
            ChangeStatus::Copied => copy,
            ChangeStatus::Deleted | ChangeStatus::Modified | ChangeStatus::Renamed | ChangeStatus::TypeChanged => {
                files.remove(section.change.old_path.as_bytes())
            }
        };
        taken.push((order, before, section));
    }
    for (order, before, section) in taken {
        let copied = section.change.status == ChangeStatus::Copied;
        let next = match before {
            None => Some(File { order, change: section.change, ids: section.ids, parts: 1, fault: None, notes: section.notes }),
            Some(before) => {
                let order = if copied { order } else { before.order };
                join(before, section, number, budget).map(|file| File { order, ..file })
            }
        };
        let Some(next) = next else { continue };
        place(files, key(&next.change.path), next, number, budget, notes);
    }
}

/// Puts a file at its path, where a deleted one may have been.
fn place(files: &mut HashMap<Vec<u8>, File>, key: Vec<u8>, next: File, number: usize, budget: &mut Budget, notes: &mut Vec<String>) {
    let Some(there) = files.remove(&key) else {
        files.insert(key, next);
        return;
    };
    let (there, next) = if next.change.status == ChangeStatus::Deleted { (next, there) } else { (there, next) };
    if there.fault.is_none() && next.fault.is_none() && there.change.status == ChangeStatus::Deleted {
        if next.change.status == ChangeStatus::Added {
            let section = Section { change: next.change, ids: next.ids, notes: next.notes };
            if let Some(file) = join(there, section, number, budget) {
                files.insert(key, file);
            }
            return;
        }
        notes.push(format!("{} was deleted and another file took its name; only the latter is shown", next.change.path));
        files.insert(key, next);
        return;
    }
    let why = format!("patch {number} of the series makes a file where an earlier one left another");
    let fault = there.fault.clone().or_else(|| next.fault.clone()).unwrap_or(CoverageStatus::Failed(why));
    files.insert(key, File { fault: Some(fault), order: there.order.min(next.order), ..next });
}

/// One file's net change and the next patch of it, put together. `None` when nothing is left of it.
fn join(before: File, section: Section, number: usize, budget: &mut Budget) -> Option<File> {
    use ChangeStatus::{Added, Copied, Deleted, Modified, Renamed, TypeChanged};
    let Section { change: next, ids, notes } = section;
    let File { order, change: earlier, ids: earlier_ids, parts, mut fault, notes: mut all_notes } = before;
    all_notes.extend(notes);
    let gone = |status| matches!(status, Deleted);
    if fault.is_none() && gone(earlier.status) != (next.status == Added) {
        let why = format!("patch {number} of the series changes the file, which an earlier one deleted");
        fault = Some(CoverageStatus::Failed(why));
    }
    let old_mode = earlier.old_mode.or(if earlier.status == Added { None } else { next.old_mode.filter(|_| earlier.new_mode.is_none()) });
    let new_mode = if next.status == Deleted { None } else { next.new_mode.or(earlier.new_mode) };
    let swapped = matches!((old_mode, new_mode), (Some(a), Some(b)) if kind(a) != kind(b));
    let (status, path) = match (earlier.status, next.status) {
        // Came and went.
        (Added | Copied, Deleted) if fault.is_none() => return vanished(earlier, next, number, order, budget),
        (_, Deleted) => (Deleted, earlier.old_path.clone()),
        (Added, _) => (Added, next.path.clone()),
        (Copied, _) | (_, Copied) => (Copied, next.path.clone()),
        (Deleted, _) | (Modified | TypeChanged | Renamed, _) if earlier.old_path != next.path => (Renamed, next.path.clone()),
        (Deleted | Modified | TypeChanged | Renamed, _) if swapped => (TypeChanged, next.path.clone()),
        (Deleted | Modified | TypeChanged | Renamed, _) => (Modified, next.path.clone()),
    };
    let old_path = if status == Added { path.clone() } else { earlier.old_path.clone() };
    let ends = (matches!(earlier.status, Added | Deleted | TypeChanged), matches!(next.status, Added | Deleted | TypeChanged));
    let swap = swapped && gone(earlier.status);
    let parallel = parallel(earlier_ids.as_ref(), ids.as_ref());
    let torn = !parallel && matches!((&earlier_ids, &ids), (Some(earlier), Some(next)) if !same_id(&earlier.new, &next.old));
    if torn && !gone(earlier.status) {
        all_notes.push("other changes were made to it between two of the patches, so line numbers may be off");
    }
    let joined = Ids::chain(earlier_ids, ids);
    let mut file = File {
        order,
        change: FileChange { status, old_path, path, old_mode, new_mode, body: ChangeBody::Empty },
        ids: joined,
        parts: parts + 1,
        fault,
        notes: all_notes,
    };
    if file.fault.is_some() {
        return Some(file);
    }
    match bodies(earlier.body, next.body, ends, swap, parallel, budget) {
        Ok((body, note)) => {
            file.change.body = body;
            file.notes.extend(note);
        }
        Err(why) => file.fault = Some(CoverageStatus::Failed(format!("patch {number} of the series does not fit the earlier ones: {why}"))),
    }
    Some(file)
}

/// A file that came and went leaves nothing, provided that what went is what came.
fn vanished(earlier: FileChange, next: FileChange, number: usize, order: usize, budget: &mut Budget) -> Option<File> {
    let known = earlier.status == ChangeStatus::Added;
    let path = next.path.clone();
    match bodies(earlier.body, next.body, (known, true), false, false, budget) {
        Ok(_) => None,
        Err(why) => {
            let fault = CoverageStatus::Failed(format!("patch {number} of the series does not fit the earlier ones: {why}"));
            let change = FileChange { old_path: path.clone(), path, body: ChangeBody::Empty, ..next };
            Some(File { order, change, ids: None, parts: 2, fault: Some(fault), notes: Vec::new() })
        }
    }
}

/// Whether both patches start from the same version, by their `index` lines.
fn parallel(earlier: Option<&Ids>, next: Option<&Ids>) -> bool {
    let (Some(earlier), Some(next)) = (earlier, next) else { return false };
    same_id(&earlier.old, &next.old) && !same_id(&earlier.new, &next.old)
}

impl Ids {
    fn chain(earlier: Option<Self>, next: Option<Self>) -> Option<Self> {
        Some(Self { old: earlier?.old, new: next?.new })
    }
}

type Joined = (ChangeBody, Option<&'static str>);

/// The bodies of two parts in a row, as one.
fn bodies(
    earlier: ChangeBody,
    next: ChangeBody,
    ends: (bool, bool),
    swap: bool,
    parallel: bool,
    budget: &mut Budget,
) -> Result<Joined, String> {
    const BESIDE: &str = "comes twice in the patch, each time against the same version; both parts are shown together";
    const BETWEEN: &str = "binary in some of the patches and text in others; its lines can't be told";
    const APART: &str = "its patches do not follow one another; their hunks are shown as given, and line numbers may be off";
    let (earlier, next) = match (earlier, next) {
        (ChangeBody::Binary { old_size, .. }, ChangeBody::Binary { new_size, .. }) => {
            return Ok((ChangeBody::Binary { old_size, new_size }, None));
        }
        (ChangeBody::Binary { old_size, .. }, _) => return Ok((ChangeBody::Binary { old_size, new_size: None }, Some(BETWEEN))),
        (_, ChangeBody::Binary { new_size, .. }) => return Ok((ChangeBody::Binary { old_size: None, new_size }, Some(BETWEEN))),
        (earlier, next) => (lines_of(earlier), lines_of(next)),
    };
    let cost = earlier.iter().chain(&next).map(|hunk| hunk.lines.len() + 1).sum::<usize>();
    budget.steps = budget.steps.checked_sub(cost).ok_or("the file is in more patches than one review puts together")?;
    if swap {
        let hunks = join_swap(earlier.into_iter().next(), next.into_iter().next()).into_iter().collect();
        return Ok((ChangeBody::Text { hunks }, None));
    }
    if parallel && let Some(hunks) = side_by_side(&earlier, &next) {
        return Ok((ChangeBody::Text { hunks }, Some(BESIDE)));
    }
    // Kept for the second try; only when there is one.
    let copies = (!ends.0 && !ends.1).then(|| (earlier.clone(), next.clone()));
    match compose(earlier, ends.0, next, ends.1) {
        Ok(hunks) if hunks.is_empty() => Ok((ChangeBody::Empty, None)),
        Ok(hunks) => Ok((ChangeBody::Text { hunks }, None)),
        Err(misfit) => match copies.and_then(|(earlier, next)| side_by_side(&earlier, &next)) {
            Some(hunks) => Ok((ChangeBody::Text { hunks }, Some(APART))),
            None => Err(misfit.0),
        },
    }
}

fn lines_of(body: ChangeBody) -> Vec<Hunk> {
    match body {
        ChangeBody::Text { hunks } => hunks,
        // A submodule is text until the end of the collapse, and a binary has no lines.
        ChangeBody::Empty | ChangeBody::Binary { .. } | ChangeBody::Submodule { .. } => Vec::new(),
    }
}

/// Gives a file its final form and its place in the outcome.
fn finish(file: File, net: &mut Net) {
    let File { mut change, ids, parts, fault, mut notes, .. } = file;
    if let Some(status) = fault {
        net.broken.push(CoverageEntry { file: change.path, status });
        return;
    }
    if let ChangeBody::Text { hunks } = &mut change.body {
        if parts > 1 && change.status != ChangeStatus::TypeChanged {
            *hunks = tidy(hunks);
        }
        if hunks.is_empty() {
            change.body = ChangeBody::Empty;
        }
    }
    if change.status != ChangeStatus::TypeChanged
        && (change.old_mode == Some(FileMode::Gitlink) || change.new_mode == Some(FileMode::Gitlink))
        && let ChangeBody::Text { hunks } = &change.body
        && let Some(body) = submodule(hunks)
    {
        change.body = body;
    }
    if parts > 1 && untouched(&change, ids.as_ref()) {
        return;
    }
    notes.sort_unstable();
    notes.dedup();
    for note in notes {
        net.remarks.entry(note).or_default().push(change.path.clone());
    }
    net.files.push(change);
}

/// Whether a series left a file as it was.
fn untouched(change: &FileChange, ids: Option<&Ids>) -> bool {
    let same_bytes = match &change.body {
        ChangeBody::Empty => true,
        ChangeBody::Text { .. } => false,
        ChangeBody::Binary { .. } => ids.is_some_and(|ids| same_id(&ids.old, &ids.new)),
        ChangeBody::Submodule { old, new } => old == new,
    };
    same_bytes && change.status == ChangeStatus::Modified && change.old_mode == change.new_mode
}

/// A submodule's commits from the text that git prints for them.
fn submodule(hunks: &[Hunk]) -> Option<ChangeBody> {
    let [hunk] = hunks else { return None };
    let commit = |wanted: LineKind| -> Option<String> {
        let id = |line: &DiffLine| String::from_utf8(line.text.strip_prefix(b"Subproject commit ")?.to_vec()).ok();
        hunk.lines.iter().find(|line| line.kind == wanted).and_then(id)
    };
    let (old, new) = (commit(LineKind::Removed), commit(LineKind::Added));
    (old.is_some() || new.is_some()).then_some(ChangeBody::Submodule { old, new })
}

//! What a change does to a file as a whole: endings, marks, modes, sizes, kinds.

use st_model::change::{ChangeBody, ChangeStatus, LineEnding, LineKind};
use st_model::finding::Side;
use st_model::version::FileMode;

use crate::rules::text::Encoding;
use crate::rules::view::{FileView, Place, Remark};

/// Smallest size that counts as large, 512 KiB: git hosts warn at 50 MiB, but a text a person
/// should review is far below this.
const LARGE_BYTES: u64 = 512 * 1024;

pub(crate) fn line_endings(file: &FileView<'_>) -> Vec<Remark> {
    let count = |kind: LineKind, ending: LineEnding| {
        file.hunks().iter().flat_map(|hunk| &hunk.lines).filter(|line| line.kind == kind && line.ending == ending).count()
    };
    let (removed_lf, removed_crlf) = (count(LineKind::Removed, LineEnding::Lf), count(LineKind::Removed, LineEnding::CrLf));
    let (added_lf, added_crlf) = (count(LineKind::Added, LineEnding::Lf), count(LineKind::Added, LineEnding::CrLf));
    let context_lf = count(LineKind::Context, LineEnding::Lf);
    let context_crlf = count(LineKind::Context, LineEnding::CrLf);
    let to_crlf = removed_lf > 1 && removed_crlf == 0 && added_crlf > 1 && added_lf == 0;
    let to_lf = removed_crlf > 1 && removed_lf == 0 && added_lf > 1 && added_crlf == 0;
    if to_crlf && context_crlf == 0 {
        return vec![Remark::file(format!("{removed_lf} lines went from LF to CRLF endings."))];
    }
    if to_lf && context_lf == 0 {
        return vec![Remark::file(format!("{removed_crlf} lines went from CRLF to LF endings."))];
    }
    // Lines of one kind put into a file of the other.
    if added_crlf > 0 && added_lf == 0 && context_lf > 0 && context_crlf == 0 {
        return vec![Remark::file(format!("{added_crlf} added lines end in CRLF in a file whose other lines end in LF."))];
    }
    Vec::new()
}

pub(crate) fn byte_order_mark(file: &FileView<'_>) -> Vec<Remark> {
    let marked = |encoding: Encoding| encoding == Encoding::Utf8Bom;
    let new_has = file.new.as_ref().is_some_and(|side| marked(side.encoding) && side.is_known(1, 1));
    let old_has = file.old.as_ref().is_some_and(|side| marked(side.encoding));
    // C# and Windows tools write the mark by custom.
    let customary = matches!(file.language, Some(crate::rules::language::Language::CSharp));
    let touches_top = file.new.as_ref().is_some_and(|side| side.is_changed(1));
    if new_has && !old_has && touches_top && !customary { vec![Remark::at(Place::Lines(Side::New, 1, 1))] } else { Vec::new() }
}

pub(crate) fn executable_bit(file: &FileView<'_>) -> Vec<Remark> {
    let script = file.new.as_ref().is_some_and(|side| side.line(1).starts_with("#!"));
    match (file.change.status, file.change.old_mode, file.change.new_mode) {
        (_, Some(FileMode::Regular), Some(FileMode::Executable)) if !script => {
            vec![Remark::file("The file became executable (100644 → 100755) and has no `#!` line.")]
        }
        (_, Some(FileMode::Executable), Some(FileMode::Regular)) if script => {
            vec![Remark::file("The script is no longer executable (100755 → 100644).")]
        }
        (ChangeStatus::Added, _, Some(FileMode::Executable)) if file.new.is_some() && !script => {
            vec![Remark::file("The new file is executable and has no `#!` line.")]
        }
        _ => Vec::new(),
    }
}

pub(crate) fn large_file(file: &FileView<'_>) -> Vec<Remark> {
    let Some(size) = file.new_bytes.filter(|&size| size >= LARGE_BYTES) else { return Vec::new() };
    if file.change.status != ChangeStatus::Added || file.is_lock {
        return Vec::new();
    }
    vec![Remark::file(format!("The new file is {} KiB.", size / 1024))]
}

pub(crate) fn binary_file(file: &FileView<'_>) -> Vec<Remark> {
    let ChangeBody::Binary { new_size, .. } = &file.change.body else { return Vec::new() };
    let usual =
        ["png", "jpg", "jpeg", "gif", "webp", "ico", "icns", "woff", "woff2", "ttf", "otf", "pdf", "svgz", "avif", "mp3", "wav", "ogg"];
    let is_asset = file.change.path.extension().is_some_and(|extension| usual.contains(&extension.as_str()));
    if file.change.status != ChangeStatus::Added || is_asset || file.is_test {
        return Vec::new();
    }
    let size = new_size.map_or_else(String::new, |size| format!(" of {size} bytes"));
    vec![Remark::file(format!("A new binary file{size}: its content can't be reviewed."))]
}

pub(crate) fn build_output(file: &FileView<'_>) -> Vec<Remark> {
    let lower = file.path.to_ascii_lowercase();
    let folders =
        ["node_modules", "__pycache__", ".next", ".nuxt", ".gradle", ".pytest_cache", ".mypy_cache", ".tox", ".venv", ".idea", ".vs"];
    let endings =
        [".pyc", ".pyo", ".class", ".o", ".obj", ".a", ".so", ".dll", ".dylib", ".exe", ".log", ".swp", ".orig", ".rej", ".bak", ".tmp"];
    let name = lower.rsplit('/').next().unwrap_or_default();
    let is_output = lower.split('/').rev().skip(1).any(|part| folders.contains(&part))
        || endings.iter().any(|ending| name.len() > ending.len() && name.ends_with(ending))
        || matches!(name, ".ds_store" | "thumbs.db" | "desktop.ini" | ".env" | "npm-debug.log");
    if file.change.status != ChangeStatus::Added || !is_output || file.is_test {
        return Vec::new();
    }
    vec![Remark::file(format!("`{name}` looks like something a tool left behind."))]
}

pub(crate) fn symlink_outside(file: &FileView<'_>) -> Vec<Remark> {
    if file.change.new_mode != Some(FileMode::Symlink) {
        return Vec::new();
    }
    let Some(side) = &file.new else { return Vec::new() };
    let target = side.line(1);
    let depth = file.path.split('/').count() - 1;
    let mut level = i64::try_from(depth).unwrap_or(0);
    let climbs_out = target.split('/').any(|part| {
        match part {
            ".." => level -= 1,
            "" | "." => {}
            _ => level += 1,
        }
        level < 0
    });
    if side.is_changed(1) && (target.starts_with('/') || climbs_out) {
        vec![Remark::file(format!("The link points to `{}`, outside the repository.", target.replace('`', "'")))]
    } else {
        Vec::new()
    }
}

pub(crate) fn instructions_changed(file: &FileView<'_>) -> Vec<Remark> {
    let name = file.path.rsplit('/').next().unwrap_or_default();
    let is_instructions =
        matches!(name, "AGENTS.md" | "CLAUDE.md" | "GEMINI.md" | ".cursorrules" | ".windsurfrules" | "copilot-instructions.md")
            || file.path == ".sidetrack.toml"
            || file.path.contains(".cursor/rules/");
    if !is_instructions || file.change.body == ChangeBody::Empty {
        return Vec::new();
    }
    vec![Remark::file(format!("`{name}` steers assistants and reviews."))]
}

pub(crate) fn submodule_moved(file: &FileView<'_>) -> Vec<Remark> {
    let ChangeBody::Submodule { old, new } = &file.change.body else { return Vec::new() };
    let short = |commit: &Option<String>| commit.as_deref().map_or_else(|| "nothing".to_owned(), |id| id.chars().take(12).collect());
    vec![Remark::file(format!("The submodule goes from {} to {}; what lies between is not part of this review.", short(old), short(new)))]
}

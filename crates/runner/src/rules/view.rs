//! What checks see of a file, and what they say.

use std::ops::Range;

use st_model::change::{ChangeBody, FileChange, Hunk};
use st_model::finding::{Severity, Side};

use super::language::Language;
use super::syntax::{Parsed, Regions};
use super::text::SideView;

/// A changed file under review.
pub(crate) struct FileView<'a> {
    /// The change.
    pub(crate) change: &'a FileChange,
    /// The path as text.
    pub(crate) path: String,
    /// Language of the new side (of the old one for a deleted file).
    pub(crate) language: Option<Language>,
    /// Whether it is test code.
    pub(crate) is_test: bool,
    /// Whether a tool wrote it.
    pub(crate) is_generated: bool,
    /// Whether it is a lock file.
    pub(crate) is_lock: bool,
    /// The side before.
    pub(crate) old: Option<SideView>,
    /// The side after.
    pub(crate) new: Option<SideView>,
    /// Size after, in bytes, when known.
    pub(crate) new_bytes: Option<u64>,
    /// The new side's syntax.
    pub(crate) parsed: Option<Parsed>,
    /// Comments and strings of the new side, when it has syntax.
    pub(crate) regions: Option<Regions>,
}

impl FileView<'_> {
    /// A side.
    pub(crate) fn side(&self, side: Side) -> Option<&SideView> {
        match side {
            Side::New => self.new.as_ref(),
            Side::Old => self.old.as_ref(),
        }
    }

    /// The hunks; none unless the change is text.
    pub(crate) fn hunks(&self) -> &[Hunk] {
        match &self.change.body {
            ChangeBody::Text { hunks } => hunks,
            ChangeBody::Binary { .. } | ChangeBody::Submodule { .. } | ChangeBody::Empty => &[],
        }
    }
}

/// Where a remark belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The file as a whole.
    File,
    /// Lines of a side, from 1.
    Lines(Side, u32, u32),
}

/// What a check says.
#[derive(Clone, Debug)]
pub(crate) struct Remark {
    /// Where.
    pub(crate) place: Place,
    /// A sentence on this very case, put before the rule's own words.
    pub(crate) detail: Option<String>,
    /// Bytes of the side's text that are a secret.
    pub(crate) secret: Option<Range<usize>>,
    /// What would replace which bytes of the new side, where that is certain to be right.
    pub(crate) edit: Option<(Range<usize>, String)>,
    /// Another severity than the rule's.
    pub(crate) severity: Option<Severity>,
}

impl Remark {
    /// A remark on a place.
    pub(crate) fn at(place: Place) -> Self {
        Self { place, detail: None, secret: None, edit: None, severity: None }
    }

    /// A remark on the whole file.
    pub(crate) fn file(detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..Self::at(Place::File) }
    }

    /// Adds a sentence.
    pub(crate) fn with(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }
}

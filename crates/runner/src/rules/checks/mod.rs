//! Checks in code, for what neither a syntax pattern nor a line expression can say. Each is named
//! by a rule file, which holds its words, severity and examples.

mod change;
mod licence;
mod lock;
mod test_code;

use super::lock_facts::Facts;
use super::view::{FileView, Remark};

/// A check.
#[derive(Clone, Copy)]
pub(crate) enum Check {
    /// Looks at one file.
    File(fn(&FileView<'_>) -> Vec<Remark>),
    /// Looks at the manifests and lock files of the whole change, after the last file.
    Change(fn(&[Facts]) -> Vec<(usize, Remark)>),
}

/// The check a rule file names.
pub(crate) fn named(name: &str) -> Option<Check> {
    Some(match name {
        "line-endings" => Check::File(change::line_endings),
        "byte-order-mark" => Check::File(change::byte_order_mark),
        "executable-bit" => Check::File(change::executable_bit),
        "large-file" => Check::File(change::large_file),
        "binary-file" => Check::File(change::binary_file),
        "build-output" => Check::File(change::build_output),
        "symlink-outside" => Check::File(change::symlink_outside),
        "instructions-changed" => Check::File(change::instructions_changed),
        "submodule-moved" => Check::File(change::submodule_moved),
        "removed-assertion" => Check::File(test_code::removed_assertion),
        "weakened-assertion" => Check::File(test_code::weakened_assertion),
        "removed-test" => Check::File(test_code::removed_test),
        "removed-test-file" => Check::File(test_code::removed_test_file),
        "licence-header" => Check::File(licence::header_removed),
        // Said where comments are settled, since it is about other rules' findings.
        "suppression-added" => Check::File(|_| Vec::new()),
        "lock-out-of-step" => Check::Change(lock::out_of_step),
        "lock-not-changed" => Check::Change(lock::not_changed),
        _ => return None,
    })
}

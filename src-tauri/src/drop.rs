//! What is dragged over the window, told to the UI as strings the classifier takes.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tauri::{DragDropEvent, Emitter as _, Window};

#[derive(Clone, Debug, Serialize)]
struct Dragged {
    items: Vec<String>,
}

/// A path as the classifier takes it: itself, or a `file://` address when it is not UTF-8.
pub(crate) fn item_of(path: &Path) -> String {
    if let Some(text) = path.to_str() {
        return text.to_owned();
    }
    path.as_os_str().as_bytes().iter().fold(String::from("file://"), |mut address, &byte| {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'.' | b'_' | b'~') {
            address.push(char::from(byte));
        } else {
            // Writing to a String can't fail.
            let _ = write!(address, "%{byte:02X}");
        }
        address
    })
}

/// Forwards a native drag event. A link dropped as `text/uri-list` arrives here as a path too.
pub(crate) fn forward(window: &Window, event: &DragDropEvent) {
    let (name, paths): (_, &[PathBuf]) = match event {
        DragDropEvent::Enter { paths, .. } => ("drop-enter", paths),
        DragDropEvent::Over { .. } => ("drop-over", &[]),
        DragDropEvent::Drop { paths, .. } => ("drop", paths),
        // The enum is open; whatever else it grows ends the drag for us.
        _ => ("drop-leave", &[]),
    };
    let dragged = Dragged { items: paths.iter().map(|path| item_of(path)).collect() };
    if let Err(error) = window.emit(name, dragged) {
        tracing::warn!(%error, name, "the drag did not reach the UI");
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn a_name_that_is_not_utf8_travels_as_an_address() {
        assert_eq!(item_of(Path::new("/tmp/é b.patch")), "/tmp/é b.patch");
        assert_eq!(item_of(Path::new(OsStr::from_bytes(b"/tmp/caf\xe9 1.patch"))), "file:///tmp/caf%E9%201.patch");
    }
}

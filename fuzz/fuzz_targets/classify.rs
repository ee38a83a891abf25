//! Any text dropped on the window, pasted or typed: an answer, no panic, no hang.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use st_app::classify::{classify, looks_like_patch};

fuzz_target!(|bytes: &[u8]| {
    let _ = looks_like_patch(bytes);
    if let Ok(what) = std::str::from_utf8(bytes) {
        let forges = [("git.example.org".to_owned(), "gitlab".to_owned())];
        // An empty folder of its own, so that only the text decides.
        let _ = classify(what, Some(Path::new("/nonexistent")), None, &forges);
    }
});

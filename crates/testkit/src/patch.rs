//! Patches for tests.

use std::fmt::Write as _;

/// Text that every version of the rules has something to say about: what a merge left behind.
pub const LEFTOVER: [&str; 5] = ["<<<<<<< HEAD", "a = 1", "=======", "a = 2", ">>>>>>> topic"];

/// A patch that adds a file of these lines.
#[must_use]
pub fn adding(file: &str, lines: &[&str]) -> String {
    let mut patch =
        format!("diff --git a/{file} b/{file}\nnew file mode 100644\n--- /dev/null\n+++ b/{file}\n@@ -0,0 +1,{} @@\n", lines.len());
    for line in lines {
        let _ = writeln!(patch, "+{line}");
    }
    patch
}

/// A patch that adds `files` files of harmless Python, `lines` lines each.
#[must_use]
pub fn harmless(files: usize, lines: usize) -> String {
    let mut patch = String::new();
    for file in 0..files {
        let names: Vec<String> = (0..lines).map(|line| format!("value_{line} = {line}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        patch.push_str(&adding(&format!("src/part_{file:06}.py"), &names));
    }
    patch
}

//! The window's own command line: `sidetrack-desktop [--data-dir DIR] [--safe-mode] [--task N] [WHAT…]`.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use st_app::{ErrorCode, Problem};

use crate::drop::item_of;

/// What the window was started with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Args {
    /// Data directory, when not the default one.
    pub(crate) data_dir: Option<PathBuf>,
    /// Draw without GPU compositing.
    pub(crate) safe_mode: bool,
    /// What to do once the window stands.
    pub(crate) opening: Opening,
}

/// What a launch asks of the window, be it the first one or a later one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Opening {
    /// The task to show.
    pub(crate) task: Option<u64>,
    /// Things to review: absolute paths, addresses.
    pub(crate) items: Vec<String>,
}

impl Args {
    /// Reads the command line without the program's name.
    pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Self, Problem> {
        let mut parsed = Self::default();
        let mut args = args.into_iter();
        let mut only_items = false;
        while let Some(arg) = args.next() {
            match arg.to_str() {
                Some("--") if !only_items => only_items = true,
                Some("--safe-mode") if !only_items => parsed.safe_mode = true,
                Some("--data-dir") if !only_items => {
                    let dir = args.next().ok_or_else(|| usage("`--data-dir` needs a folder after it"))?;
                    parsed.data_dir = Some(absolute(dir.into()));
                }
                Some("--task") if !only_items => {
                    let number = args.next().and_then(|text| text.to_str().and_then(|text| text.trim_start_matches('#').parse().ok()));
                    parsed.opening.task = Some(number.ok_or_else(|| usage("`--task` needs a task's number after it"))?);
                }
                Some(flag) if !only_items && flag.starts_with('-') => return Err(usage(&format!("`{flag}` is not known here"))),
                Some(text) if text.contains("://") => parsed.opening.items.push(text.to_owned()),
                Some(_) | None => parsed.opening.items.push(item_of(&absolute(arg.into()))),
            }
        }
        Ok(parsed)
    }
}

/// A path against the folder this launch was made in; a second launch may stand elsewhere than the first.
fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

fn usage(message: &str) -> Problem {
    Problem::refused(
        ErrorCode::Usage,
        message,
        "Start it as `sidetrack-desktop [--data-dir DIR] [--safe-mode] [--task N] [FILE, FOLDER or LINK…]`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Args, Problem> {
        Args::parse(args.iter().map(OsString::from))
    }

    #[test]
    fn reads_flags_paths_and_links() {
        let args =
            parse(&["--safe-mode", "--data-dir", "/d", "--task", "#42", "/tmp/a b.patch", "https://example.org/o/r/pull/1"]).unwrap();
        assert!(args.safe_mode);
        assert_eq!(args.data_dir, Some("/d".into()));
        assert_eq!(args.opening.task, Some(42));
        assert_eq!(args.opening.items, ["/tmp/a b.patch", "https://example.org/o/r/pull/1"]);
    }

    #[test]
    fn a_relative_path_becomes_absolute() {
        let args = parse(&["x.patch"]).unwrap();
        assert!(args.opening.items[0].starts_with('/') && args.opening.items[0].ends_with("/x.patch"));
    }

    #[test]
    fn after_two_dashes_everything_is_a_path() {
        assert!(parse(&["--", "--task"]).unwrap().opening.items[0].ends_with("/--task"));
    }

    #[test]
    fn refuses_what_it_does_not_know() {
        for bad in [&["--frob"][..], &["--task"], &["--task", "x"], &["--data-dir"]] {
            assert_eq!(parse(bad).unwrap_err().code, ErrorCode::Usage, "{bad:?}");
        }
    }
}

//! Stat, copy, stat again, up to three rounds.

use st_model::problem::Problem;

use super::stopped;
use crate::disk::Stamp;

/// Rounds after which what still moves is left out.
const ROUNDS: usize = 3;

/// One reading of a path.
pub(super) struct Read<T> {
    /// What it gave.
    pub(super) value: T,
    /// The file's stamp before its bytes were read; none when nothing was there.
    pub(super) stamp: Option<Stamp>,
}

/// Reads all `paths`; then looks at each again, and reads those anew that changed meanwhile.
///
/// All that comes back with a value was so at one moment: after the last of them was read, none
/// had changed. What never stands still comes back without one.
pub(super) fn read_all<P, T>(
    paths: Vec<P>,
    mut read: impl FnMut(&P) -> Result<Read<T>, Problem>,
    stamp: impl Fn(&P) -> Option<Stamp>,
    cancelled: &dyn Fn() -> bool,
) -> Result<Vec<(P, Option<T>)>, Problem> {
    let mut settled: Vec<(P, Read<T>)> = Vec::new();
    let mut moving = paths;
    for _ in 0..ROUNDS {
        for path in std::mem::take(&mut moving) {
            if cancelled() {
                return Err(stopped());
            }
            let result = read(&path)?;
            settled.push((path, result));
        }
        let (still, moved): (Vec<_>, Vec<_>) = settled.into_iter().partition(|(path, result)| stamp(path) == result.stamp);
        settled = still;
        moving = moved.into_iter().map(|(path, _)| path).collect();
        if moving.is_empty() {
            break;
        }
    }
    let given_up = moving.into_iter().map(|path| (path, None));
    Ok(settled.into_iter().map(|(path, result)| (path, Some(result.value))).chain(given_up).collect())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::disk::Kind;

    fn stamp(version: u64) -> Stamp {
        Stamp { kind: Kind::File, dev: 1, ino: 1, size: version, mode: 0o100_644, uid: 0, gid: 0, mtime: (0, 0), ctime: (0, 0) }
    }

    #[test]
    fn what_moves_is_read_three_times_and_then_given_up() {
        // `still` never changes, `once` changes after its first reading, `restless` after each.
        let versions = RefCell::new([("still", 0u64), ("once", 0), ("restless", 0)]);
        let readings = RefCell::new(Vec::new());
        let version = |name: &str| versions.borrow().iter().find(|entry| entry.0 == name).map(|entry| entry.1);
        let read = |name: &&'static str| {
            readings.borrow_mut().push(*name);
            let before = version(name).map(stamp);
            for entry in versions.borrow_mut().iter_mut().filter(|entry| entry.0 == *name) {
                if *name == "restless" || (*name == "once" && entry.1 == 0) {
                    entry.1 += 1;
                }
            }
            Ok(Read { value: before.map(|stamp| stamp.size), stamp: before })
        };
        let mut result = read_all(vec!["still", "once", "restless"], read, |name| version(name).map(stamp), &|| false).unwrap();
        result.sort();
        assert_eq!(result, [("once", Some(Some(1))), ("restless", None), ("still", Some(Some(0)))]);
        assert_eq!(*readings.borrow(), ["still", "once", "restless", "once", "restless", "restless"]);
    }
}

//! Work side by side, results in order.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// Most lanes of one review: beyond it other work on the machine suffers more than a review gains.
const MOST: usize = 4;

/// A lane's stack, that of a main thread: matching follows the depth of a syntax tree.
const STACK_BYTES: usize = 8 << 20;

/// Results that may wait for one that is late, a lane; a lane that is further ahead pauses.
const AHEAD: usize = 16;

/// How many lanes this machine gives a review.
pub(super) fn lanes() -> NonZeroUsize {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    NonZeroUsize::new(cores.min(MOST)).unwrap_or(NonZeroUsize::MIN)
}

/// Does `work` for each index below `count` on up to `lanes` threads, and gives each result to
/// `take` in the order of the indices, as soon as those before it are there.
pub(super) fn in_order<T: Send>(count: usize, lanes: NonZeroUsize, work: impl Fn(usize) -> T + Sync, mut take: impl FnMut(usize, T)) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let (told, heard) = mpsc::sync_channel(lanes.get() * AHEAD);
        let mut started = 0;
        for _ in 0..lanes.get().min(count) {
            let told = told.clone();
            let (next, work) = (&next, &work);
            let lane = move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count || told.send((index, work(index))).is_err() {
                        return;
                    }
                }
            };
            // A machine that gives no more threads goes on with those it gave.
            if std::thread::Builder::new().name("review".into()).stack_size(STACK_BYTES).spawn_scoped(scope, lane).is_ok() {
                started += 1;
            }
        }
        drop(told);
        if started == 0 {
            (0..count).for_each(|index| take(index, work(index)));
            return;
        }
        let mut early = BTreeMap::new();
        let mut due = 0;
        for (index, result) in heard {
            early.insert(index, result);
            while let Some(result) = early.remove(&due) {
                take(due, result);
                due += 1;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn results_come_once_each_and_in_order() {
        for (count, lanes) in [(0, 3), (1, 4), (5, 1), (1000, 4)] {
            let mut taken = Vec::new();
            in_order(count, NonZeroUsize::new(lanes).unwrap(), |index| index * 2, |index, result| taken.push((index, result)));
            assert_eq!(taken, (0..count).map(|index| (index, index * 2)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_late_first_result_holds_back_the_others_and_loses_none() {
        // The first piece of work ends only when the second has ended too.
        let together = Barrier::new(2);
        let mut taken = Vec::new();
        let work = |index| {
            if index < 2 {
                together.wait();
            }
            index
        };
        in_order(100, NonZeroUsize::new(2).unwrap(), work, |_, index| taken.push(index));
        assert_eq!(taken, (0..100).collect::<Vec<_>>());
    }
}

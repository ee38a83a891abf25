//! Which notices are shown, and what a click on each opens.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::held::Held;

/// Shown notices whose click is waited for; an older one's click opens nothing any more, and
/// its task stays marked in the list.
const MOST_LIVE: usize = 64;

/// Handles that are kept, each with a connection to the bus.
const MOST_HELD: usize = 8;

/// How long a click is waited for.
const LIVE: Duration = Duration::from_secs(24 * 3600);

/// What a shown notice stands for: one place a task, and one for the summary of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// A task by its number.
    Task(u64),
    /// The summary of a burst.
    Burst,
}

/// A notice that is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shows {
    /// The service's number for it.
    pub(super) id: u32,
    /// What it stands for.
    pub(super) place: Place,
    /// The task its click opens.
    pub(super) opens: u64,
    /// When it was shown.
    pub(super) since: Instant,
}

/// Notices that are shown and were neither clicked nor closed.
#[derive(Debug, Default)]
pub(super) struct Live {
    shown: VecDeque<Shows>,
    held: VecDeque<Held>,
}

impl Live {
    /// The id that a notice at `place` replaces; `None` if there is none.
    pub(super) fn replaces(&self, place: Place) -> Option<u32> {
        self.shown.iter().find(|shows| shows.place == place).map(|shows| shows.id)
    }

    /// The handle of a shown notice, while it is kept.
    pub(super) fn held(&self, id: u32) -> Option<&Held> {
        self.held.iter().find(|held| held.id() == id)
    }

    /// Remembers a notice that is shown.
    pub(super) fn keep(&mut self, shows: Shows) {
        let (id, place, now) = (shows.id, shows.place, shows.since);
        self.shown.retain(|shows| shows.id != id && shows.place != place && now.duration_since(shows.since) < LIVE);
        self.shown.push_back(shows);
        while self.shown.len() > MOST_LIVE {
            self.shown.pop_front();
        }
    }

    /// Keeps the handle of a notice that [`Self::keep`] was told of.
    pub(super) fn hold(&mut self, held: Held) {
        self.held.retain(|known| known.id() != held.id());
        self.held.push_back(held);
        let ids: Vec<u32> = self.held.iter().map(Held::id).collect();
        if let Some(index) = surplus(&ids, |id| self.shown.iter().any(|shows| shows.id == id)) {
            self.held.remove(index);
        }
    }

    /// Takes the notice with that id out: whoever hears an answer first gets it.
    pub(super) fn take(&mut self, id: u32) -> Option<Shows> {
        let index = self.shown.iter().position(|shows| shows.id == id)?;
        let shows = self.shown.remove(index);
        if self.shown.is_empty() {
            self.held.clear();
        }
        shows
    }
}

/// Which of the handles, oldest first, goes when there are too many: one whose notice is gone, else
/// the oldest, but never the very first. GNOME takes a program's notices for those of the
/// connection that showed the first of them, and withdraws all of them when it closes.
fn surplus(ids: &[u32], is_shown: impl Fn(u32) -> bool) -> Option<usize> {
    if ids.len() <= MOST_HELD {
        return None;
    }
    Some(ids.iter().skip(1).position(|id| !is_shown(*id)).map_or(1, |index| index + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shows(id: u32, task: u64, since: Instant) -> Shows {
        Shows { id, place: Place::Task(task), opens: task, since }
    }

    #[test]
    fn a_later_notice_of_a_task_replaces_the_earlier_one() {
        let mut live = Live::default();
        let now = Instant::now();
        live.keep(shows(7, 42, now));
        assert_eq!(live.replaces(Place::Task(42)), Some(7));
        assert_eq!(live.replaces(Place::Burst), None);
        live.keep(shows(7, 42, now));
        assert_eq!(live.shown.len(), 1);
        assert_eq!(live.take(7).unwrap().opens, 42);
        assert!(live.take(7).is_none());
    }

    #[test]
    fn clicks_are_waited_for_a_bounded_number_and_time() {
        let mut live = Live::default();
        let now = Instant::now();
        for number in 0..100 {
            live.keep(shows(number, u64::from(number), now));
        }
        assert_eq!(live.shown.len(), MOST_LIVE);
        assert!(live.take(0).is_none());
        live.keep(shows(200, 200, now + LIVE));
        assert_eq!(live.shown.len(), 1);
    }

    #[test]
    fn the_first_handle_outlives_the_others() {
        let ids: Vec<u32> = (1..=9).collect();
        assert_eq!(surplus(&ids[..MOST_HELD], |_| true), None);
        assert_eq!(surplus(&ids, |_| true), Some(1));
        assert_eq!(surplus(&ids, |id| id == 2 || id == 3), Some(3));
        assert_eq!(surplus(&ids, |id| id != 1), Some(1));
    }
}

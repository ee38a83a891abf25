//! What starts next: a pure plan from what is known now.
//!
//! Tasks go by priority, then by order of submission. Waiting raises a task by one level each
//! [`AGEING`], without end, so a task that was submitted later can pass it only within two such
//! spans: nothing waits for ever behind newer work.

use std::cmp::Reverse;
use std::time::Duration;

use st_model::claim::ClaimSet;
use st_model::id::{TaskId, TaskNumber};
use st_model::state::TaskState;
use st_model::task::{Priority, Task};
use st_model::time::Timestamp;

/// Waiting time that is worth one level of priority (design.md §5).
pub const AGEING: Duration = Duration::from_secs(600);

/// A task that waits, as the scheduler sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Which.
    pub id: TaskId,
    /// Its number: order of submission.
    pub number: TaskNumber,
    /// How urgent it was made.
    pub priority: Priority,
    /// When it was submitted.
    pub since: Timestamp,
    /// When its next attempt is due; `None` when it is queued.
    pub retry_at: Option<Timestamp>,
    /// What it wants. A review wants nothing; tasks that write are held back here.
    pub claims: ClaimSet,
}

impl Waiting {
    /// The task as one that waits; `None` when it runs, rests, or is being undone.
    #[must_use]
    pub fn of(task: &Task) -> Option<Self> {
        let retry_at = match &task.state {
            TaskState::Queued => None,
            TaskState::Retrying { retry_at, .. } => Some(*retry_at),
            TaskState::Running { .. } | TaskState::RollingBack { .. } | TaskState::NeedsRecovery { .. } | TaskState::Resting { .. } => {
                return None;
            }
        };
        Some(Self {
            id: task.id,
            number: task.number,
            priority: task.priority,
            since: task.created_at,
            retry_at,
            claims: task.submitted.claims.clone(),
        })
    }

    /// Level after ageing; higher goes first.
    fn level(&self, now: Timestamp) -> u128 {
        let given = match self.priority {
            Priority::Low => 0,
            Priority::Normal => 1,
            Priority::High => 2,
        };
        given + now.since(self.since).as_millis() / AGEING.as_millis()
    }
}

/// What is known now.
#[derive(Clone, Debug)]
pub struct View {
    /// The time.
    pub now: Timestamp,
    /// Slots in all.
    pub slots: usize,
    /// Slots taken.
    pub running: usize,
    /// Whether new tasks are held (paused, or the engine is ending).
    pub held: bool,
    /// Tasks that wait, in any order.
    pub waiting: Vec<Waiting>,
}

/// What to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Retries whose time has come: back to the queue, before anything starts.
    pub due: Vec<TaskId>,
    /// Tasks to start, first one first; never more than there are free slots.
    pub start: Vec<TaskId>,
    /// When to plan again though nothing happened: the nearest retry.
    pub next_wake: Option<Timestamp>,
}

/// Plans from `view`.
#[must_use]
pub fn plan_dispatch(view: &View) -> Plan {
    let is_due = |task: &Waiting| task.retry_at.is_none_or(|at| at <= view.now);
    let due = view.waiting.iter().filter(|task| task.retry_at.is_some() && is_due(task)).map(|task| task.id).collect();
    let next_wake = view.waiting.iter().filter(|task| !is_due(task)).filter_map(|task| task.retry_at).min();
    let mut ready: Vec<&Waiting> = if view.held { Vec::new() } else { view.waiting.iter().filter(|task| is_due(task)).collect() };
    ready.sort_by_key(|task| (Reverse(task.level(view.now)), task.number));
    let free = view.slots.saturating_sub(view.running);
    Plan { due, start: ready.into_iter().take(free).map(|task| task.id).collect(), next_wake }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000_000);

    fn waiting(number: u64, priority: Priority, age: Duration, retry_in: Option<i64>) -> Waiting {
        let age = i64::try_from(age.as_millis()).unwrap();
        Waiting {
            id: TaskId(Uuid::from_u128(number.into())),
            number: TaskNumber(number),
            priority,
            since: Timestamp(NOW.0 - age),
            retry_at: retry_in.map(|millis| Timestamp(NOW.0 + millis)),
            claims: ClaimSet::default(),
        }
    }

    fn view(slots: usize, running: usize, held: bool, waiting: Vec<Waiting>) -> View {
        View { now: NOW, slots, running, held, waiting }
    }

    fn numbers(ids: &[TaskId]) -> Vec<u128> {
        ids.iter().map(|id| id.0.as_u128()).collect()
    }

    const SHORT: Duration = Duration::from_secs(1);

    #[test]
    fn urgent_tasks_go_first_and_equals_in_order_of_submission() {
        let tasks = vec![
            waiting(1, Priority::Low, SHORT, None),
            waiting(2, Priority::Normal, SHORT, None),
            waiting(3, Priority::High, SHORT, None),
            waiting(4, Priority::Normal, SHORT, None),
        ];
        assert_eq!(numbers(&plan_dispatch(&view(9, 0, false, tasks)).start), [3, 2, 4, 1]);
    }

    #[test]
    fn waiting_raises_a_task_one_level_each_ten_minutes() {
        let aged = |minutes: u64| {
            let tasks = vec![waiting(1, Priority::Low, Duration::from_secs(60 * minutes), None), waiting(2, Priority::High, SHORT, None)];
            numbers(&plan_dispatch(&view(1, 0, false, tasks)).start)
        };
        assert_eq!(aged(19), [2]);
        assert_eq!(aged(20), [1], "on the same level the older one goes first");
    }

    #[test]
    fn a_retry_waits_for_its_time_and_is_what_wakes_the_loop() {
        let tasks = vec![
            waiting(1, Priority::Normal, SHORT, Some(5000)),
            waiting(2, Priority::Normal, SHORT, Some(0)),
            waiting(3, Priority::Normal, SHORT, Some(300)),
        ];
        let plan = plan_dispatch(&view(9, 0, false, tasks));
        assert_eq!((numbers(&plan.due), numbers(&plan.start)), (vec![2], vec![2]));
        assert_eq!(plan.next_wake, Some(Timestamp(NOW.0 + 300)));
    }

    #[test]
    fn while_held_nothing_starts_and_retries_still_come_due() {
        let tasks = vec![waiting(1, Priority::High, SHORT, None), waiting(2, Priority::Normal, SHORT, Some(-1))];
        let plan = plan_dispatch(&view(9, 0, true, tasks));
        assert_eq!((numbers(&plan.due), plan.start, plan.next_wake), (vec![2], Vec::new(), None));
    }

    fn any_waiting() -> impl Strategy<Value = Vec<Waiting>> {
        let one = (
            prop_oneof![Just(Priority::Low), Just(Priority::Normal), Just(Priority::High)],
            0u64..10_000,
            proptest::option::of(-5_000i64..5_000),
        );
        proptest::collection::vec(one, 0..40).prop_map(|tasks| {
            (1..).zip(tasks).map(|(number, (priority, age, retry))| waiting(number, priority, Duration::from_secs(age), retry)).collect()
        })
    }

    proptest! {
        #[test]
        fn a_plan_keeps_its_rules(tasks in any_waiting(), slots in 0usize..6, running in 0usize..8, held: bool) {
            let plan = plan_dispatch(&view(slots, running, held, tasks.clone()));
            let free = slots.saturating_sub(running);
            let ready = tasks.iter().filter(|task| task.retry_at.is_none_or(|at| at <= NOW)).count();
            // Never more than slots, and never a free slot beside a task that could start.
            prop_assert_eq!(plan.start.len(), if held { 0 } else { free.min(ready) });
            prop_assert_eq!(plan.start.iter().collect::<BTreeSet<_>>().len(), plan.start.len());
            let of = |id: &TaskId| tasks.iter().find(|task| task.id == *id).unwrap();
            for id in &plan.start {
                prop_assert!(of(id).retry_at.is_none_or(|at| at <= NOW));
                // Whoever starts is passed over by none that is both more urgent and older.
                for other in tasks.iter().filter(|task| task.retry_at.is_none() && !plan.start.contains(&task.id)) {
                    prop_assert!((Reverse(of(id).level(NOW)), of(id).number) < (Reverse(other.level(NOW)), other.number));
                }
            }
            for id in &plan.due {
                prop_assert!(of(id).retry_at.is_some_and(|at| at <= NOW));
            }
            let later = tasks.iter().filter_map(|task| task.retry_at).filter(|at| *at > NOW).min();
            prop_assert_eq!(plan.next_wake, later);
        }

        #[test]
        fn nothing_waits_for_ever_behind_newer_work(newer in 1u64..200, every in 1u64..600) {
            // One slot, one low task, and a stream of high ones, one each `every` seconds, each
            // taking as long: the low one starts once two levels of age have passed.
            let low = waiting(1, Priority::Low, Duration::ZERO, None);
            let mut started_after = None;
            for round in 0..newer.saturating_mul(50) {
                let now = NOW.plus(Duration::from_secs(round * every));
                let mut high = waiting(round + 2, Priority::High, Duration::ZERO, None);
                high.since = now;
                let plan = plan_dispatch(&View { now, slots: 1, running: 0, held: false, waiting: vec![low.clone(), high] });
                if plan.start == [low.id] {
                    started_after = Some(round * every);
                    break;
                }
            }
            let bound = 2 * AGEING.as_secs() + every;
            prop_assert!(started_after.is_none_or(|seconds| seconds <= bound));
            prop_assert!(started_after.is_some() || newer * 50 * every <= bound);
        }
    }
}

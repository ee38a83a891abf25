//! Any run of commands: the store answers as the model's table says, and its rows stay sound.

use std::collections::HashMap;

use proptest::prelude::*;
use st_model::coverage::CoverageStatus;
use st_model::finding::Severity;
use st_model::id::{TaskId, TaskRef};
use st_model::retry::FailureClass;
use st_model::state::{LeaseRef, Phase, RestState, Settlement, StopCause, TaskEvent, TaskState};
use st_model::task::Priority;
use st_model::time::Timestamp;
use st_store::{Lease, Queue as _, Record, StoreError};

use crate::fixtures::{Fixture, assert_sound, boot, finding, line, new_task, problem};

/// A command; numbers pick a task, an engine or a lease that was ever given out.
#[derive(Clone, Debug)]
enum Command {
    Enqueue(u8),
    Claim(u8, u8),
    Apply(u8, TaskEvent),
    Priority(u8, Priority),
    Recover(u8),
    Enter(u8, Phase),
    Record(u8, Vec<Record>),
    Process(u8),
    Settle(u8, Settlement),
}

fn phase() -> impl Strategy<Value = Phase> {
    prop_oneof![Just(Phase::Pin), Just(Phase::Review), Just(Phase::Report)]
}

fn event() -> impl Strategy<Value = TaskEvent> {
    prop_oneof![
        3 => Just(TaskEvent::Cancel),
        3 => Just(TaskEvent::Due),
        2 => Just(TaskEvent::Stop(StopCause::Cancelled)),
        1 => Just(TaskEvent::Stop(StopCause::TimedOut)),
        1 => Just(TaskEvent::Stop(StopCause::EngineStop)),
        1 => Just(TaskEvent::EngineLost),
    ]
}

fn settlement() -> impl Strategy<Value = Settlement> {
    prop_oneof![
        1 => Just(Settlement::Rest(RestState::Done)),
        1 => Just(Settlement::Rest(RestState::Partial { problem: problem() })),
        1 => Just(Settlement::Rest(RestState::Failed { problem: problem() })),
        2 => Just(Settlement::Rest(RestState::Cancelled)),
        3 => (0i64..100).prop_map(|at| Settlement::Retry {
            retry_at: Timestamp(at),
            class: FailureClass::Transient,
            problem: problem(),
        }),
        3 => Just(Settlement::Requeue),
        1 => Just(Settlement::RollBack { then: RestState::Done }),
    ]
}

fn record() -> impl Strategy<Value = Record> {
    let severity = prop_oneof![Just(Severity::High), Just(Severity::Medium), Just(Severity::Low), Just(Severity::Info)];
    prop_oneof![
        (0..6u8, severity).prop_map(|(fingerprint, severity)| Record::Finding(Box::new(finding(&fingerprint.to_string(), severity)))),
        (0..4u8, "[a-c]{0,1}").prop_map(|(path, why)| {
            let status = if why.is_empty() { CoverageStatus::Reviewed } else { CoverageStatus::Partial(why) };
            Record::Covered(line(&[b'p', 0xf0 + path], status))
        }),
        any::<String>().prop_map(Record::Note),
        proptest::option::of(any::<u32>()).prop_map(|files| Record::Pinned { files }),
    ]
}

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        2 => (0..5u8).prop_map(Command::Enqueue),
        4 => (0..5u8, 0..3u8).prop_map(|(task, engine)| Command::Claim(task, engine)),
        3 => (0..5u8, event()).prop_map(|(task, event)| Command::Apply(task, event)),
        1 => (0..5u8, prop_oneof![Just(Priority::Low), Just(Priority::High)]).prop_map(|(task, level)| Command::Priority(task, level)),
        1 => (0..3u8).prop_map(Command::Recover),
        2 => (any::<u8>(), phase()).prop_map(|(lease, phase)| Command::Enter(lease, phase)),
        2 => (any::<u8>(), proptest::collection::vec(record(), 0..5)).prop_map(|(lease, records)| Command::Record(lease, records)),
        1 => any::<u8>().prop_map(Command::Process),
        3 => (any::<u8>(), settlement()).prop_map(|(lease, settlement)| Command::Settle(lease, settlement)),
    ]
}

fn task_id(pick: u8) -> TaskId {
    new_task(u128::from(pick)).id
}

/// What the model says should be there.
#[derive(Default)]
struct Expected {
    states: HashMap<TaskId, TaskState>,
}

#[derive(Debug, PartialEq)]
enum Answer {
    State(TaskState),
    Nothing,
    Unknown,
    Illegal,
    Lost,
}

impl Expected {
    /// What should come of `event`, and remembers it.
    fn step(&mut self, task: TaskId, event: &TaskEvent) -> Answer {
        let Some(state) = self.states.get_mut(&task) else { return Answer::Unknown };
        match state.next(event) {
            Ok(next) => {
                *state = next.clone();
                Answer::State(next)
            }
            Err(_) => Answer::Illegal,
        }
    }

    fn holds(&self, task: TaskId, held: &LeaseRef) -> bool {
        self.states.get(&task).and_then(TaskState::lease) == Some(held)
    }
}

fn answer<T>(outcome: Result<T, StoreError>, state: impl FnOnce(T) -> Answer) -> Answer {
    match outcome {
        Ok(value) => state(value),
        Err(StoreError::UnknownTask) => Answer::Unknown,
        Err(StoreError::Illegal(_)) => Answer::Illegal,
        Err(StoreError::LeaseLost) => Answer::Lost,
        Err(other) => panic!("{other:?}"),
    }
}

async fn run(commands: Vec<Command>) {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let mut expected = Expected::default();
    let mut leases: Vec<Lease> = Vec::new();
    for command in commands {
        match command {
            Command::Enqueue(pick) => {
                let task = store.enqueue(new_task(u128::from(pick))).await.unwrap();
                let state = expected.states.entry(task.id).or_insert(TaskState::Queued);
                assert_eq!(task.state, *state);
            }
            Command::Claim(pick, engine) => {
                let task = task_id(pick);
                let claimed = store.claim(task, boot(u128::from(engine))).await;
                match expected.states.get(&task) {
                    None => assert!(matches!(claimed, Err(StoreError::UnknownTask))),
                    Some(TaskState::Queued) => {
                        let lease = claimed.unwrap().unwrap();
                        let wanted = expected.step(task, &TaskEvent::Claim(*lease.held()));
                        assert_eq!(Answer::State(lease.task().state.clone()), wanted);
                        assert!(leases.iter().all(|old| old.task().id != task || old.held().fence < lease.held().fence));
                        leases.push(lease);
                    }
                    Some(_) => assert!(claimed.unwrap().is_none()),
                }
            }
            Command::Apply(pick, event) => {
                let task = task_id(pick);
                let got = answer(store.apply(task, event.clone()).await, |task| Answer::State(task.state));
                let wanted = if event == TaskEvent::EngineLost && expected.states.contains_key(&task) {
                    Answer::Illegal
                } else {
                    expected.step(task, &event)
                };
                assert_eq!(got, wanted);
            }
            Command::Priority(pick, priority) => {
                let got = answer(store.set_priority(task_id(pick), priority).await, |task| {
                    assert_eq!(task.priority, priority);
                    Answer::Nothing
                });
                let wanted = match expected.states.get(&task_id(pick)) {
                    None => Answer::Unknown,
                    Some(state) if state.is_at_rest() => Answer::Illegal,
                    Some(_) => Answer::Nothing,
                };
                assert_eq!(got, wanted);
            }
            Command::Recover(engine) => {
                let engine = boot(u128::from(engine));
                let lost: Vec<_> = expected
                    .states
                    .iter()
                    .filter(|(_, state)| state.lease().is_some_and(|lease| lease.boot != engine))
                    .map(|(task, _)| *task)
                    .collect();
                let recovered = store.recover(engine).await.unwrap();
                assert_eq!(recovered.len(), lost.len());
                for one in recovered {
                    assert!(lost.contains(&one.task.id));
                    assert_eq!(Answer::State(one.task.state), expected.step(one.task.id, &TaskEvent::EngineLost));
                }
            }
            Command::Enter(pick, phase) => {
                let Some(lease) = pick_lease(&leases, pick).map(|at| &leases[at]) else { continue };
                let (task, held) = (lease.task().id, *lease.held());
                let got = answer(lease.enter(phase).await, |task| Answer::State(task.state));
                let wanted = if expected.holds(task, &held) { expected.step(task, &TaskEvent::Enter(phase)) } else { Answer::Lost };
                assert_eq!(got, wanted);
            }
            Command::Record(pick, records) => {
                let Some(lease) = pick_lease(&leases, pick).map(|at| &leases[at]) else { continue };
                let wanted = if expected.holds(lease.task().id, lease.held()) { Answer::Nothing } else { Answer::Lost };
                assert_eq!(answer(lease.record(records).await, |()| Answer::Nothing), wanted);
            }
            Command::Process(pick) => {
                let Some(lease) = pick_lease(&leases, pick).map(|at| &leases[at]) else { continue };
                let wanted = if expected.holds(lease.task().id, lease.held()) { Answer::Nothing } else { Answer::Lost };
                assert_eq!(answer(lease.record_process(7, 8, "m").await, |()| Answer::Nothing), wanted);
            }
            Command::Settle(pick, settlement) => {
                let Some(at) = pick_lease(&leases, pick) else { continue };
                let lease = leases.swap_remove(at);
                let (task, held) = (lease.task().id, *lease.held());
                let got = answer(lease.settle(settlement.clone()).await, |task| Answer::State(task.state));
                let wanted = if !expected.holds(task, &held) {
                    Answer::Lost
                } else if matches!(settlement, Settlement::RollBack { .. }) {
                    Answer::Illegal
                } else {
                    expected.step(task, &TaskEvent::Settle(settlement))
                };
                assert_eq!(got, wanted);
            }
        }
    }
    for (task, state) in &expected.states {
        assert_eq!(store.task(TaskRef::Id(*task)).await.unwrap().state, *state);
    }
    assert_sound(&fixture).await;
}

fn pick_lease(leases: &[Lease], pick: u8) -> Option<usize> {
    (!leases.is_empty()).then(|| usize::from(pick) % leases.len())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_run_of_commands_follows_the_table(commands in proptest::collection::vec(command(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(run(commands));
    }
}

//! Changes of state. Where a task may go is the model's to say; here it is written down with
//! its event.

use st_model::event::EventKind;
use st_model::id::{AttemptId, TaskId};
use st_model::state::{Activity, ChangeState, IllegalTransition, Phase, RestState, Settlement, StopCause, TaskEvent, TaskState};
use st_model::task::{Priority, Task};

use super::{Holder, met};
use crate::error::StoreError;
use crate::row::StoredTask;
use crate::writer::{Change, Durability, Writer};

/// Applies an event that needs no lease.
pub(crate) struct Apply {
    pub(crate) task: TaskId,
    pub(crate) event: TaskEvent,
}

impl Change for Apply {
    type Reply = Task;
    const DURABILITY: Durability = Durability::Power;

    async fn run(&self, writer: &mut Writer) -> Result<Task, StoreError> {
        let before = StoredTask::load(writer, self.task).await?;
        match &self.event {
            TaskEvent::Cancel | TaskEvent::Stop(_) | TaskEvent::Due => {}
            TaskEvent::Claim(_)
            | TaskEvent::Enter(_)
            | TaskEvent::Throttle { .. }
            | TaskEvent::Settle(_)
            | TaskEvent::EngineLost
            | TaskEvent::RollBack
            | TaskEvent::RolledBack
            | TaskEvent::Stuck
            | TaskEvent::Resume
            | TaskEvent::Finish => return Err(illegal(&before.task.state, &self.event)),
        }
        transit(writer, before, &self.event).await
    }
}

/// Enters a phase of the attempt.
pub(crate) struct Enter {
    pub(crate) holder: Holder,
    pub(crate) phase: Phase,
}

impl Change for Enter {
    type Reply = Task;
    const DURABILITY: Durability = Durability::Process;

    async fn run(&self, writer: &mut Writer) -> Result<Task, StoreError> {
        let before = self.holder.load(writer).await?;
        transit(writer, before, &TaskEvent::Enter(self.phase)).await
    }
}

/// Ends the attempt.
pub(crate) struct Settle {
    pub(crate) holder: Holder,
    pub(crate) settlement: Settlement,
}

impl Change for Settle {
    type Reply = Task;
    const DURABILITY: Durability = Durability::Power;

    async fn run(&self, writer: &mut Writer) -> Result<Task, StoreError> {
        let before = self.holder.load(writer).await?;
        let event = TaskEvent::Settle(self.settlement.clone());
        if matches!(self.settlement, Settlement::RollBack { .. }) && before.task.change_state == ChangeState::None {
            // A task that changed nothing has nothing to undo.
            return Err(illegal(&before.task.state, &event));
        }
        transit(writer, before, &event).await
    }
}

/// Gives a task that is not at rest another urgency.
pub(crate) struct SetPriority {
    pub(crate) task: TaskId,
    pub(crate) priority: Priority,
}

impl Change for SetPriority {
    type Reply = Task;
    const DURABILITY: Durability = Durability::Power;

    async fn run(&self, writer: &mut Writer) -> Result<Task, StoreError> {
        let before = StoredTask::load(writer, self.task).await?;
        if before.task.state.is_at_rest() {
            return Err(IllegalTransition { state: before.task.state.name(), event: "priority" }.into());
        }
        if before.task.priority == self.priority {
            return Ok(before.task);
        }
        let at = writer.now();
        let mut after = before.clone();
        after.task.priority = self.priority;
        let rows = writer.write("changing a priority", after.update(&before)?).await?;
        met(&rows, 1)?;
        writer.tell(&after.task, at, EventKind::PriorityChanged { priority: self.priority })?;
        Ok(after.task)
    }
}

/// Takes a task through `event`: row, attempt and events in one. An event that leaves the state
/// as it is (a second stop) writes and tells nothing.
pub(super) async fn transit(writer: &mut Writer, before: StoredTask, event: &TaskEvent) -> Result<Task, StoreError> {
    let (state, told) = consequences(&before.task.state, event)?;
    if state == before.task.state {
        return Ok(before.task);
    }
    let at = writer.now();
    let mut after = before.clone();
    after.task.state = state;
    after.task.finished_at = after.task.state.is_at_rest().then_some(at);
    match ended_attempt(&before.task.state, event, &after.task.state) {
        None => {
            let rows = writer.write("changing a task's state", after.update(&before)?).await?;
            met(&rows, 1)?;
        }
        Some((attempt, how, counted)) => {
            if !counted {
                after.task.attempts = after.task.attempts.saturating_sub(1);
            }
            let rows = writer.write("ending an attempt", after.update_ending(&before, attempt, at, how)?).await?;
            met(&rows, 2)?;
        }
    }
    for kind in told {
        writer.tell(&after.task, at, kind)?;
    }
    Ok(after.task)
}

/// The attempt that a transition ends, how it is said to have ended, and whether it counts.
fn ended_attempt(before: &TaskState, event: &TaskEvent, after: &TaskState) -> Option<(AttemptId, &'static str, bool)> {
    let attempt = before.lease()?.attempt;
    let lost = matches!(event, TaskEvent::EngineLost);
    let how = match after {
        TaskState::Running { .. } => return None,
        _ if lost => "engine_lost",
        TaskState::Queued => "requeued",
        TaskState::Retrying { .. } => "retrying",
        TaskState::RollingBack { then } | TaskState::NeedsRecovery { then } => then.name(),
        TaskState::Resting { rest } => rest.name(),
    };
    Some((attempt, how, !lost && *after != TaskState::Queued))
}

/// Where `event` takes a task, and the facts that tell of it.
pub(super) fn consequences(before: &TaskState, event: &TaskEvent) -> Result<(TaskState, Vec<EventKind>), StoreError> {
    let after = before.next(event)?;
    let told = match (event, &after) {
        (TaskEvent::Claim(lease), _) => vec![
            EventKind::Started { attempt: lease.attempt, number: lease.number },
            // A claim enters the first phase; saying so spares readers from knowing it.
            EventKind::PhaseEntered { phase: Phase::Pin },
        ],
        (TaskEvent::Enter(phase), _) => vec![EventKind::PhaseEntered { phase: *phase }],
        (TaskEvent::Stop(_), TaskState::Running { activity: Activity::Stopping { cause }, .. }) => {
            vec![EventKind::Stopping { cause: *cause }]
        }
        (TaskEvent::Due, _) => vec![EventKind::Requeued { reason: "its next attempt is due".into() }],
        (TaskEvent::Cancel | TaskEvent::Settle(_) | TaskEvent::EngineLost, TaskState::Resting { rest }) => vec![settled(rest)],
        (TaskEvent::Settle(_), TaskState::Retrying { retry_at, class, problem }) => {
            let attempt = before.lease().map_or(0, |lease| lease.number);
            vec![EventKind::Retrying { retry_at: *retry_at, attempt, class: *class, problem: problem.clone() }]
        }
        (TaskEvent::Settle(_) | TaskEvent::EngineLost, TaskState::Queued) => {
            vec![EventKind::Requeued { reason: requeue_reason(before, event).into() }]
        }
        // No event is known for these yet: a state change that could not be told is not made.
        (
            TaskEvent::Cancel
            | TaskEvent::Stop(_)
            | TaskEvent::Settle(_)
            | TaskEvent::EngineLost
            | TaskEvent::Throttle { .. }
            | TaskEvent::RollBack
            | TaskEvent::RolledBack
            | TaskEvent::Stuck
            | TaskEvent::Resume
            | TaskEvent::Finish,
            _,
        ) => return Err(illegal(before, event)),
    };
    Ok((after, told))
}

fn settled(rest: &RestState) -> EventKind {
    EventKind::Settled { state: rest.name().into(), problem: rest.problem().cloned() }
}

fn requeue_reason(before: &TaskState, event: &TaskEvent) -> &'static str {
    match (event, before) {
        (TaskEvent::EngineLost, _) => "the engine that ran it is gone",
        (_, TaskState::Running { activity: Activity::Stopping { cause: StopCause::EngineStop }, .. }) => "the engine stopped",
        _ => "its attempt was given back",
    }
}

fn illegal(state: &TaskState, event: &TaskEvent) -> StoreError {
    IllegalTransition { state: state.name(), event: event.name() }.into()
}

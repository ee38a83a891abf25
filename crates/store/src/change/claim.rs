//! Taking the lease of a queued task.

use st_model::id::{AttemptId, BootId, Fence, TaskId};
use st_model::state::{LeaseRef, TaskEvent, TaskState};
use st_model::task::Task;

use super::met;
use super::transition::consequences;
use crate::error::StoreError;
use crate::row::StoredTask;
use crate::writer::{Change, Durability, Writer};

/// Takes the lease; `None` when the task is not queued any more.
pub(crate) struct Claim {
    pub(crate) task: TaskId,
    pub(crate) boot: BootId,
}

impl Change for Claim {
    type Reply = Option<(Task, LeaseRef)>;
    const DURABILITY: Durability = Durability::Power;

    async fn run(&self, writer: &mut Writer) -> Result<Self::Reply, StoreError> {
        let before = StoredTask::load(writer, self.task).await?;
        if before.task.state != TaskState::Queued {
            return Ok(None);
        }
        let at = writer.now();
        let lease = LeaseRef {
            attempt: AttemptId(writer.fresh_id()),
            // An attempt that was not counted leaves its number to the next; the fence never repeats.
            number: before.task.attempts.saturating_add(1),
            fence: Fence(before.fence.0.saturating_add(1)),
            boot: self.boot,
        };
        let (state, told) = consequences(&before.task.state, &TaskEvent::Claim(lease))?;
        let mut after = before.clone();
        after.fence = lease.fence;
        after.task.state = state;
        after.task.attempt = Some(lease.attempt);
        after.task.attempts = lease.number;
        after.task.started_at = after.task.started_at.or(Some(at));
        let rows = writer.write("claiming a task", after.update_starting(&before, &lease, at)?).await?;
        met(&rows, 2)?;
        for kind in told {
            writer.tell(&after.task, at, kind)?;
        }
        Ok(Some((after.task, lease)))
    }
}

//! The changes the writer makes, one type each.

mod claim;
mod enqueue;
mod process;
mod record;
mod recover;
mod setting;
mod transition;

pub(crate) use claim::Claim;
pub(crate) use enqueue::Enqueue;
pub(crate) use process::RecordProcess;
pub(crate) use record::AddFacts;
pub(crate) use recover::Recover;
pub(crate) use setting::SetSetting;
pub(crate) use transition::{Apply, Enter, SetPriority, Settle};

use st_model::id::TaskId;
use st_model::state::LeaseRef;

use crate::error::StoreError;
use crate::row::StoredTask;
use crate::writer::Writer;

/// Whose write it is: the task and the lease it is made under.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holder {
    pub(crate) task: TaskId,
    pub(crate) held: LeaseRef,
}

impl Holder {
    /// Reads the task, if the lease is still the one it was claimed with.
    async fn load(&self, writer: &mut Writer) -> Result<StoredTask, StoreError> {
        let stored = StoredTask::load(writer, self.task).await?;
        match stored.task.state.lease() {
            Some(lease) if *lease == self.held => Ok(stored),
            Some(_) | None => Err(StoreError::LeaseLost),
        }
    }
}

/// A conditional write that must have met the rows it was meant for.
fn met(rows: &[sqlx::sqlite::SqliteRow], wanted: usize) -> Result<(), StoreError> {
    if rows.len() == wanted { Ok(()) } else { Err(StoreError::LeaseLost) }
}

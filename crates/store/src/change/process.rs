//! The identity of an attempt's process.

use super::{Holder, met};
use crate::error::StoreError;
use crate::lease::RecordedProcess;
use crate::row::id_to_sql;
use crate::writer::{Change, Durability, Writer};

/// Keeps the process of the open attempt, so that a later engine can end what this one left.
pub(crate) struct RecordProcess {
    pub(crate) holder: Holder,
    pub(crate) process: RecordedProcess,
}

impl Change for RecordProcess {
    type Reply = ();
    const DURABILITY: Durability = Durability::Power;

    async fn run(&self, writer: &mut Writer) -> Result<(), StoreError> {
        self.holder.load(writer).await?;
        let update =
            sqlx::query("UPDATE attempt SET pid = ?, start_ticks = ?, machine_boot = ? WHERE id = ? AND ended_at IS NULL RETURNING number")
                .bind(i64::from(self.process.pid))
                .bind(self.process.start_ticks.cast_signed())
                .bind(self.process.machine_boot.clone())
                .bind(id_to_sql(self.process.attempt.0));
        met(&writer.write("recording a process", update).await?, 1)
    }
}

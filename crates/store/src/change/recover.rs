//! Ending the attempts of dead engines.

use st_model::id::{AttemptId, BootId};
use st_model::state::TaskEvent;

use super::transition::transit;
use crate::error::StoreError;
use crate::lease::{RecordedProcess, Recovered};
use crate::row::{StoredTask, get, id_to_sql, open_states, task_columns, uuid};
use crate::writer::{Change, Durability, Writer};

/// Ends the attempts of every engine but this one.
pub(crate) struct Recover(pub(crate) BootId);

impl Change for Recover {
    type Reply = Vec<Recovered>;
    const DURABILITY: Durability = Durability::Power;

    async fn run(&self, writer: &mut Writer) -> Result<Self::Reply, StoreError> {
        let processes =
            sqlx::query("SELECT id, pid, start_ticks, machine_boot FROM attempt WHERE ended_at IS NULL AND pid IS NOT NULL AND boot <> ?")
                .bind(id_to_sql(self.0.0));
        let mut processes = writer
            .read("looking for left processes", processes)
            .await?
            .iter()
            .map(|row| {
                Ok(RecordedProcess {
                    attempt: AttemptId(uuid(row, "id")?),
                    pid: get(row, "pid")?,
                    start_ticks: get::<i64>(row, "start_ticks")?.cast_unsigned(),
                    machine_boot: get(row, "machine_boot")?,
                })
            })
            .collect::<Result<Vec<_>, StoreError>>()?;
        let orphans = sqlx::query(concat!(
            "SELECT ",
            task_columns!(),
            " FROM task WHERE ",
            open_states!(),
            " AND state = 'running' AND lease_boot <> ? ORDER BY number"
        ))
        .bind(id_to_sql(self.0.0));
        let orphans = writer.read("looking for left attempts", orphans).await?;
        let mut recovered = Vec::with_capacity(orphans.len());
        for row in &orphans {
            let before = StoredTask::from_row(row)?;
            let task = transit(writer, before, &TaskEvent::EngineLost).await?;
            let process = processes.iter().position(|process| Some(process.attempt) == task.attempt).map(|at| processes.swap_remove(at));
            recovered.push(Recovered { task, process });
        }
        Ok(recovered)
    }
}

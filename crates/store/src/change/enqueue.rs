//! Adding a task.

use st_model::event::EventKind;
use st_model::id::TaskNumber;
use st_model::state::{ChangeState, TaskState};
use st_model::task::{FindingCounts, NewTask, Task};

use crate::error::StoreError;
use crate::row::{StoredTask, get, id_to_sql, number_from_sql, priority_to_sql, to_json};
use crate::writer::{Change, Durability, Writer};

/// Adds a task, unless one of its id is there.
pub(crate) struct Enqueue(pub(crate) Box<NewTask>);

impl Change for Enqueue {
    type Reply = Task;
    const DURABILITY: Durability = Durability::Power;

    async fn run(&self, writer: &mut Writer) -> Result<Task, StoreError> {
        let submitted = &*self.0;
        let at = writer.now();
        let insert = sqlx::query(
            // Not `ON CONFLICT`: that would use up a short number each time.
            "INSERT INTO task (id, submitted, state, change_state, priority, created_at) SELECT ?, ?, 'queued', ?, ?, ? \
             WHERE NOT EXISTS (SELECT 1 FROM task WHERE id = ?) RETURNING number",
        )
        .bind(id_to_sql(submitted.id.0))
        .bind(to_json("task", submitted)?)
        .bind(ChangeState::None.name())
        .bind(priority_to_sql(submitted.priority))
        .bind(at.0)
        .bind(id_to_sql(submitted.id.0));
        let rows = writer.write("adding a task", insert).await?;
        let Some(row) = rows.first() else {
            return Ok(StoredTask::load(writer, submitted.id).await?.task);
        };
        let task = Task {
            id: submitted.id,
            number: TaskNumber(number_from_sql(get(row, "number")?)),
            submitted: submitted.clone(),
            state: TaskState::Queued,
            change_state: ChangeState::None,
            priority: submitted.priority,
            attempt: None,
            attempts: 0,
            findings: FindingCounts::default(),
            covered: 0,
            created_at: at,
            pinned_at: None,
            started_at: None,
            finished_at: None,
        };
        writer.tell(&task, at, EventKind::Submitted { title: submitted.title.clone() })?;
        Ok(task)
    }
}

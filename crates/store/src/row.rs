//! Between a task and its row.

use serde::Serialize;
use serde::de::{DeserializeOwned, Error as _};
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;
use st_model::id::{AttemptId, BootId, Fence, TaskId, TaskNumber};
use st_model::retry::FailureClass;
use st_model::state::{Activity, ChangeState, LeaseRef, RestState, TaskState};
use st_model::task::{FindingCounts, NewTask, Priority, Task};
use st_model::time::Timestamp;
use uuid::Uuid;

use crate::error::StoreError;
use crate::writer::{Query, Writer};

/// The columns [`StoredTask::from_row`] reads, as a literal so that statements stay constants.
macro_rules! task_columns {
    () => {
        "number, id, submitted, state, fence, attempt, lease_number, lease_boot, activity, retry_at, failure, problem, \
         rest_after, change_state, priority, attempts, high, medium, low, info, covered, created_at, pinned_at, started_at, finished_at"
    };
}
pub(crate) use task_columns;

/// The states that `task_open` indexes; a query uses that index only with these very words.
macro_rules! open_states {
    () => {
        "state IN ('queued', 'running', 'retrying', 'rolling_back', 'needs_recovery')"
    };
}
pub(crate) use open_states;

const READING: &str = "reading a task";

/// A task with what only the store needs of its row.
#[derive(Clone, Debug)]
pub(crate) struct StoredTask {
    pub(crate) task: Task,
    /// The fencing token minted last.
    pub(crate) fence: Fence,
}

impl StoredTask {
    pub(crate) fn from_row(row: &SqliteRow) -> Result<Self, StoreError> {
        let fence = Fence(number_from_sql(get(row, "fence")?));
        let attempt = optional_uuid(row, "attempt")?.map(AttemptId);
        let task = Task {
            id: TaskId(uuid(row, "id")?),
            number: TaskNumber(number_from_sql(get(row, "number")?)),
            submitted: json::<NewTask>("task", get(row, "submitted")?)?,
            state: state(row, fence, attempt)?,
            change_state: named::<ChangeState>("change state", get(row, "change_state")?)?,
            priority: priority_from_sql(get(row, "priority")?)?,
            attempt,
            attempts: get(row, "attempts")?,
            findings: FindingCounts {
                high: get(row, "high")?,
                medium: get(row, "medium")?,
                low: get(row, "low")?,
                info: get(row, "info")?,
            },
            covered: get(row, "covered")?,
            created_at: Timestamp(get(row, "created_at")?),
            pinned_at: get::<Option<i64>>(row, "pinned_at")?.map(Timestamp),
            started_at: get::<Option<i64>>(row, "started_at")?.map(Timestamp),
            finished_at: get::<Option<i64>>(row, "finished_at")?.map(Timestamp),
        };
        Ok(Self { task, fence })
    }

    /// Reads the task with `id` in the writer's transaction.
    pub(crate) async fn load(writer: &mut Writer, id: TaskId) -> Result<Self, StoreError> {
        let select = sqlx::query(concat!("SELECT ", task_columns!(), " FROM task WHERE id = ?")).bind(id_to_sql(id.0));
        let rows = writer.read(READING, select).await?;
        rows.first().map_or(Err(StoreError::UnknownTask), Self::from_row)
    }

    /// The statement that writes everything that can change, if the row is still as `before`.
    /// It returns one row when it was.
    pub(crate) fn update(&self, before: &Self) -> Result<Query, StoreError> {
        self.bind_update(before, sqlx::query(UPDATE_TASK))
    }

    /// The same, ending the attempt `attempt` too: two rows come back.
    pub(crate) fn update_ending(&self, before: &Self, attempt: AttemptId, at: Timestamp, how: &'static str) -> Result<Query, StoreError> {
        let query = self.bind_update(before, sqlx::query(UPDATE_TASK_AND_END_ATTEMPT))?;
        Ok(query.bind(at.0).bind(how).bind(id_to_sql(attempt.0)))
    }

    /// The same, opening the attempt of `lease` too: two rows come back.
    pub(crate) fn update_starting(&self, before: &Self, lease: &LeaseRef, at: Timestamp) -> Result<Query, StoreError> {
        let query = self.bind_update(before, sqlx::query(UPDATE_TASK_AND_START_ATTEMPT))?;
        Ok(query
            .bind(id_to_sql(lease.attempt.0))
            .bind(number_to_sql(self.task.number.0))
            .bind(i64::from(lease.number))
            .bind(number_to_sql(lease.fence.0))
            .bind(id_to_sql(lease.boot.0))
            .bind(at.0))
    }

    fn bind_update(&self, before: &Self, query: Query) -> Result<Query, StoreError> {
        let task = &self.task;
        let columns = StateColumns::of(&task.state)?;
        Ok(query
            .bind(columns.state)
            .bind(number_to_sql(self.fence.0))
            .bind(task.attempt.map(|attempt| id_to_sql(attempt.0)))
            .bind(columns.lease.map(|lease| i64::from(lease.number)))
            .bind(columns.lease.map(|lease| id_to_sql(lease.boot.0)))
            .bind(columns.activity)
            .bind(columns.retry_at.map(|at| at.0))
            .bind(columns.failure)
            .bind(columns.problem)
            .bind(columns.rest_after)
            .bind(task.change_state.name())
            .bind(priority_to_sql(task.priority))
            .bind(i64::from(task.attempts))
            .bind(i64::from(task.findings.high))
            .bind(i64::from(task.findings.medium))
            .bind(i64::from(task.findings.low))
            .bind(i64::from(task.findings.info))
            .bind(i64::from(task.covered))
            .bind(task.pinned_at.map(|at| at.0))
            .bind(task.started_at.map(|at| at.0))
            .bind(task.finished_at.map(|at| at.0))
            .bind(number_to_sql(task.number.0))
            .bind(number_to_sql(before.fence.0))
            .bind(before.task.state.name()))
    }
}

macro_rules! update_task {
    () => {
        "UPDATE task SET state = ?, fence = ?, attempt = ?, lease_number = ?, lease_boot = ?, activity = ?, retry_at = ?, \
         failure = ?, problem = ?, rest_after = ?, change_state = ?, priority = ?, attempts = ?, high = ?, medium = ?, low = ?, \
         info = ?, covered = ?, pinned_at = ?, started_at = ?, finished_at = ? \
         WHERE number = ? AND fence = ? AND state = ? RETURNING number"
    };
}

const UPDATE_TASK: &str = update_task!();

const UPDATE_TASK_AND_END_ATTEMPT: &str =
    concat!(update_task!(), "; UPDATE attempt SET ended_at = ?, how = ? WHERE id = ? AND ended_at IS NULL RETURNING number");

const UPDATE_TASK_AND_START_ATTEMPT: &str =
    concat!(update_task!(), "; INSERT INTO attempt (id, task, number, fence, boot, started_at) VALUES (?, ?, ?, ?, ?, ?) RETURNING number");

/// A state as the row spells it.
struct StateColumns<'a> {
    state: &'static str,
    lease: Option<&'a LeaseRef>,
    activity: Option<String>,
    retry_at: Option<Timestamp>,
    failure: Option<String>,
    problem: Option<String>,
    rest_after: Option<String>,
}

impl<'a> StateColumns<'a> {
    fn of(state: &'a TaskState) -> Result<Self, StoreError> {
        let plain =
            Self { state: state.name(), lease: None, activity: None, retry_at: None, failure: None, problem: None, rest_after: None };
        Ok(match state {
            TaskState::Queued => plain,
            TaskState::Running { lease, activity } => Self { lease: Some(lease), activity: Some(to_json("activity", activity)?), ..plain },
            TaskState::Retrying { retry_at, class, problem } => Self {
                retry_at: Some(*retry_at),
                failure: Some(to_json("failure class", class)?.trim_matches('"').to_owned()),
                problem: Some(to_json("problem", problem)?),
                ..plain
            },
            TaskState::RollingBack { then } | TaskState::NeedsRecovery { then } => {
                Self { rest_after: Some(to_json("state of rest", then)?), ..plain }
            }
            TaskState::Resting { rest } => {
                Self { problem: rest.problem().map(|problem| to_json("problem", problem)).transpose()?, ..plain }
            }
        })
    }
}

fn state(row: &SqliteRow, fence: Fence, attempt: Option<AttemptId>) -> Result<TaskState, StoreError> {
    let problem = || json("problem", get(row, "problem")?);
    let rest_after = || json::<RestState>("state of rest", get(row, "rest_after")?);
    let name: String = get(row, "state")?;
    Ok(match name.as_str() {
        "queued" => TaskState::Queued,
        "running" => TaskState::Running {
            lease: LeaseRef {
                attempt: attempt.ok_or_else(|| unknown("lease", "a running task without an attempt"))?,
                number: get(row, "lease_number")?,
                fence,
                boot: BootId(uuid(row, "lease_boot")?),
            },
            activity: json::<Activity>("activity", get(row, "activity")?)?,
        },
        "retrying" => TaskState::Retrying {
            retry_at: Timestamp(get(row, "retry_at")?),
            class: named::<FailureClass>("failure class", get(row, "failure")?)?,
            problem: problem()?,
        },
        "rolling_back" => TaskState::RollingBack { then: rest_after()? },
        "needs_recovery" => TaskState::NeedsRecovery { then: rest_after()? },
        "done" => TaskState::Resting { rest: RestState::Done },
        "partial" => TaskState::Resting { rest: RestState::Partial { problem: problem()? } },
        "failed" => TaskState::Resting { rest: RestState::Failed { problem: problem()? } },
        "cancelled" => TaskState::Resting { rest: RestState::Cancelled },
        other => return Err(unknown("state", other)),
    })
}

pub(crate) fn priority_to_sql(priority: Priority) -> i64 {
    match priority {
        Priority::Low => 0,
        Priority::Normal => 1,
        Priority::High => 2,
    }
}

fn priority_from_sql(value: i64) -> Result<Priority, StoreError> {
    match value {
        0 => Ok(Priority::Low),
        1 => Ok(Priority::Normal),
        2 => Ok(Priority::High),
        other => Err(unknown("priority", &other.to_string())),
    }
}

/// Our numbers are unsigned and the database's are not; what does not fit stays at the far end,
/// where no row is.
pub(crate) fn number_to_sql(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn number_from_sql(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

pub(crate) fn id_to_sql(id: Uuid) -> Vec<u8> {
    id.as_bytes().to_vec()
}

pub(crate) fn get<'r, T>(row: &'r SqliteRow, column: &str) -> Result<T, StoreError>
where
    T: sqlx::Decode<'r, sqlx::Sqlite> + sqlx::Type<sqlx::Sqlite>,
{
    row.try_get(column).map_err(StoreError::sql(READING))
}

pub(crate) fn uuid(row: &SqliteRow, column: &str) -> Result<Uuid, StoreError> {
    optional_uuid(row, column)?.ok_or_else(|| unknown("id", "nothing"))
}

pub(crate) fn optional_uuid(row: &SqliteRow, column: &str) -> Result<Option<Uuid>, StoreError> {
    let bytes: Option<&[u8]> = get(row, column)?;
    bytes.map(|bytes| Uuid::from_slice(bytes).map_err(|error| unknown("id", &error.to_string()))).transpose()
}

pub(crate) fn to_json<T: Serialize>(what: &'static str, value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(StoreError::not_storable(what))
}

pub(crate) fn json<T: DeserializeOwned>(what: &'static str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(StoreError::corrupt(what))
}

/// Reads an enum without data from its bare name.
fn named<T: DeserializeOwned>(what: &'static str, name: &str) -> Result<T, StoreError> {
    T::deserialize(serde::de::value::StrDeserializer::<serde_json::Error>::new(name)).map_err(StoreError::corrupt(what))
}

fn unknown(what: &'static str, found: &str) -> StoreError {
    StoreError::Corrupt { what, source: serde_json::Error::custom(format!("unexpected `{found}`")) }
}

//! What the readers answer. Each is one short statement.

use sqlx::sqlite::{SqlitePool, SqliteRow};
use st_model::coverage::CoverageEntry;
use st_model::event::{Event, EventKind};
use st_model::finding::Finding;
use st_model::id::{AttemptId, EventSeq, TaskId, TaskNumber, TaskRef};
use st_model::task::Task;
use st_model::time::Timestamp;

use crate::error::StoreError;
use crate::lease::AttemptRow;
use crate::row::{StoredTask, get, id_to_sql, json, number_from_sql, number_to_sql, open_states, task_columns, to_json, uuid};
use crate::store::{CoverageCount, TaskFilter};
use crate::writer::Query;

async fn rows(readers: &SqlitePool, doing: &'static str, query: Query) -> Result<Vec<SqliteRow>, StoreError> {
    query.fetch_all(readers).await.map_err(StoreError::sql(doing))
}

pub(crate) async fn task(readers: &SqlitePool, task: TaskRef) -> Result<Task, StoreError> {
    let query = match task {
        TaskRef::Number(number) => {
            sqlx::query(concat!("SELECT ", task_columns!(), " FROM task WHERE number = ?")).bind(number_to_sql(number.0))
        }
        TaskRef::Id(id) => sqlx::query(concat!("SELECT ", task_columns!(), " FROM task WHERE id = ?")).bind(id_to_sql(id.0)),
    };
    let rows = rows(readers, "reading a task", query).await?;
    rows.first().map_or(Err(StoreError::UnknownTask), |row| Ok(StoredTask::from_row(row)?.task))
}

pub(crate) async fn tasks(readers: &SqlitePool, filter: &TaskFilter) -> Result<Vec<Task>, StoreError> {
    let limit = filter.limit.map_or(-1, i64::from);
    let query = if filter.states.is_empty() {
        sqlx::query(concat!("SELECT ", task_columns!(), " FROM task ORDER BY number DESC LIMIT ?")).bind(limit)
    } else {
        sqlx::query(concat!(
            "SELECT ",
            task_columns!(),
            " FROM task WHERE state IN (SELECT value FROM json_each(?)) ORDER BY number DESC LIMIT ?"
        ))
        .bind(to_json("state", &filter.states)?)
        .bind(limit)
    };
    rows(readers, "listing tasks", query).await?.iter().map(|row| Ok(StoredTask::from_row(row)?.task)).collect()
}

pub(crate) async fn open_tasks(readers: &SqlitePool) -> Result<Vec<Task>, StoreError> {
    let query = sqlx::query(concat!("SELECT ", task_columns!(), " FROM task WHERE ", open_states!(), " ORDER BY number"));
    rows(readers, "listing open tasks", query).await?.iter().map(|row| Ok(StoredTask::from_row(row)?.task)).collect()
}

pub(crate) async fn events(readers: &SqlitePool, since: EventSeq, task: Option<TaskId>, limit: u32) -> Result<Vec<Event>, StoreError> {
    let since = number_to_sql(since.0);
    let query = match task {
        None => sqlx::query(
            "SELECT e.seq, t.id, t.number, e.at, e.body FROM event AS e JOIN task AS t ON t.number = e.task \
             WHERE e.seq > ? ORDER BY e.seq LIMIT ?",
        )
        .bind(since)
        .bind(i64::from(limit)),
        Some(id) => sqlx::query(
            "SELECT e.seq, t.id, t.number, e.at, e.body FROM event AS e JOIN task AS t ON t.number = e.task \
             WHERE e.task = (SELECT number FROM task WHERE id = ?) AND e.seq > ? ORDER BY e.seq LIMIT ?",
        )
        .bind(id_to_sql(id.0))
        .bind(since)
        .bind(i64::from(limit)),
    };
    let rows = rows(readers, "reading events", query).await?;
    rows.iter()
        .map(|row| {
            Ok(Event {
                seq: EventSeq(number_from_sql(get(row, "seq")?)),
                task: TaskId(uuid(row, "id")?),
                number: TaskNumber(number_from_sql(get(row, "number")?)),
                at: Timestamp(get(row, "at")?),
                kind: json::<EventKind>("event", get(row, "body")?)?,
            })
        })
        .collect()
}

pub(crate) async fn last_seq(readers: &SqlitePool) -> Result<EventSeq, StoreError> {
    let query = sqlx::query("SELECT coalesce(max(seq), 0) AS seq FROM sqlite_sequence WHERE name = 'event'");
    let rows = rows(readers, "reading events", query).await?;
    rows.first().map_or(Ok(EventSeq(0)), |row| Ok(EventSeq(number_from_sql(get(row, "seq")?))))
}

pub(crate) async fn attempts(readers: &SqlitePool, task: TaskId) -> Result<Vec<AttemptRow>, StoreError> {
    let query = sqlx::query(
        "SELECT a.number, a.id, a.started_at, a.ended_at, a.how FROM attempt AS a JOIN task AS t ON t.number = a.task \
         WHERE t.id = ? ORDER BY a.fence",
    )
    .bind(id_to_sql(task.0));
    let rows = rows(readers, "reading attempts", query).await?;
    some_or_known(readers, task, &rows).await?;
    rows.iter()
        .map(|row| {
            Ok(AttemptRow {
                number: get(row, "number")?,
                id: AttemptId(uuid(row, "id")?),
                started_at: Timestamp(get(row, "started_at")?),
                ended_at: get::<Option<i64>>(row, "ended_at")?.map(Timestamp),
                how: get(row, "how")?,
            })
        })
        .collect()
}

pub(crate) async fn findings(readers: &SqlitePool, task: TaskId) -> Result<Vec<Finding>, StoreError> {
    let query = sqlx::query("SELECT f.body FROM finding AS f JOIN task AS t ON t.number = f.task WHERE t.id = ? ORDER BY f.id")
        .bind(id_to_sql(task.0));
    let rows = rows(readers, "reading findings", query).await?;
    some_or_known(readers, task, &rows).await?;
    rows.iter().map(|row| json("finding", get(row, "body")?)).collect()
}

pub(crate) async fn coverage(readers: &SqlitePool, task: TaskId) -> Result<Vec<CoverageEntry>, StoreError> {
    let query = sqlx::query("SELECT c.body FROM coverage AS c JOIN task AS t ON t.number = c.task WHERE t.id = ? ORDER BY c.path")
        .bind(id_to_sql(task.0));
    let rows = rows(readers, "reading the coverage ledger", query).await?;
    some_or_known(readers, task, &rows).await?;
    rows.iter().map(|row| json("coverage line", get(row, "body")?)).collect()
}

pub(crate) async fn coverage_counts(readers: &SqlitePool, tasks: &[TaskNumber]) -> Result<Vec<CoverageCount>, StoreError> {
    // Only a skipped file's reason is one of a few; the texts of the others are not told apart.
    let query = sqlx::query(
        "SELECT task, iif(status = 'skipped', json_object('status', status, 'reason', reason), \
         iif(status = 'reviewed', json_object('status', status), json_object('status', status, 'reason', ''))) AS kind, count(*) AS files \
         FROM (SELECT task, json_extract(body, '$.status') AS status, json_extract(body, '$.reason') AS reason FROM coverage \
         WHERE task IN (SELECT value FROM json_each(?))) GROUP BY task, kind",
    )
    .bind(json_numbers(tasks));
    let rows = rows(readers, "counting the coverage ledgers", query).await?;
    rows.iter()
        .map(|row| {
            Ok(CoverageCount {
                task: TaskNumber(number_from_sql(get(row, "task")?)),
                status: json("coverage line", get(row, "kind")?)?,
                files: get(row, "files")?,
            })
        })
        .collect()
}

fn json_numbers(tasks: &[TaskNumber]) -> String {
    let numbers: Vec<String> = tasks.iter().map(ToString::to_string).collect();
    format!("[{}]", numbers.join(","))
}

/// An empty answer about a task that does not exist would read as "nothing was found".
async fn some_or_known(readers: &SqlitePool, id: TaskId, found: &[SqliteRow]) -> Result<(), StoreError> {
    if found.is_empty() {
        let query = sqlx::query("SELECT number FROM task WHERE id = ?").bind(id_to_sql(id.0));
        if rows(readers, "looking for a task", query).await?.is_empty() {
            return Err(StoreError::UnknownTask);
        }
    }
    Ok(())
}

pub(crate) async fn setting(readers: &SqlitePool, key: &str) -> Result<Option<String>, StoreError> {
    let query = sqlx::query("SELECT value FROM setting WHERE key = ?").bind(key.to_owned());
    rows(readers, "reading a setting", query).await?.first().map(|row| get(row, "value")).transpose()
}

pub(crate) async fn settings(readers: &SqlitePool) -> Result<Vec<(String, String)>, StoreError> {
    let query = sqlx::query("SELECT key, value FROM setting ORDER BY key");
    rows(readers, "reading settings", query).await?.iter().map(|row| Ok((get(row, "key")?, get(row, "value")?))).collect()
}

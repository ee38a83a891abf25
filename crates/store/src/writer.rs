//! The writer: one task that owns the only writing connection and commits changes in groups.
//!
//! Changes that arrive while a commit is under way share the next one, so that thirty writers
//! cost about as many disk flushes as one. A change that is refused (a lost lease, an illegal
//! event) has written nothing and does not disturb its neighbours. A group in which a change
//! failed after it wrote, or whose commit failed, is rolled back whole and its changes are run
//! again one to a transaction, so that only the change at fault fails.
//!
//! The database futures are never raced against anything: a future of the driver that is
//! dropped halfway would leave the connection in the middle of a statement.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Connection as _, Row as _, Sqlite, SqliteConnection};
use st_model::event::{Event, EventKind};
use st_model::id::EventSeq;
use st_model::port::{Clock, Random};
use st_model::task::Task;
use st_model::time::Timestamp;
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use crate::error::StoreError;
use crate::row::number_from_sql;

/// Changes that may wait for the writer, 1,024: far more than the callers an engine has, so a
/// full queue means a stuck disk, and then callers wait instead of piling up memory.
pub(crate) const INBOX: usize = 1024;

/// Changes in one commit, at most: bounds how long the first of a group waits for the last.
const GROUP: usize = 256;

/// Events a subscriber may fall behind before it has to read the gap from the log, 4,096:
/// the largest burst of one commit (a group of findings) several times over.
pub(crate) const BACKLOG: usize = 4096;

/// Whether a commit must outlive a loss of power, or only a crash of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Durability {
    /// Outlives a crash; the newest may be missing after a power loss, never a part of one.
    Process,
    /// On stable storage before the reply.
    Power,
}

/// A prepared statement (or several, run in one go) with its arguments.
pub(crate) type Query = sqlx::query::Query<'static, Sqlite, SqliteArguments>;

/// One change to the database, as an object that can be run more than once.
pub(crate) trait Change: Send + Sync + 'static {
    /// What its caller is told.
    type Reply: Send + 'static;
    /// How durable the reply is.
    const DURABILITY: Durability;
    /// Makes the change inside the writer's open transaction. May be run again from the start
    /// after that transaction was rolled back.
    fn run(&self, writer: &mut Writer) -> impl Future<Output = Result<Self::Reply, StoreError>> + Send;
}

/// What the writer is sent.
pub(crate) enum Message {
    /// A change to make.
    Work(Box<dyn Job>),
    /// Take nothing more, finish, end.
    Close,
}

/// A change with its caller, whatever its types.
pub(crate) trait Job: Send {
    fn durability(&self) -> Durability;
    /// Runs the change and keeps its outcome; says whether it succeeded, and if not, how the
    /// group stands.
    fn run<'a>(&'a mut self, writer: &'a mut Writer) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>;
    /// Tells the caller the outcome kept.
    fn answer(self: Box<Self>);
    /// Tells the caller that the transaction failed around the change.
    fn fail(self: Box<Self>, error: StoreError);
}

/// How one change left the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is made, or it was refused before it wrote: the transaction is whole.
    Whole,
    /// It failed and may have left half of itself in the transaction.
    Broken,
}

struct Asked<C: Change> {
    change: C,
    reply: oneshot::Sender<Result<C::Reply, StoreError>>,
    outcome: Option<Result<C::Reply, StoreError>>,
}

impl<C: Change> Job for Asked<C> {
    fn durability(&self) -> Durability {
        C::DURABILITY
    }

    fn run<'a>(&'a mut self, writer: &'a mut Writer) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(async move {
            writer.wrote = false;
            let told = writer.events.len();
            let outcome = self.change.run(writer).await;
            let verdict = match &outcome {
                Ok(_) => Verdict::Whole,
                Err(error) if writer.wrote || error.shared().is_some() => Verdict::Broken,
                Err(_) => Verdict::Whole,
            };
            if outcome.is_err() {
                writer.events.truncate(told);
            }
            self.outcome = Some(outcome);
            verdict
        })
    }

    fn answer(self: Box<Self>) {
        let outcome = self.outcome.unwrap_or(Err(StoreError::Closed));
        // A caller that went away is told nothing; its change is in the log all the same.
        let _ = self.reply.send(outcome);
    }

    fn fail(self: Box<Self>, error: StoreError) {
        // The change's own error says more than the rollback that followed it.
        let outcome = match self.outcome {
            Some(Err(own)) => own,
            Some(Ok(_)) | None => error,
        };
        let _ = self.reply.send(Err(outcome));
    }
}

/// Where changes are handed in, with the means to wait for the writer's end.
#[derive(Clone, Debug)]
pub(crate) struct WriterHandle {
    inbox: mpsc::Sender<Message>,
    ended: watch::Receiver<bool>,
}

impl WriterHandle {
    /// Has `change` made; answers once it is committed.
    pub(crate) async fn make<C: Change>(&self, change: C) -> Result<C::Reply, StoreError> {
        let (reply, answer) = oneshot::channel();
        let job = Asked { change, reply, outcome: None };
        self.inbox.send(Message::Work(Box::new(job))).await.map_err(|_| StoreError::Closed)?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Ends the writer after everything handed in so far; returns when the file is closed.
    pub(crate) async fn close(&self) {
        // An error means that it is ending already: then only the wait is left.
        let _ = self.inbox.send(Message::Close).await;
        let mut ended = self.ended.clone();
        let _ = ended.wait_for(|ended| *ended).await;
    }
}

/// The writing connection and the transaction that is open on it.
pub(crate) struct Writer {
    connection: SqliteConnection,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    subscribers: broadcast::Sender<Arc<Event>>,
    /// Level the connection is at.
    level: Option<Durability>,
    /// Whether the running change has sent a statement that writes.
    wrote: bool,
    /// Number of the newest event before this transaction.
    last_seq: u64,
    /// Events of this transaction with their stored form; written just before the commit, told after it.
    events: Vec<(Event, String)>,
}

impl Writer {
    /// Starts the writer on `connection`.
    pub(crate) fn start(
        connection: SqliteConnection,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
        subscribers: broadcast::Sender<Arc<Event>>,
    ) -> WriterHandle {
        let (inbox, work) = mpsc::channel(INBOX);
        let (end, ended) = watch::channel(false);
        let writer = Self { connection, clock, random, subscribers, level: None, wrote: false, last_seq: 0, events: Vec::new() };
        tokio::spawn(writer.serve(work, end));
        WriterHandle { inbox, ended }
    }

    async fn serve(mut self, mut work: mpsc::Receiver<Message>, end: watch::Sender<bool>) {
        let mut messages = Vec::with_capacity(GROUP);
        while work.recv_many(&mut messages, GROUP).await > 0 {
            let mut jobs = Vec::with_capacity(messages.len());
            for message in messages.drain(..) {
                match message {
                    Message::Work(job) => jobs.push(job),
                    Message::Close => work.close(),
                }
            }
            self.commit(jobs).await;
        }
        if let Err(error) = sqlx::raw_sql("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut self.connection).await {
            tracing::warn!(%error, "the write-ahead log could not be truncated; the next start reads it");
        }
        if let Err(error) = self.connection.close().await {
            tracing::warn!(%error, "the database did not close cleanly; the next start recovers it");
        }
        let _ = end.send(true);
    }

    /// Makes a group of changes and answers each.
    async fn commit(&mut self, mut jobs: Vec<Box<dyn Job>>) {
        if jobs.is_empty() {
            return;
        }
        match self.transact(&mut jobs).await {
            Ok(()) => self.announce(jobs),
            // A database that can't begin is not asked again for each: every try may wait its whole timeout.
            Err(Failure::Begin(error)) => refuse(jobs, Some(&error)),
            Err(Failure::Change | Failure::Commit(_)) if jobs.len() > 1 => {
                for job in jobs {
                    self.commit_alone(job).await;
                }
            }
            Err(Failure::Change) => refuse(jobs, None),
            Err(Failure::Commit(error)) => refuse(jobs, Some(&error)),
        }
    }

    async fn commit_alone(&mut self, job: Box<dyn Job>) {
        let mut alone = vec![job];
        match self.transact(&mut alone).await {
            Ok(()) => self.announce(alone),
            Err(Failure::Change) => refuse(alone, None),
            Err(Failure::Begin(error) | Failure::Commit(error)) => refuse(alone, Some(&error)),
        }
    }

    /// Runs the changes in one transaction. On failure nothing of them is left.
    async fn transact(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<(), Failure> {
        self.events.clear();
        let durability = jobs.iter().map(|job| job.durability()).max().unwrap_or(Durability::Power);
        self.begin(durability).await.map_err(Failure::Begin)?;
        for job in jobs.iter_mut() {
            match job.run(self).await {
                Verdict::Whole => {}
                Verdict::Broken => {
                    self.roll_back().await;
                    return Err(Failure::Change);
                }
            }
        }
        match self.end_transaction().await {
            Ok(()) => Ok(()),
            Err(error) => {
                self.roll_back().await;
                Err(Failure::Commit(error))
            }
        }
    }

    async fn begin(&mut self, durability: Durability) -> Result<(), StoreError> {
        let doing = "beginning a transaction";
        if self.level != Some(durability) {
            // Not cached: this pragma acts when it is compiled, and only outside a transaction.
            let pragma = match durability {
                Durability::Process => "PRAGMA synchronous = NORMAL",
                Durability::Power => "PRAGMA synchronous = FULL",
            };
            sqlx::raw_sql(pragma).execute(&mut self.connection).await.map_err(StoreError::sql(doing))?;
            self.level = Some(durability);
        }
        let begin = "BEGIN IMMEDIATE; SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'event'";
        let row = sqlx::query(begin).fetch_all(&mut self.connection).await.map_err(StoreError::sql(doing));
        let last = row.and_then(|rows| match rows.first() {
            Some(row) => row.try_get::<i64, _>(0).map_err(StoreError::sql(doing)),
            None => Ok(0),
        });
        match last {
            Ok(seq) => {
                self.last_seq = number_from_sql(seq);
                Ok(())
            }
            Err(error) => {
                self.roll_back().await;
                Err(error)
            }
        }
    }

    async fn end_transaction(&mut self) -> Result<(), StoreError> {
        let doing = "committing";
        if self.events.is_empty() {
            sqlx::query("COMMIT").execute(&mut self.connection).await.map_err(StoreError::sql(doing))?;
            return Ok(());
        }
        let rows: Vec<_> = self.events.iter().map(|(event, body)| (event.seq.0, event.number.0, event.at.0, body)).collect();
        let rows = serde_json::to_string(&rows).map_err(StoreError::not_storable("event"))?;
        // One statement whatever the number of events; the inner `->>` gives back each body's exact text.
        let statement = "INSERT INTO event (seq, task, at, body) \
             SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(?) ORDER BY key; \
             COMMIT";
        sqlx::query(statement).bind(rows).execute(&mut self.connection).await.map_err(StoreError::sql(doing))?;
        Ok(())
    }

    /// Gives the transaction up. After some failures the database has done so by itself, and says so.
    async fn roll_back(&mut self) {
        self.events.clear();
        if let Err(error) = sqlx::query("ROLLBACK").execute(&mut self.connection).await {
            tracing::debug!(%error, "no transaction was left to roll back");
        }
    }

    /// After the commit: subscribers first, so that a caller with its answer knows them told.
    fn announce(&mut self, jobs: Vec<Box<dyn Job>>) {
        for (event, _) in self.events.drain(..) {
            // An error only means that nobody listens.
            let _ = self.subscribers.send(Arc::new(event));
        }
        for job in jobs {
            job.answer();
        }
    }

    /// Time of the store.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A fresh id.
    pub(crate) fn fresh_id(&self) -> uuid::Uuid {
        self.random.uuid()
    }

    /// Adds an event to the transaction.
    pub(crate) fn tell(&mut self, task: &Task, at: Timestamp, kind: EventKind) -> Result<(), StoreError> {
        let body = serde_json::to_string(&kind).map_err(StoreError::not_storable("event"))?;
        let position = u64::try_from(self.events.len()).unwrap_or(u64::MAX);
        let seq = EventSeq(self.last_seq.saturating_add(position).saturating_add(1));
        self.events.push((Event { seq, task: task.id, number: task.number, at, kind }, body));
        Ok(())
    }

    /// Runs a statement that only reads.
    pub(crate) async fn read(&mut self, doing: &'static str, query: Query) -> Result<Vec<SqliteRow>, StoreError> {
        query.fetch_all(&mut self.connection).await.map_err(StoreError::sql(doing))
    }

    /// Runs a statement that writes; answers with what its `RETURNING` gave.
    pub(crate) async fn write(&mut self, doing: &'static str, query: Query) -> Result<Vec<SqliteRow>, StoreError> {
        self.wrote = true;
        query.fetch_all(&mut self.connection).await.map_err(StoreError::sql(doing))
    }
}

/// Why a transaction failed.
enum Failure {
    /// It did not begin.
    Begin(StoreError),
    /// A change failed after it wrote; the change keeps its own error.
    Change,
    /// It did not commit.
    Commit(StoreError),
}

/// Tells changes that nothing of them was kept: each its own error, or the transaction's.
fn refuse(jobs: Vec<Box<dyn Job>>, error: Option<&StoreError>) {
    for job in jobs {
        job.fail(error.and_then(StoreError::shared).unwrap_or(StoreError::Closed));
    }
}

#[cfg(test)]
mod tests;

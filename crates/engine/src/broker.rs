//! What a worker says, checked and recorded.
//!
//! A worker is not trusted: a line that is too long or makes no sense is refused and logged, a
//! flood is held back by reading no faster than the store commits, and what has no end has a limit.

use std::collections::VecDeque;
use std::future::Future;
use std::time::Duration;

use st_model::broker::{BrokerMessage, BrokerRefusal, LogLevel, MAX_LINE_BYTES, WorkerEnd};
use st_model::event::Progress;
use st_model::id::TaskId;
use st_model::problem::{ErrorCode, Problem};
use st_store::{Lease, Record, StoreError};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::OwnedWriteHalf;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::broadcast;
use tokio::time::Instant;
use tokio_util::bytes::BytesMut;
use tokio_util::codec::{AnyDelimiterCodec, AnyDelimiterCodecError, Decoder as _};
use tokio_util::sync::CancellationToken;

use crate::engine::Tick;
use crate::log::AttemptLog;
use crate::registry::Running;

/// Facts are committed together when there are so many, …
const BATCH: usize = 64;
/// … or when the first of them has waited so long.
const BATCH_WAIT: Duration = Duration::from_millis(30);
/// Time between two ticks of one attempt; the newest wins.
const TICK_EVERY: Duration = Duration::from_millis(50);
/// Findings kept of one attempt.
const MAX_FINDINGS: u64 = 20_000;
/// Ledger lines kept of one attempt.
const MAX_COVERED: u64 = 250_000;
/// Refusals that are logged one by one; the rest is counted.
const LOGGED_REFUSALS: u64 = 20;
/// Lines that are no messages, after which a worker is not listened to any more.
const MAX_MALFORMED: u64 = 1_000;

/// Where facts go: the attempt's lease.
pub(crate) trait Recorder: Sync {
    fn record(&self, records: Vec<Record>) -> impl Future<Output = Result<(), StoreError>> + Send;
}

impl Recorder for Lease {
    fn record(&self, records: Vec<Record>) -> impl Future<Output = Result<(), StoreError>> + Send {
        Self::record(self, records)
    }
}

/// Why a worker is not listened to any more.
#[derive(Debug)]
pub(crate) enum Fault {
    /// Its facts can't be recorded.
    Store(StoreError),
    /// It said so many lines that are no messages.
    Nonsense(u64),
}

/// All a worker said.
#[derive(Debug)]
pub(crate) struct Spoken {
    /// How it said the attempt ended, if it did.
    pub(crate) ended: Option<WorkerEnd>,
    /// Kept open until the worker has gone: it takes a closed connection for the engine's death.
    _connection: Option<OwnedWriteHalf>,
}

/// The engine's end of one attempt's broker.
pub(crate) struct Broker<'a, R> {
    pub(crate) task: TaskId,
    pub(crate) recorder: &'a R,
    pub(crate) log: &'a mut AttemptLog,
    pub(crate) running: &'a Running,
    pub(crate) ticks: &'a broadcast::Sender<Tick>,
}

impl<R: Recorder> Broker<'_, R> {
    /// Listens until the worker has said how it ended, or `gone` says that no process is left
    /// and nothing unread remains.
    /// `overdue` cuts short a connection that something keeps open though no process is left.
    pub(crate) async fn serve(self, listener: UnixListener, gone: CancellationToken, overdue: CancellationToken) -> Result<Spoken, Fault> {
        let mut door = Door { listener: Some(listener), waiting: VecDeque::new(), gone };
        let mut talk = Talk {
            broker: self,
            pending: Vec::new(),
            commit_at: None,
            ticked: None,
            tick_at: None,
            counts: Counts::default(),
            ended: None,
            overdue,
        };
        while let Some(stream) = door.next().await {
            let connection = talk.converse(stream).await?;
            if talk.ended.is_some() {
                return Ok(talk.close(Some(connection)));
            }
        }
        Ok(talk.close(None))
    }
}

/// Where connections come in.
struct Door {
    /// Gone once the worker is.
    listener: Option<UnixListener>,
    /// Connections made before the worker went.
    waiting: VecDeque<UnixStream>,
    gone: CancellationToken,
}

impl Door {
    /// The next connection of our own user; `None` once the worker is gone and none is left.
    async fn next(&mut self) -> Option<UnixStream> {
        loop {
            let stream = match (self.waiting.pop_front(), &self.listener) {
                (Some(stream), _) => stream,
                (None, None) => return None,
                (None, Some(listener)) => tokio::select! {
                    biased;
                    accepted = listener.accept() => match accepted {
                        Ok((stream, _)) => stream,
                        Err(error) => {
                            tracing::warn!(%error, "failed to take a broker's connection");
                            self.gone.cancelled().await;
                            continue;
                        }
                    },
                    () = self.gone.cancelled() => {
                        self.take_rest();
                        continue;
                    }
                },
            };
            // Only our own processes are let in; the folder's rights say the same.
            if stream.peer_cred().is_ok_and(|peer| peer.uid() == rustix::process::geteuid().as_raw()) {
                return Some(stream);
            }
            tracing::warn!("another user's process knocked at a broker and was sent away");
        }
    }

    /// The worker is gone, and may have connected, spoken and ended since the runtime last
    /// looked: what is in the queue now is all that will ever be.
    fn take_rest(&mut self) {
        let Some(Ok(listener)) = self.listener.take().map(UnixListener::into_std) else { return };
        while let Ok((stream, _)) = listener.accept() {
            if let Ok(stream) = stream.set_nonblocking(true).and_then(|()| UnixStream::from_std(stream)) {
                self.waiting.push_back(stream);
            }
        }
    }
}

#[derive(Debug, Default)]
struct Counts {
    findings: u64,
    covered: u64,
    /// Facts beyond the limits.
    dropped: u64,
    /// Lines that are no messages.
    malformed: u64,
}

/// The conversation with one attempt's worker.
struct Talk<'a, R> {
    broker: Broker<'a, R>,
    pending: Vec<Record>,
    /// When what is pending must be committed.
    commit_at: Option<Instant>,
    /// When the last tick was sent.
    ticked: Option<Instant>,
    /// When the tick that is held back must be sent.
    tick_at: Option<Instant>,
    counts: Counts,
    ended: Option<WorkerEnd>,
    overdue: CancellationToken,
}

impl<R: Recorder> Talk<'_, R> {
    /// Reads one connection until its end or the worker's last word.
    async fn converse(&mut self, stream: UnixStream) -> Result<OwnedWriteHalf, Fault> {
        let (mut from, answers) = stream.into_split();
        let mut lines = AnyDelimiterCodec::new_with_max_length(b"\n".to_vec(), Vec::new(), MAX_LINE_BYTES);
        let mut buffer = BytesMut::with_capacity(16 << 10);
        loop {
            let due = [self.commit_at, self.tick_at].into_iter().flatten().min();
            let read = tokio::select! {
                read = from.read_buf(&mut buffer) => Some(read),
                () = until(due) => None,
                () = self.overdue.cancelled() => Some(Ok(0)),
            };
            // A worker that is killed may reset the connection: as good as its end.
            let at_end = matches!(read, Some(Ok(0) | Err(_)));
            loop {
                match lines.decode(&mut buffer) {
                    Ok(Some(line)) => self.hear(&line, &answers).await?,
                    Ok(None) => break,
                    Err(AnyDelimiterCodecError::MaxChunkLengthExceeded) => {
                        self.refuse_malformed(format!("a line is longer than {MAX_LINE_BYTES} bytes"), &answers)?;
                    }
                    Err(AnyDelimiterCodecError::Io(_)) => break,
                }
                if self.ended.is_some() {
                    break;
                }
            }
            if at_end || self.ended.is_some() {
                self.commit().await?;
                self.send_tick();
                return Ok(answers);
            }
            let now = Instant::now();
            if self.commit_at.is_some_and(|at| at <= now) {
                self.commit().await?;
            }
            if self.tick_at.is_some_and(|at| at <= now) {
                self.send_tick();
            }
        }
    }

    async fn hear(&mut self, line: &[u8], answers: &OwnedWriteHalf) -> Result<(), Fault> {
        let message = match serde_json::from_slice(line) {
            Ok(message) => message,
            Err(error) => return self.refuse_malformed(format!("a line is no message: {error}"), answers),
        };
        match message {
            BrokerMessage::Progress { progress } => {
                self.progress(progress);
                Ok(())
            }
            BrokerMessage::Log { level, text } => {
                self.broker.log.add(level, &text);
                Ok(())
            }
            BrokerMessage::Finding { finding } => {
                if self.counts.findings >= MAX_FINDINGS {
                    self.refuse_more(&format!("more than {MAX_FINDINGS} findings"), answers);
                    return Ok(());
                }
                self.counts.findings += 1;
                self.keep(Record::Finding(finding)).await
            }
            BrokerMessage::Covered { entry } => {
                if self.counts.covered >= MAX_COVERED {
                    self.refuse_more(&format!("more than {MAX_COVERED} lines of the coverage ledger"), answers);
                    return Ok(());
                }
                self.counts.covered += 1;
                self.keep(Record::Covered(entry)).await
            }
            BrokerMessage::Ended { ended } => {
                self.ended = Some(ended);
                Ok(())
            }
        }
    }

    async fn keep(&mut self, record: Record) -> Result<(), Fault> {
        self.pending.push(record);
        if self.pending.len() >= BATCH {
            return self.commit().await;
        }
        self.commit_at.get_or_insert_with(|| Instant::now() + BATCH_WAIT);
        Ok(())
    }

    /// Commits what is pending. Nothing is read meanwhile: that is what holds a flood back.
    async fn commit(&mut self) -> Result<(), Fault> {
        self.commit_at = None;
        if self.pending.is_empty() {
            return Ok(());
        }
        self.broker.recorder.record(std::mem::take(&mut self.pending)).await.map_err(Fault::Store)
    }

    fn progress(&mut self, progress: Progress) {
        self.broker.running.set_progress(progress);
        let now = Instant::now();
        match self.ticked {
            Some(last) if last + TICK_EVERY > now => self.tick_at = Some(last + TICK_EVERY),
            Some(_) | None => {
                self.tick_at = Some(now);
                self.send_tick();
            }
        }
    }

    /// Sends the tick that is held back, if one is.
    fn send_tick(&mut self) {
        if self.tick_at.take().is_some()
            && let Some(progress) = self.broker.running.progress()
        {
            self.ticked = Some(Instant::now());
            // Nobody has to listen.
            let _ = self.broker.ticks.send(Tick { task: self.broker.task, progress });
        }
    }

    fn refuse_malformed(&mut self, why: String, answers: &OwnedWriteHalf) -> Result<(), Fault> {
        self.counts.malformed += 1;
        if self.counts.malformed > MAX_MALFORMED {
            return Err(Fault::Nonsense(self.counts.malformed));
        }
        if self.counts.malformed <= LOGGED_REFUSALS {
            self.broker.log.add(LogLevel::Warn, &format!("refused: {why}"));
            answer(ErrorCode::Usage, why, answers);
        }
        Ok(())
    }

    fn refuse_more(&mut self, why: &str, answers: &OwnedWriteHalf) {
        self.counts.dropped += 1;
        if self.counts.dropped == 1 {
            self.broker.log.add(LogLevel::Warn, &format!("refused: {why}; what follows is counted and not kept"));
            answer(ErrorCode::TooLarge, why.to_owned(), answers);
        }
    }

    fn close(self, connection: Option<OwnedWriteHalf>) -> Spoken {
        let Counts { dropped, malformed, .. } = self.counts;
        if malformed > LOGGED_REFUSALS {
            self.broker.log.add(LogLevel::Warn, &format!("refused {} more lines that are no messages", malformed - LOGGED_REFUSALS));
        }
        let ended = match self.ended {
            Some(WorkerEnd::Done) if dropped > 0 => Some(WorkerEnd::Partial { problem: over_limit(dropped) }),
            ended => ended,
        };
        Spoken { ended, _connection: connection }
    }
}

/// Waits until `due`, for ever when there is none.
async fn until(due: Option<Instant>) {
    match due {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn over_limit(dropped: u64) -> Problem {
    Problem::no_change(
        ErrorCode::TooLarge,
        format!(
            "the review made more results than are kept: {dropped} beyond the limits of {MAX_FINDINGS} findings and {MAX_COVERED} files"
        ),
        "Review a smaller change.",
    )
}

/// Tells the worker why a line was not taken. Best effort: a worker that does not read its
/// answers must not hold us up.
fn answer(code: ErrorCode, why: String, answers: &OwnedWriteHalf) {
    let refusal = BrokerRefusal { refused: Problem::no_change(code, why, "Send messages as the broker's protocol says.") };
    if let Ok(mut line) = serde_json::to_vec(&refusal) {
        line.push(b'\n');
        // A short line into an empty buffer goes whole or not at all.
        let _ = answers.try_write(&line);
    }
}

#[cfg(test)]
mod tests;

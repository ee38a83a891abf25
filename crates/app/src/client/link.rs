//! One connection to an engine: the greeting, then replies matched to requests by their id.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::BufReader;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::Version;
use crate::dto::UpdateDto;
use crate::problems::internal;
use crate::protocol::{Call, Hello, MAX_LINE_BYTES, Reply, Request, Response, Welcome};
use crate::wire::{Line, encode, read_line, write_line};
use crate::{ErrorCode, Problem, socket};

/// Longest wait for the engine's first line. It needs no disk for that; a machine under heavy
/// load is given this much.
const WELCOME_TIMEOUT: Duration = Duration::from_secs(10);

/// Lines that wait to be written.
const OUTGOING: usize = 16;

/// Batches that wait to be taken by a subscriber. A slow one makes the engine fold more into each.
const UPDATES: usize = 16;

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum OpenError {
    /// Nobody listens.
    Nobody,
    /// Somebody did, and hung up before the first line: an engine on its way out.
    Ended,
    /// Something a user has to know.
    Problem(Problem),
}

/// One connection.
#[derive(Debug)]
pub(super) struct Link {
    welcome: Welcome,
    outgoing: mpsc::Sender<Vec<u8>>,
    pending: Pending,
    next_id: AtomicU64,
    closed: watch::Receiver<bool>,
    tasks: [JoinHandle<()>; 2],
}

type Replies = HashMap<u64, oneshot::Sender<Reply>>;

/// Requests without a reply yet; `None` once the connection has ended.
#[derive(Clone, Debug)]
struct Pending(Arc<Mutex<Option<Replies>>>);

impl Pending {
    fn with<T>(&self, act: impl FnOnce(&mut Option<Replies>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// A greeted stream.
struct Greeted {
    welcome: Welcome,
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
}

async fn greet(data_dir: &Path, client: &str, own: &Version<'_>) -> Result<Greeted, OpenError> {
    let stream = match timeout(WELCOME_TIMEOUT, socket::connect(data_dir)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return Err(refused_connection(data_dir, &error)),
        Err(_) => return Err(OpenError::Problem(silent(None))),
    };
    let pid = peer_pid(&stream);
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    let hello = Hello { protocol: own.protocol, version: own.package.to_owned(), client: client.to_owned() };
    let hello = encode(&hello).map_err(|_| OpenError::Problem(internal("The greeting could not be written")))?;
    let mut line = Vec::new();
    let greeting = async {
        write_line(&mut writer, &hello).await?;
        read_line(&mut reader, &mut line, MAX_LINE_BYTES).await
    };
    match timeout(WELCOME_TIMEOUT, greeting).await {
        Err(_) => return Err(OpenError::Problem(silent(pid))),
        Ok(Err(_) | Ok(Line::End | Line::Broken)) => return Err(OpenError::Ended),
        Ok(Ok(Line::TooLong)) => return Err(OpenError::Problem(foreign(data_dir))),
        Ok(Ok(Line::Whole)) => {}
    }
    if let Ok(welcome) = serde_json::from_slice::<Welcome>(&line) {
        return Ok(Greeted { welcome, reader, writer });
    }
    match serde_json::from_slice::<Response>(&line) {
        Ok(Response { reply: Reply::Error(problem), .. }) => Err(OpenError::Problem(problem)),
        Ok(_) | Err(_) => Err(OpenError::Problem(foreign(data_dir))),
    }
}

/// Whether an engine, of whatever version, answers on `data_dir`.
pub(crate) async fn answers(data_dir: &Path) -> bool {
    let own = Version { protocol: crate::protocol::PROTOCOL, package: env!("CARGO_PKG_VERSION") };
    greet(data_dir, "start", &own).await.is_ok()
}

impl Link {
    /// Connects and greets.
    pub(super) async fn open(data_dir: &Path, client: &str, own: &Version<'_>) -> Result<Self, OpenError> {
        let Greeted { welcome, mut reader, mut writer } = greet(data_dir, client, own).await?;
        let (outgoing, mut lines) = mpsc::channel::<Vec<u8>>(OUTGOING);
        let (closing, closed) = watch::channel(false);
        let pending = Pending(Arc::new(Mutex::new(Some(Replies::new()))));
        let writing = tokio::spawn(async move {
            while let Some(line) = lines.recv().await {
                if write_line(&mut writer, &line).await.is_err() {
                    // The reader sees the end as well and tells everyone.
                    return;
                }
            }
        });
        let reading = tokio::spawn({
            let pending = pending.clone();
            async move {
                let mut line = Vec::new();
                while let Ok(Line::Whole) = read_line(&mut reader, &mut line, MAX_LINE_BYTES).await {
                    let Ok(response) = serde_json::from_slice::<Response>(&line) else {
                        tracing::warn!("the engine sent a line that is no response");
                        break;
                    };
                    let waiting = pending.with(|pending| pending.as_mut().and_then(|pending| pending.remove(&response.id)));
                    if let Some(waiting) = waiting {
                        // Whoever asked may have given up.
                        let _ = waiting.send(response.reply);
                    }
                }
                pending.with(|pending| *pending = None);
                closing.send_replace(true);
            }
        });
        Ok(Self { welcome, outgoing, pending, next_id: AtomicU64::new(1), closed, tasks: [writing, reading] })
    }

    /// The engine's first line.
    pub(super) fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// One request, one reply.
    pub(super) async fn call(&self, call: Call, longest: Duration) -> Result<Reply, Problem> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, reply) = oneshot::channel();
        let line = encode_request(&Request { id, call })?;
        if !self.pending.with(|pending| pending.as_mut().map(|pending| pending.insert(id, sender)).is_some()) {
            return Err(super::gone());
        }
        let exchange = async {
            self.outgoing.send(line).await.map_err(|_| super::gone())?;
            reply.await.map_err(|_| super::gone())
        };
        let answer = timeout(longest, exchange).await;
        if answer.is_err() {
            self.pending.with(|pending| pending.as_mut().and_then(|pending| pending.remove(&id)));
        }
        answer.unwrap_or_else(|_| Err(silent(Some(self.welcome.pid))))
    }

    /// Turns the connection into a stream: the first reply, and the updates after it. The
    /// connection ends when the receiver is dropped.
    pub(super) async fn subscribe(
        data_dir: &Path,
        client: &str,
        own: &Version<'_>,
        call: Call,
        longest: Duration,
    ) -> Result<(Reply, mpsc::Receiver<UpdateDto>), OpenError> {
        let Greeted { welcome, mut reader, mut writer } = greet(data_dir, client, own).await?;
        let line = encode_request(&Request { id: 1, call }).map_err(OpenError::Problem)?;
        let mut buffer = Vec::new();
        let first = async {
            write_line(&mut writer, &line).await?;
            read_line(&mut reader, &mut buffer, MAX_LINE_BYTES).await
        };
        match timeout(longest, first).await {
            Err(_) => return Err(OpenError::Problem(silent(Some(welcome.pid)))),
            Ok(Err(_) | Ok(Line::End | Line::Broken)) => return Err(OpenError::Ended),
            Ok(Ok(Line::TooLong)) => return Err(OpenError::Problem(internal("The engine sent more than a line holds"))),
            Ok(Ok(Line::Whole)) => {}
        }
        let first = serde_json::from_slice::<Response>(&buffer)
            .map_err(|_| OpenError::Problem(internal("The engine sent a line that is no response")))?;
        let (sender, updates) = mpsc::channel(UPDATES);
        tokio::spawn(async move {
            // The write half stays open: closing it would end the subscription.
            let _writer = writer;
            loop {
                let line = tokio::select! {
                    biased;
                    () = sender.closed() => return,
                    line = read_line(&mut reader, &mut buffer, MAX_LINE_BYTES) => line,
                };
                let Ok(Line::Whole) = line else { return };
                match serde_json::from_slice::<Response>(&buffer) {
                    Ok(Response { reply: Reply::Update(update), .. }) => {
                        if sender.send(update).await.is_err() {
                            return;
                        }
                    }
                    Ok(other) => {
                        tracing::warn!(reply = ?other.reply, "the engine ended the stream");
                        return;
                    }
                    Err(error) => {
                        tracing::warn!(%error, "the engine sent a line that is no response");
                        return;
                    }
                }
            }
        });
        Ok((first.reply, updates))
    }

    /// Returns when the engine has hung up.
    pub(super) async fn closed(&self) {
        // An error means that the reading task is gone, which is the same.
        let _ = self.closed.clone().wait_for(|closed| *closed).await;
    }
}

fn encode_request(request: &Request) -> Result<Vec<u8>, Problem> {
    let line = encode(request).map_err(|_| internal("The request could not be written"))?;
    if line.len() > MAX_LINE_BYTES {
        return Err(Problem::refused(
            ErrorCode::TooLarge,
            format!("The request has {} MiB, more than the engine takes", line.len() >> 20),
            "Hand the patch over as a file: `sidetrack review FILE.patch`.",
        ));
    }
    Ok(line)
}

fn peer_pid(stream: &UnixStream) -> Option<u32> {
    stream.peer_cred().ok().and_then(|peer| peer.pid()).and_then(|pid| u32::try_from(pid).ok())
}

fn refused_connection(data_dir: &Path, error: &io::Error) -> OpenError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => OpenError::Nobody,
        // A full queue of connections: the engine is there and does not take them.
        io::ErrorKind::WouldBlock => OpenError::Problem(silent(None)),
        io::ErrorKind::PermissionDenied => OpenError::Problem(Problem::refused(
            ErrorCode::NoEngine,
            format!("The data directory `{}` is not this user's", data_dir.display()),
            "Run sidetrack as its owner, or name another with --data-dir DIR.",
        )),
        _ => OpenError::Problem(Problem::refused(
            ErrorCode::NoEngine,
            format!("The engine's socket in `{}` can't be reached: {error}", data_dir.display()),
            "Run `sidetrack doctor`.",
        )),
    }
}

/// An engine that has the socket and says nothing.
fn silent(pid: Option<u32>) -> Problem {
    let who = pid.map_or_else(|| "The engine".to_owned(), |pid| format!("The engine (process {pid})"));
    let problem = Problem::no_change(ErrorCode::NoEngine, format!("{who} does not answer"), "Wait a moment and try again.");
    match pid {
        Some(pid) => problem.or(format!("End it with `kill {pid}`: its running tasks go back to the queue at the next start.")),
        None => problem.or("Look into `logs/engine.log` of the data directory."),
    }
}

fn foreign(data_dir: &Path) -> Problem {
    Problem::refused(
        ErrorCode::NoEngine,
        format!("What listens in `{}` is no Sidetrack engine", data_dir.display()),
        "Name another data directory with --data-dir DIR.",
    )
}

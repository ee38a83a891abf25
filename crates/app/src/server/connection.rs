//! One client's connection: greeting, requests, replies.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::BufReader;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use super::Shared;
use super::feed::{self, Wish};
use super::requests;
use crate::problems::usage;
use crate::protocol::{Call, Hello, MAX_LINE_BYTES, PROTOCOL, Reply, Request, Response, Welcome};
use crate::wire::{Line, encode, read_line, write_line};
use crate::{ErrorCode, Problem, socket};

/// Longest wait for a client's first line.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);

/// Longest hello line, in bytes.
const HELLO_BYTES: usize = 4096;

/// Longest time a client may leave what was sent to it unread. Everything it missed is in the
/// store; it connects again and resumes.
const STUCK_TIMEOUT: Duration = Duration::from_secs(30);

/// Replies that wait to be written to one client. When they do, its streams fold more into each
/// batch and its requests wait: the engine itself never does.
const OUTGOING: usize = 16;

/// Requests of one client that are worked on at once.
const IN_HAND: usize = 16;

/// The way to one client.
#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    lines: mpsc::Sender<Vec<u8>>,
}

impl Outgoing {
    /// Sends a reply; `false` when the client is gone. A reply that does not fit a line becomes
    /// an error that says so.
    pub(super) async fn reply(&self, id: u64, reply: Reply) -> bool {
        let line = match encode(&Response { id, reply }) {
            Ok(line) if line.len() <= MAX_LINE_BYTES => Ok(line),
            Ok(line) => encode(&Response { id, reply: Reply::Error(too_long(line.len())) }),
            Err(error) => {
                encode(&Response { id, reply: Reply::Error(crate::problems::internal(format!("A reply could not be written: {error}"))) })
            }
        };
        match line {
            Ok(line) => self.lines.send(line).await.is_ok(),
            Err(error) => {
                tracing::error!(%error, "a reply could not be written");
                false
            }
        }
    }
}

fn too_long(bytes: usize) -> Problem {
    Problem::no_change(
        ErrorCode::TooLarge,
        format!("The answer has {} MiB, more than one line of the protocol holds", bytes >> 20),
        "Ask for less: `sidetrack list --limit N`, or one task at a time.",
    )
    .or("Take a task's results as a stream: `sidetrack watch ID --since 0 --json`.")
}

/// Serves one client until it hangs up, is refused, or `ending` is cancelled.
pub(super) async fn serve(shared: Arc<Shared>, stream: UnixStream, ending: CancellationToken) {
    let own = rustix::process::geteuid().as_raw();
    match stream.peer_cred() {
        Ok(peer) if socket::peer_is_allowed(peer.uid(), own) => {}
        Ok(peer) => {
            tracing::warn!(uid = peer.uid(), "another user's process was turned away");
            return refuse(stream, another_user(peer.uid())).await;
        }
        Err(error) => {
            tracing::warn!(%error, "a client whose user is unknown was turned away");
            return;
        }
    }
    let (reader, writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    let (lines, queue) = mpsc::channel(OUTGOING);
    let out = Outgoing { lines };
    let gone = CancellationToken::new();
    let writing = tokio::spawn(write_all(writer, queue, gone.clone()).in_current_span());

    tokio::select! {
        biased;
        () = ending.cancelled() => {}
        () = gone.cancelled() => {}
        () = talk(&shared, &mut reader, &out, &gone) => {}
    }
    drop(out);
    // What is still in the queue is written before the connection closes.
    if let Err(error) = writing.await {
        tracing::error!(%error, "a client's writer failed");
    }
}

async fn write_all(mut writer: OwnedWriteHalf, mut queue: mpsc::Receiver<Vec<u8>>, gone: CancellationToken) {
    let _gone = gone.drop_guard();
    while let Some(line) = queue.recv().await {
        match timeout(STUCK_TIMEOUT, write_line(&mut writer, &line)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return tracing::debug!(%error, "a client hung up"),
            Err(_) => return tracing::warn!("a client that did not read for {} s was disconnected", STUCK_TIMEOUT.as_secs()),
        }
    }
}

/// Tells a stranger why, as far as they listen.
async fn refuse(mut stream: UnixStream, problem: Problem) {
    if let Ok(line) = encode(&Response { id: 0, reply: Reply::Error(problem) }) {
        let _ = timeout(Duration::from_secs(1), write_line(&mut stream, &line)).await;
    }
}

fn another_user(uid: u32) -> Problem {
    Problem::refused(
        ErrorCode::Refused,
        format!("This engine serves another user; you are user {uid}"),
        "Start an engine of your own: `sidetrack serve --detach`.",
    )
}

/// Greets, then takes requests until the client closes its side.
async fn talk(shared: &Arc<Shared>, reader: &mut BufReader<OwnedReadHalf>, out: &Outgoing, gone: &CancellationToken) {
    let Some(hello) = greet(shared, reader, out).await else { return };
    tracing::debug!(client = hello.client, version = hello.version, "connected");
    let handlers = TaskTracker::new();
    // Streams end with the connection; requests in hand are finished.
    let streams = gone.child_token();
    let in_hand = Arc::new(Semaphore::new(IN_HAND));
    let mut subscribed = false;
    let mut line = Vec::new();
    loop {
        match read_line(reader, &mut line, MAX_LINE_BYTES).await {
            Ok(Line::Whole) => {}
            Ok(Line::End | Line::Broken) | Err(_) => break,
            Ok(Line::TooLong) => {
                let problem = usage(
                    format!("A line is longer than the {} MiB a request may have", MAX_LINE_BYTES >> 20),
                    "Hand large patches over as files.",
                );
                out.reply(0, Reply::Error(problem)).await;
                break;
            }
        }
        let Request { id, call } = match understand(&line, &hello) {
            Ok(request) => request,
            Err((id, problem)) => {
                if out.reply(id, Reply::Error(problem)).await {
                    continue;
                }
                break;
            }
        };
        // A large request's line is not kept while the next one is awaited.
        line = Vec::new();
        let Ok(permit) = Arc::clone(&in_hand).acquire_owned().await else { break };
        let (shared, out) = (Arc::clone(shared), out.clone());
        let span = tracing::debug_span!("request", id, call = call.name());
        if let Call::Subscribe { since, task, notifier } = call {
            if std::mem::replace(&mut subscribed, true) {
                out.reply(id, Reply::Error(usage("This connection is subscribed already", "Open another connection."))).await;
                continue;
            }
            let streams = streams.clone();
            let stream = async move {
                let _role = notifier.then(|| shared.take_notifier_role());
                let running = feed::run(&shared, id, Wish { since, task }, &out);
                let ended = tokio::select! {
                    biased;
                    () = streams.cancelled() => Ok(()),
                    ended = running => ended,
                };
                if let Err(problem) = ended {
                    out.reply(id, Reply::Error(problem)).await;
                }
            };
            drop(permit);
            handlers.spawn(stream.instrument(span));
        } else {
            let handler = async move {
                let reply = requests::answer(&shared, call).await.unwrap_or_else(Reply::Error);
                out.reply(id, reply).await;
                drop(permit);
            };
            handlers.spawn(handler.instrument(span));
        }
    }
    streams.cancel();
    handlers.close();
    handlers.wait().await;
}

async fn greet(shared: &Shared, reader: &mut BufReader<OwnedReadHalf>, out: &Outgoing) -> Option<Hello> {
    let mut line = Vec::new();
    let hello = match timeout(HELLO_TIMEOUT, read_line(reader, &mut line, HELLO_BYTES)).await {
        Ok(Ok(Line::Whole)) => serde_json::from_slice::<Hello>(&line).ok(),
        Ok(Ok(Line::TooLong)) => None,
        // Looked whether somebody listens, or said nothing.
        Ok(Ok(Line::End | Line::Broken) | Err(_)) | Err(_) => return None,
    };
    let Some(hello) = hello else {
        out.reply(0, Reply::Error(usage("The first line is no hello", "Begin with {\"protocol\":1,\"version\":\"…\",\"client\":\"…\"}.")))
            .await;
        return None;
    };
    let welcome =
        Welcome { protocol: PROTOCOL, version: env!("CARGO_PKG_VERSION").into(), boot: shared.boot.to_string(), pid: std::process::id() };
    let welcome = encode(&welcome).ok()?;
    out.lines.send(welcome).await.ok()?;
    Some(hello)
}

/// Reads a request. A client of another protocol can only say `stop`.
fn understand(line: &[u8], hello: &Hello) -> Result<Request, (u64, Problem)> {
    #[derive(Deserialize)]
    struct OnlyId {
        id: u64,
    }
    let request = serde_json::from_slice::<Request>(line).map_err(|error| {
        let id = serde_json::from_slice::<OnlyId>(line).map_or(0, |only| only.id);
        (id, usage(format!("The line is no request: {error}"), "Send one JSON object a line, as ARCHITECTURE.md tells."))
    })?;
    if hello.protocol != PROTOCOL && !matches!(request.call, Call::Stop { .. }) {
        let problem = Problem::refused(
            ErrorCode::VersionMismatch,
            format!("This engine speaks version {PROTOCOL} of the protocol, the client version {}", hello.protocol),
            "Ask this engine to stop, and start one of the client's version.",
        );
        return Err((request.id, problem));
    }
    Ok(request)
}

//! `sidetrack serve`: the engine behind its socket.

mod board;
mod connection;
mod detach;
mod feed;
mod logs;
mod notifier;
mod requests;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use st_engine::{Engine, EngineConfig, EngineError};
use st_model::id::BootId;
use st_model::port::{Clock, Random};
use st_store::Queue as _;
use tokio::net::UnixListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

pub use detach::{start_detached, start_detached_with};

use crate::client::answers;
use crate::config::Config;
use crate::data_dir::{absolute, prepare_data_dir};
use crate::problems::{of_engine, of_store};
use crate::system::{SystemClock, SystemRandom};
use crate::{ErrorCode, Problem, reexec, socket};
use board::Board;

/// Most clients at once.
const MOST_CLIENTS: usize = 256;

/// Longest wait of a detached start for the lock of an engine that is about to end, or for the
/// socket of one that is about to begin.
const LOCK_TIMEOUT: Duration = Duration::from_secs(9);

/// Between two looks at lock and socket.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Longest wait for clients to take their last lines.
const FAREWELL: Duration = Duration::from_secs(2);

/// Pause after a failed accept: out of files, most likely, and some will be closed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How to serve.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The data directory.
    pub data_dir: PathBuf,
    /// Worker slots; `None` for the setting `slots`.
    pub slots: Option<usize>,
    /// End after so long without a client and without an open task; `None` never.
    pub idle_exit: Option<Duration>,
    /// The slim binary, re-executed as worker.
    pub program: PathBuf,
}

fn from_environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Whether, and how, the engine is to end. Ordered: a later wish never weakens an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StopWish {
    /// Go on.
    Run,
    /// Finish what runs.
    Drain,
    /// At once.
    Now,
}

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    engine: Engine,
    options: ServeOptions,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    boot: BootId,
    board: Board,
    stop: watch::Sender<StopWish>,
    /// Connected clients.
    clients: watch::Sender<usize>,
    /// The engine ends for want of clients: who connects now is sent away without a word, and
    /// starts the next one.
    closing: AtomicBool,
    /// Subscribed clients that raise notifications themselves.
    notifiers: watch::Sender<usize>,
    /// Counts changes of the engine that are no event: paused, resumed, stopping.
    pokes: watch::Sender<u64>,
}

/// Counts its holder in for as long as it lives.
struct Counted<'a>(&'a watch::Sender<usize>);

impl<'a> Counted<'a> {
    fn new(count: &'a watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

impl Shared {
    fn wish_stop(&self, wish: StopWish) {
        self.stop.send_if_modified(|held| {
            let stronger = wish > *held;
            *held = wish.max(*held);
            stronger
        });
    }

    fn poke(&self) {
        self.pokes.send_modify(|count| *count += 1);
    }

    /// While the guard lives, the window raises notifications and the engine does not.
    fn take_notifier_role(&self) -> Counted<'_> {
        Counted::new(&self.notifiers)
    }

    async fn config(&self) -> Result<Config, Problem> {
        let stored = self.engine.store().settings().await.map_err(of_store)?;
        Ok(Config::new(stored, &from_environment))
    }
}

/// Serves until stopped by a client, by SIGTERM or SIGINT (drain; a second one: now), or by idleness.
///
/// The data directory is made when missing and must be this user's own. The process's umask
/// becomes 077. When [`start_detached`] started this process, it leaves its starter's session.
///
/// # Errors
/// When another engine has the directory, or it can't be used.
pub async fn serve(options: ServeOptions) -> Result<(), Problem> {
    let options = ServeOptions { data_dir: absolute(&options.data_dir)?, ..options };
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    prepare_data_dir(&options.data_dir)?;
    let signals = Signals::new().map_err(|error| crate::problems::internal(format!("Signals can't be received: {error}")))?;
    let detached = std::env::var_os(detach::DETACHED).is_some();
    if detached {
        // Fails only for a process that leads a group already, and then it has what it needs.
        let _ = rustix::process::setsid();
    }
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let random: Arc<dyn Random> = Arc::new(SystemRandom);
    let config = EngineConfig {
        data_dir: options.data_dir.clone(),
        worker_program: options.program.clone(),
        worker_args: vec![reexec::WORKER_ARG.to_owned()],
        slots: options.slots.or_else(|| Config::new(Vec::new(), &from_environment).slots()),
        clock: Arc::clone(&clock),
        random: Arc::clone(&random),
    };
    let Some(engine) = start_engine(config, detached).await? else {
        tracing::info!("another engine is there; this one is not needed");
        return Ok(());
    };
    let listener = match socket::bind(&options.data_dir) {
        Ok(listener) => listener,
        Err(error) => {
            engine.stop(true).await;
            return Err(Problem::refused(
                ErrorCode::NoEngine,
                format!("The socket `{}` can't be opened: {error}", socket::socket_path(&options.data_dir).display()),
                "Look at the rights and the free space of the data directory.",
            ));
        }
    };
    let boot = match engine.status().await {
        Ok(status) => status.boot,
        Err(error) => {
            engine.stop(true).await;
            return Err(of_engine(error));
        }
    };
    let pokes = watch::Sender::new(0);
    let board = Board::new(engine.clone(), Arc::clone(&clock), &options.data_dir, pokes.subscribe());
    let shared = Arc::new(Shared {
        engine,
        options,
        clock,
        random,
        boot,
        board,
        stop: watch::Sender::new(StopWish::Run),
        clients: watch::Sender::new(0),
        closing: AtomicBool::new(false),
        notifiers: watch::Sender::new(0),
        pokes,
    });
    tracing::info!(pid = std::process::id(), %boot, data_dir = %shared.options.data_dir.display(), "serving");
    Server { shared, listener, signals }.run().await
}

/// Starts the engine. A detached process that finds another one there waits until that one
/// answers (`None`: nothing to do) or has ended (then it takes over).
async fn start_engine(config: EngineConfig, detached: bool) -> Result<Option<Engine>, Problem> {
    let data_dir = config.data_dir.clone();
    let deadline = Instant::now() + LOCK_TIMEOUT;
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        match Engine::start(config.clone()).await {
            Ok(engine) => return Ok(Some(engine)),
            Err(error @ EngineError::Locked { .. }) => {
                if !detached || Instant::now() >= deadline {
                    return Err(of_engine(error));
                }
            }
            Err(error) => return Err(of_engine(error)),
        }
        if answers(&data_dir).await {
            return Ok(None);
        }
        looks.tick().await;
    }
}

/// The signals that end an engine.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}

struct Server {
    shared: Arc<Shared>,
    listener: UnixListener,
    signals: Signals,
}

impl Server {
    async fn run(self) -> Result<(), Problem> {
        let Self { shared, listener, mut signals } = self;
        let ending = CancellationToken::new();
        let connections = TaskTracker::new();
        let helpers = TaskTracker::new();
        helpers.spawn(accept(Arc::clone(&shared), listener, connections.clone(), ending.clone()).in_current_span());
        helpers.spawn(notifier::run(Arc::clone(&shared), ending.clone()).in_current_span());

        let mut wishes = shared.stop.subscribe();
        let reason = tokio::select! {
            () = signals.next() => { shared.wish_stop(StopWish::Drain); "a signal" }
            _ = wishes.wait_for(|wish| *wish > StopWish::Run) => "a client",
            () = idle(&shared) => { shared.wish_stop(StopWish::Now); "idleness" }
        };
        tracing::info!(reason, "ending");
        stop(&shared, &mut signals).await;

        // Streams say nothing more; what was asked before is still answered.
        ending.cancel();
        connections.close();
        helpers.close();
        if timeout(FAREWELL, async { tokio::join!(connections.wait(), helpers.wait()) }).await.is_err() {
            tracing::warn!("some clients did not take their last lines");
        }
        tracing::info!("ended");
        Ok(())
    }
}

/// Drains the engine, or ends it at once as soon as somebody wants that.
async fn stop(shared: &Shared, signals: &mut Signals) {
    let mut wishes = shared.stop.subscribe();
    let draining = async {
        if *shared.stop.borrow() == StopWish::Drain {
            shared.engine.stop(false).await;
        } else {
            std::future::pending::<()>().await;
        }
    };
    let telling = async {
        // The engine says `stopping` as soon as it was told; subscribers look when poked.
        tokio::task::yield_now().await;
        shared.poke();
        std::future::pending::<()>().await;
    };
    let hurry = async {
        tokio::select! {
            _ = wishes.wait_for(|wish| *wish == StopWish::Now) => {}
            () = signals.next() => shared.wish_stop(StopWish::Now),
        }
        tracing::info!("ending now: running tasks go back to the queue");
        shared.engine.stop(true).await;
    };
    tokio::select! {
        () = draining => {}
        () = hurry => {}
        () = telling => {}
    }
}

async fn accept(shared: Arc<Shared>, listener: UnixListener, connections: TaskTracker, ending: CancellationToken) {
    loop {
        let accepted = tokio::select! {
            biased;
            () = ending.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok(_) if *shared.clients.borrow() >= MOST_CLIENTS => {
                tracing::warn!("a client was turned away: {MOST_CLIENTS} are connected");
            }
            Ok((stream, _)) => {
                let (shared, ending) = (Arc::clone(&shared), ending.clone());
                let span = tracing::debug_span!("client", pid = stream.peer_cred().ok().and_then(|peer| peer.pid()));
                connections.spawn(
                    async move {
                        let _counted = Counted::new(&shared.clients);
                        if shared.closing.load(Ordering::SeqCst) {
                            return;
                        }
                        connection::serve(Arc::clone(&shared), stream, ending).await;
                    }
                    .instrument(span),
                );
            }
            Err(error) => {
                tracing::warn!(%error, "a client could not be accepted");
                tokio::time::sleep_until(Instant::now() + ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Returns once there was no client and no open task for the idle time.
async fn idle(shared: &Shared) {
    let Some(longest) = shared.options.idle_exit else { return std::future::pending().await };
    let mut clients = shared.clients.subscribe();
    let mut committed = shared.engine.store().subscribe();
    loop {
        // Closing cannot happen before the engine has ended.
        let _ = clients.wait_for(|count| *count == 0).await;
        let quiet = match shared.engine.store().open_tasks().await {
            Ok(open) => open.is_empty(),
            Err(error) => {
                tracing::error!(%error, "the open tasks could not be read");
                false
            }
        };
        tokio::select! {
            () = tokio::time::sleep_until(Instant::now() + longest), if quiet => {
                // Announced before the last look: a client that is counted later sees it.
                shared.closing.store(true, Ordering::SeqCst);
                if *shared.clients.borrow() == 0 {
                    return;
                }
                shared.closing.store(false, Ordering::SeqCst);
            }
            _ = clients.changed() => {}
            event = committed.recv() => match event {
                Ok(_) | Err(tokio::sync::broadcast::error::RecvError::Lagged(_)) => {}
                Err(tokio::sync::broadcast::error::RecvError::Closed) => return std::future::pending().await,
            }
        }
    }
}

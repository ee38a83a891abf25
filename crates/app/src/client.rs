//! A client's end of the protocol.

mod link;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use crate::dto::{SnapshotDto, UpdateDto};
use crate::problems::internal;
use crate::protocol::{Call, PROTOCOL, Reply, Welcome};
use crate::server::start_detached;
use crate::{ErrorCode, Problem};

pub use crate::data_dir::default_data_dir;
pub(crate) use link::answers;
use link::{Link, OpenError};

/// Longest wait for a reply. Replies come at once, save where a large patch is stored first.
const REPLY_TIMEOUT: Duration = Duration::from_secs(60);

/// Longest wait for an older engine to finish its attempts: an attempt's default wall timeout
/// and a minute for stopping.
const HAND_OVER_TIMEOUT: Duration = Duration::from_secs(11 * 60);

/// How often a connection is tried anew while engines come and go beneath it.
const ROUNDS: u32 = 5;

/// Pause before an engine that just hung up is tried anew: it is closing its files.
const BETWEEN_ROUNDS: Duration = Duration::from_millis(20);

/// How to reach, and if need be start, an engine.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// The data directory.
    pub data_dir: PathBuf,
    /// The slim binary to start as `serve` when no engine runs; `None` never starts one.
    pub start: Option<PathBuf>,
    /// Who we are: `cli`, `window`.
    pub client: String,
}

/// A connection; cheap to clone, requests may overlap.
#[derive(Clone, Debug)]
pub struct Client {
    link: Arc<Link>,
    data_dir: PathBuf,
    name: String,
}

/// A running stream. Dropping it ends it.
#[derive(Debug)]
pub struct Subscription {
    /// The state at the start.
    pub snapshot: SnapshotDto,
    /// What follows; `None` when the engine is gone.
    pub updates: mpsc::Receiver<UpdateDto>,
}

impl Client {
    /// Connects. Starts an engine when none runs and `start` is set, and waits for it. An engine
    /// of an older version is asked to finish its attempts and go, and ours takes over; the
    /// hand-over is told through `notice`. A newer engine is left alone.
    ///
    /// # Errors
    /// `no_engine`, `version_mismatch`, or what the start said.
    pub async fn connect(options: &ConnectOptions, notice: &(dyn Fn(&str) + Sync)) -> Result<Self, Problem> {
        let own = Version { protocol: PROTOCOL, package: env!("CARGO_PKG_VERSION") };
        Self::connect_as(options, &own, notice).await
    }

    async fn connect_as(options: &ConnectOptions, own: &Version<'_>, notice: &(dyn Fn(&str) + Sync)) -> Result<Self, Problem> {
        for _ in 0..ROUNDS {
            let link = match Link::open(&options.data_dir, &options.client, own).await {
                Ok(link) => link,
                Err(OpenError::Nobody) => match &options.start {
                    Some(program) => {
                        start_detached(program, &options.data_dir).await?;
                        continue;
                    }
                    None => return Err(nobody(&options.data_dir)),
                },
                Err(OpenError::Ended) => {
                    tokio::time::sleep_until(tokio::time::Instant::now() + BETWEEN_ROUNDS).await;
                    continue;
                }
                Err(OpenError::Problem(problem)) => return Err(problem),
            };
            match own.compared_with(link.welcome()) {
                Standing::Same => {
                    return Ok(Self { link: Arc::new(link), data_dir: options.data_dir.clone(), name: options.client.clone() });
                }
                Standing::EngineNewer => return Err(engine_is_newer(link.welcome(), own)),
                Standing::EngineOlder if options.start.is_none() => return Err(engine_is_older(link.welcome(), own)),
                Standing::EngineOlder => {
                    let welcome = link.welcome();
                    notice(&format!(
                        "The engine that runs is version {}, this is {}. It finishes its running tasks and goes; then this version takes over.",
                        welcome.version, own.package
                    ));
                    send_away(&link, false, HAND_OVER_TIMEOUT).await?;
                }
            }
        }
        Err(Problem::refused(ErrorCode::NoEngine, "Engines came and went and none stayed", "Run `sidetrack doctor`.")
            .or(format!("Look into `{}`.", options.data_dir.join("logs").display())))
    }

    /// One request, one reply. An error reply comes back as `Err`.
    ///
    /// # Errors
    /// What the engine said, or that it is gone.
    pub async fn call(&self, call: Call) -> Result<Reply, Problem> {
        match self.link.call(call, REPLY_TIMEOUT).await? {
            Reply::Error(problem) => Err(problem),
            reply => Ok(reply),
        }
    }

    /// Subscribes on a connection of its own.
    ///
    /// With `since`, the events after that number follow the snapshot without gap; without, those
    /// after the snapshot. The stream ends when the engine does; to go on, connect anew and
    /// subscribe with the last [`UpdateDto::seq`] as `since`.
    ///
    /// # Errors
    /// What the engine said, or that it is gone.
    pub async fn subscribe(&self, since: Option<u64>, task: Option<String>, notifier: bool) -> Result<Subscription, Problem> {
        let own = Version { protocol: self.link.welcome().protocol, package: &self.link.welcome().version };
        let call = Call::Subscribe { since, task, notifier };
        let opened = Link::subscribe(&self.data_dir, &self.name, &own, call, REPLY_TIMEOUT).await;
        let (first, updates) = opened.map_err(|error| match error {
            OpenError::Nobody | OpenError::Ended => gone(),
            OpenError::Problem(problem) => problem,
        })?;
        match first {
            Reply::Snapshot(snapshot) => Ok(Subscription { snapshot, updates }),
            Reply::Error(problem) => Err(problem),
            _ => Err(internal("The engine answered a subscription with something else")),
        }
    }

    /// The engine's first line: its version, run and process.
    #[must_use]
    pub fn engine(&self) -> &Welcome {
        self.link.welcome()
    }
}

/// Asks whatever engine runs on `data_dir`, of any version, to end, and waits until it has:
/// with `now` at most 30 s, else until its running attempts are finished. `false` when none runs.
///
/// # Errors
/// When it does not answer or does not end.
pub async fn stop_engine(data_dir: &Path, client: &str, now: bool) -> Result<bool, Problem> {
    let own = Version { protocol: PROTOCOL, package: env!("CARGO_PKG_VERSION") };
    match Link::open(data_dir, client, &own).await {
        Ok(link) => {
            send_away(&link, now, if now { Duration::from_secs(30) } else { HAND_OVER_TIMEOUT }).await?;
            Ok(true)
        }
        Err(OpenError::Nobody | OpenError::Ended) => Ok(false),
        Err(OpenError::Problem(problem)) => Err(problem),
    }
}

async fn send_away(link: &Link, now: bool, longest: Duration) -> Result<(), Problem> {
    if let Reply::Error(problem) = link.call(Call::Stop { now }, REPLY_TIMEOUT).await? {
        return Err(problem);
    }
    tokio::time::timeout(longest, link.closed()).await.map_err(|_| {
        let pid = link.welcome().pid;
        Problem::refused(
            ErrorCode::NoEngine,
            format!("The engine (process {pid}) was asked to end and still runs"),
            "Run `sidetrack stop --now`.",
        )
        .or(format!("End it with `kill {pid}`: its running tasks go back to the queue at the next start."))
    })
}

/// Versions of one side.
#[derive(Clone, Copy, Debug)]
struct Version<'a> {
    protocol: u32,
    package: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Same,
    EngineOlder,
    EngineNewer,
}

impl Version<'_> {
    fn compared_with(&self, engine: &Welcome) -> Standing {
        if (engine.protocol, engine.version.as_str()) == (self.protocol, self.package) {
            return Standing::Same;
        }
        let engine_order = (engine.protocol, numbers(&engine.version), engine.version.as_str());
        let own_order = (self.protocol, numbers(self.package), self.package);
        if engine_order > own_order { Standing::EngineNewer } else { Standing::EngineOlder }
    }
}

/// The numbers of `1.20.3-beta.1`: `[1, 20, 3]`. A release counts above its own pre-releases.
fn numbers(version: &str) -> (Vec<u64>, bool) {
    let (release, pre) = version.split_once('-').map_or((version, ""), |(release, pre)| (release, pre));
    (release.split('.').map(|part| part.parse().unwrap_or(0)).collect(), pre.is_empty())
}

fn nobody(data_dir: &Path) -> Problem {
    Problem::refused(
        ErrorCode::NoEngine,
        format!("No engine runs on `{}`", data_dir.display()),
        "Start one with `sidetrack serve --detach`.",
    )
}

fn gone() -> Problem {
    Problem::no_change(ErrorCode::NoEngine, "The engine has ended", "Try again: a new engine starts.")
        .or("Queued tasks are kept; interrupted ones run again.")
}

fn engine_is_newer(engine: &Welcome, own: &Version<'_>) -> Problem {
    Problem::refused(
        ErrorCode::VersionMismatch,
        format!("The engine that runs is version {}, newer than this program's {}", engine.version, own.package),
        "Update this program.",
    )
    .or(format!("Or end the engine with the newer version's `sidetrack stop` (process {}).", engine.pid))
}

fn engine_is_older(engine: &Welcome, own: &Version<'_>) -> Problem {
    Problem::refused(
        ErrorCode::VersionMismatch,
        format!("The engine that runs is version {}, this program is {}", engine.version, own.package),
        "Run `sidetrack stop`, then try again: the next engine is of this version.",
    )
}

//! One execution of a task, from the lease to its settlement.
//!
//! ```text
//! lease → pin (fetch, freeze, lay out) → review (worker, broker) → report → settle
//! ```
//! Whatever happens on the way ends in a settlement; only a lost lease ends without one, since
//! then the task is somebody else's.

mod pin;
mod review;
mod settle;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use st_model::broker::{LogLevel, WorkerEnd};
use st_model::coverage::{CoverageEntry, CoverageStatus};
use st_model::path::RepoPath;
use st_model::problem::Problem;
use st_model::retry::FailureClass;
use st_model::review::ReviewSource;
use st_model::state::{Phase, RestState, Settlement, StopCause};
use st_model::task::{Task, TaskKind};
use st_runner::remote;
use st_store::{Lease, Queue as _, Record, StoreError};
use st_vault::PinLimits;
use tokio::time::Instant;

use crate::data_dir::AttemptDir;
use crate::engine::Shared;
use crate::log::AttemptLog;
use crate::registry::{Running, StopRequest};
use crate::words;
use pin::Frozen;
use settle::{Facts, Outcome, settlement};

/// Time between asking a worker to end and ending it.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// How long reading the user's files may take to notice that it was stopped. A disk that hangs
/// may hold it for longer; it is left alone then, since it writes nothing.
const PIN_NOTICE: Duration = Duration::from_secs(5);

/// How soon a settlement that the store could not take is tried again.
const SETTLE_AGAIN: Duration = Duration::from_secs(2);

/// Facts added in one transaction when a ledger is closed.
const LEDGER_BATCH: usize = 500;

/// Where settings say what a host of one's own speaks.
const FORGE_KEY: &str = "forge.";

/// Why an attempt does not go on.
enum Halt {
    /// It was told to stop.
    Stopped,
    /// The task is not ours any more.
    LeaseLost,
    Failed {
        class: FailureClass,
        problem: Problem,
    },
}

impl Halt {
    fn of_store(error: StoreError) -> Self {
        match error {
            StoreError::LeaseLost => Self::LeaseLost,
            // The only event that can be in the way is a stop.
            StoreError::Illegal(_) => Self::Stopped,
            error => Self::Failed { class: FailureClass::Infrastructure, problem: words::of_store(&error) },
        }
    }

    fn of_problem(problem: Problem) -> Self {
        Self::Failed { class: words::class_of(&problem), problem }
    }
}

struct Attempt {
    shared: Arc<Shared>,
    lease: Lease,
    running: Arc<Running>,
    dir: AttemptDir,
    log: AttemptLog,
    /// When the wall limit is reached.
    deadline: Instant,
    /// The paths that will each have a line in the ledger, once known.
    files: Option<Vec<RepoPath>>,
    phase: Phase,
}

/// Runs an attempt to its settlement.
pub(crate) async fn run(shared: Arc<Shared>, lease: Lease, running: Arc<Running>) {
    let dir = shared.dir.attempt(lease.held().attempt);
    let deadline = Instant::now() + lease.task().submitted.limits.wall_timeout;
    let mut attempt = Attempt { shared, lease, running, dir, log: AttemptLog::nowhere(), deadline, files: None, phase: Phase::Pin };
    let outcome = match attempt.work().await {
        Ok(ended) => Outcome::Said(ended),
        Err(Halt::Stopped) => Outcome::Stopped,
        Err(Halt::Failed { class, problem }) => Outcome::Failed { class, problem },
        Err(Halt::LeaseLost) => {
            tracing::warn!("the lease was lost; what the attempt found since is dropped");
            attempt.clear().await;
            return;
        }
    };
    attempt.conclude(outcome).await;
}

impl Attempt {
    async fn work(&mut self) -> Result<WorkerEnd, Halt> {
        let storage = |error| Halt::of_problem(words::of_engine(&error));
        self.dir.make().map_err(storage)?;
        let path = self.dir.log();
        self.log = AttemptLog::open(&path).map_err(crate::data_dir::io_error("open", &path)).map_err(storage)?;
        let held = self.lease.held();
        self.log.add(LogLevel::Info, &format!("attempt {} of task #{}", held.number, self.lease.task().number));
        self.enter(Phase::Pin).await?;
        self.pin().await?;
        let ended = self.review().await?;
        // A stop that came after the worker's last word changes nothing but this line.
        match self.lease.enter(Phase::Report).await {
            Ok(_) | Err(StoreError::Illegal(_)) => self.phase = Phase::Report,
            Err(error) => return Err(Halt::of_store(error)),
        }
        Ok(ended)
    }

    async fn enter(&mut self, phase: Phase) -> Result<(), Halt> {
        if self.running.stop_request().is_some() {
            return Err(Halt::Stopped);
        }
        self.lease.enter(phase).await.map_err(Halt::of_store)?;
        self.phase = phase;
        Ok(())
    }

    /// Returns once the attempt was told to stop; at its time limit it tells itself.
    async fn halted(&self) -> StopRequest {
        let mut requests = self.running.stop_requests();
        loop {
            if let Some(request) = self.running.stop_request() {
                return request;
            }
            tokio::select! {
                _ = requests.changed() => {}
                () = tokio::time::sleep_until(self.deadline) => {
                    review::time_out(&self.shared, &self.running, self.lease.task().id).await;
                }
            }
        }
    }

    async fn pin(&mut self) -> Result<(), Halt> {
        let TaskKind::Review { source, runner } = self.lease.task().submitted.kind.clone();
        let instructions = self.lease.task().submitted.context.instructions.clone();
        let kept_at = self.shared.dir.pin(self.lease.task().id);
        let was_kept = kept_at.clone();
        let vault = self.shared.vault.clone();
        let kept = blocking(move || Frozen::kept(&was_kept, &vault)).await;
        let reused = matches!(kept, Ok(Some(_)));
        let source = match kept {
            Ok(Some(_)) => source,
            Ok(None) | Err(_) => self.fetched(source).await?,
        };
        let (vault, dir) = (self.shared.vault.clone(), self.dir.clone());
        let cancel = Arc::new(AtomicBool::new(false));
        let asked = cancel.clone();
        let mut work = tokio::task::spawn_blocking(move || {
            let cancelled = || asked.load(Ordering::Relaxed);
            let frozen = match kept {
                Ok(Some(frozen)) => frozen,
                Ok(None) | Err(_) => {
                    let frozen = Frozen::freeze(&vault, &source, runner, instructions, &cancelled)?;
                    frozen.keep(&kept_at)?;
                    frozen
                }
            };
            frozen.lay_out(&vault, &dir, &cancelled)?;
            Ok::<_, Problem>(frozen)
        });
        let outcome = tokio::select! {
            outcome = &mut work => outcome,
            request = self.halted() => {
                cancel.store(true, Ordering::Relaxed);
                if tokio::time::timeout(request.grace.min(GRACE) + PIN_NOTICE, work).await.is_err() {
                    self.log.add(LogLevel::Warn, "reading the source did not end when it was stopped, and was left alone; it writes nothing");
                }
                return Err(Halt::Stopped);
            }
        };
        let frozen = match outcome {
            Ok(Ok(frozen)) => frozen,
            Ok(Err(problem)) => return Err(Halt::of_problem(problem)),
            Err(_) => return Err(Halt::of_problem(words::fault("the pin phase"))),
        };
        self.files = frozen.files();
        self.record_pinned(&frozen, reused).await
    }

    async fn record_pinned(&mut self, frozen: &Frozen, reused: bool) -> Result<(), Halt> {
        let mut records = Vec::new();
        if self.lease.task().pinned_at.is_none() {
            let files = self.files.as_ref().map(|files| u32::try_from(files.len()).unwrap_or(u32::MAX));
            records.push(Record::Pinned { files });
            records.extend(frozen.notes.iter().cloned().map(Record::Note));
        }
        for note in &frozen.notes {
            self.log.add(LogLevel::Info, note);
        }
        if reused {
            self.log.add(LogLevel::Info, "the content an earlier attempt pinned is reviewed");
        }
        if records.is_empty() {
            return Ok(());
        }
        self.lease.record(records).await.map_err(Halt::of_store)
    }

    /// A link's patch as text in the vault; any other source as it is.
    async fn fetched(&mut self, source: ReviewSource) -> Result<ReviewSource, Halt> {
        let ReviewSource::Link { url } = source else { return Ok(source) };
        let settings = &self.lease.task().submitted.context.configuration;
        let forges: Vec<(String, String)> =
            settings.iter().filter_map(|(key, value)| Some((key.strip_prefix(FORGE_KEY)?.to_owned(), value.clone()))).collect();
        let link = remote::parse_link(&url, &forges).map_err(Halt::of_problem)?;
        self.log.add(LogLevel::Info, &format!("fetching {}", link.patch_url));
        let patch = tokio::select! {
            patch = remote::fetch_patch(&link, PinLimits::default().patch_bytes) => patch.map_err(Halt::of_problem)?,
            _ = self.halted() => return Err(Halt::Stopped),
        };
        self.log.add(LogLevel::Info, &format!("fetched {} bytes", patch.len()));
        let vault = self.shared.vault.clone();
        match blocking(move || vault.put(&patch)).await {
            Ok(Ok(blob)) => Ok(ReviewSource::Text { blob, label: link.label }),
            Ok(Err(error)) => Err(Halt::of_problem(words::of_engine(&error.into()))),
            Err(_) => Err(Halt::of_problem(words::fault("keeping the fetched patch"))),
        }
    }

    /// Closes the ledger and settles. No stop can come in between: whoever writes one down waits.
    async fn conclude(mut self, outcome: Outcome) {
        let running = self.running.clone();
        let _settling = running.settling.lock().await;
        let (outcome, facts) = match self.facts(outcome).await {
            Ok(decided) => decided,
            Err(error) => {
                tracing::error!(error = words::chain(&error), "failed to look up what an attempt did; it is settled without");
                return self.settle(Settlement::Requeue).await;
            }
        };
        let settlement = settlement(outcome, facts);
        self.settle(settlement).await;
    }

    /// What the settlement rests on. Closes the ledger on the way.
    async fn facts(&mut self, mut outcome: Outcome) -> Result<(Outcome, Facts), StoreError> {
        let stop = self.running.stop_request().map(|request| request.cause);
        let task = self.shared.store.task(st_model::id::TaskRef::Id(self.lease.task().id)).await?;
        let has_results = task.findings.total() > 0 || task.covered > 0;
        let goes_on = stop == Some(StopCause::EngineStop) && matches!(outcome, Outcome::Stopped);
        if !goes_on && task.pinned_at.is_some() {
            let left = self.close_ledger(&task, stop, &outcome).await?;
            if left > 0 && outcome == Outcome::Said(WorkerEnd::Done) {
                outcome = Outcome::Said(WorkerEnd::Partial { problem: words::ledger_open(left) });
            }
        }
        let limits = &task.submitted.limits;
        let facts = Facts {
            stop,
            timed_out: words::timed_out(task.number, limits.wall_timeout, self.phase, has_results),
            has_results,
            attempt: self.lease.held().number,
            policy: limits.retry,
            jitter: self.shared.random.unit(),
            now: self.shared.clock.now(),
        };
        Ok((outcome, facts))
    }

    /// Gives every file of the change that has none a line that says so; returns how many. A
    /// failure that will be tried again closes nothing.
    async fn close_ledger(&self, task: &Task, stop: Option<StopCause>, outcome: &Outcome) -> Result<usize, StoreError> {
        let Some(files) = &self.files else { return Ok(0) };
        let ends = match outcome {
            Outcome::Said(WorkerEnd::Done | WorkerEnd::Partial { .. }) | Outcome::Stopped => true,
            Outcome::Said(WorkerEnd::Failed { class, .. }) | Outcome::Failed { class, .. } => {
                stop.is_some() || *class == FailureClass::Permanent || self.lease.held().number >= task.submitted.limits.retry.max_attempts
            }
        };
        if !ends {
            return Ok(0);
        }
        let ledger = self.shared.store.coverage(task.id).await?;
        let covered: std::collections::HashSet<&RepoPath> = ledger.iter().map(|entry| &entry.file).collect();
        let left: Vec<&RepoPath> = files.iter().filter(|file| !covered.contains(file)).collect();
        let why = words::not_reached(stop);
        for batch in left.chunks(LEDGER_BATCH) {
            let line =
                |file: &RepoPath| Record::Covered(CoverageEntry { file: file.clone(), status: CoverageStatus::Failed(why.to_owned()) });
            self.lease.record(batch.iter().map(|file| line(file)).collect()).await?;
        }
        Ok(left.len())
    }

    async fn settle(mut self, settlement: Settlement) {
        self.say(&settlement);
        self.clear().await;
        let kept_at = self.shared.dir.pin(self.lease.task().id);
        let mut lease = self.lease;
        loop {
            match lease.try_settle(settlement.clone()).await {
                Ok(after) => {
                    tracing::info!(state = after.state.name(), "the attempt is settled");
                    if after.state.is_at_rest() {
                        let _ = blocking(move || pin::forget(&kept_at)).await;
                    }
                    return;
                }
                Err((_, error @ (StoreError::LeaseLost | StoreError::Illegal(_) | StoreError::Closed))) => {
                    tracing::error!(error = words::chain(&error), "failed to settle an attempt; the next start puts its task back");
                    return;
                }
                Err((_, error)) if self.shared.stopping.load(Ordering::SeqCst) => {
                    tracing::error!(error = words::chain(&error), "failed to settle an attempt; the next start puts its task back");
                    return;
                }
                Err((held, error)) => {
                    // A full disk, most likely. The outcome is known and must not be lost.
                    tracing::error!(error = words::chain(&error), "failed to settle an attempt; trying again");
                    lease = *held;
                    tokio::time::sleep_until(Instant::now() + SETTLE_AGAIN).await;
                }
            }
        }
    }

    /// The log's closing line.
    fn say(&mut self, settlement: &Settlement) {
        match settlement {
            Settlement::Rest(RestState::Done) => self.log.add(LogLevel::Info, "done"),
            Settlement::Rest(RestState::Cancelled) => self.log.add(LogLevel::Info, "cancelled"),
            Settlement::Rest(RestState::Partial { problem }) => self.log.add(LogLevel::Warn, &format!("stopped early: {problem}")),
            Settlement::Rest(RestState::Failed { problem }) => self.log.add(LogLevel::Error, &format!("failed: {problem}")),
            Settlement::Retry { retry_at, problem, .. } => {
                self.log.add(LogLevel::Warn, &format!("failed, and is tried again at {retry_at}: {problem}"));
            }
            Settlement::Requeue => self.log.add(LogLevel::Info, "put back into the queue"),
            Settlement::RollBack { .. } => self.log.add(LogLevel::Info, "rolling back"),
        }
    }

    /// Removes the attempt's work folder.
    async fn clear(&self) {
        let dir = self.dir.clone();
        if let Ok(Err(error)) = blocking(move || dir.clear()).await {
            tracing::warn!(%error, "failed to remove an attempt's work folder; the next start does");
        }
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, tokio::task::JoinError> {
    tokio::task::spawn_blocking(work).await
}

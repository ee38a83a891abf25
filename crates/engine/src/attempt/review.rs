//! The second phase: the worker process, its talk, its time and its end.

use std::time::Duration;

use st_model::broker::WorkerEnd;
use st_model::retry::FailureClass;
use st_model::state::{Phase, StopCause};
use st_sandbox::spawn::{Exit, WorkerCommand, WorkerProcess};
use st_store::Queue as _;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Attempt, GRACE, Halt};
use crate::broker::{Broker, Fault, Spoken};
use crate::engine::Shared;
use crate::log::{MAX_LOG_BYTES, last_line};
use crate::registry::Running;
use crate::registry::StopRequest;
use crate::{socket, words};

/// Most private memory of a worker.
const MEMORY_BYTES: u64 = 2 << 30;
/// Largest file a worker may write. Its output shares the attempt's log.
const FILE_BYTES: u64 = MAX_LOG_BYTES + (1 << 20);
/// How long a worker may take to go once it has said how it ended, and its connection to end once it has gone.
const LINGER: Duration = Duration::from_secs(10);

impl Attempt {
    /// Runs the worker to its end and returns what it said, or why there is no such word.
    pub(super) async fn review(&mut self) -> Result<WorkerEnd, Halt> {
        self.enter(Phase::Review).await?;
        let infrastructure = |problem| Halt::Failed { class: FailureClass::Infrastructure, problem };
        let listener = socket::listen(self.dir.root()).map_err(|error| infrastructure(words::not_started(&error)))?;
        let command = self.command().map_err(|error| infrastructure(words::not_started(&error)))?;
        let mut process = self.shared.spawner.spawn(command).await.map_err(|error| infrastructure(words::not_started(&error)))?;
        let identity = process.identity().clone();
        // Durable before the worker passes its gate: no engine will ever not know of it.
        self.lease.record_process(identity.pid, identity.start_ticks, &identity.machine_boot).await.map_err(Halt::of_store)?;
        process.release().map_err(|error| infrastructure(words::not_started(&error)))?;
        tracing::debug!(pid = identity.pid, "the worker began");

        let (spoken, exit) = self.supervise(&mut process, listener).await;
        match spoken {
            Ok(Spoken { ended: Some(ended), .. }) => Ok(ended),
            Err(Fault::Store(error)) => Err(Halt::of_store(error)),
            // Told to stop, it stopped; how does not matter.
            Ok(Spoken { ended: None, .. }) | Err(Fault::Nonsense(_)) if self.running.stop_request().is_some() => Err(Halt::Stopped),
            Ok(Spoken { ended: None, .. }) => {
                let number = self.lease.task().number;
                Err(infrastructure(words::worker_died(number, exit, MEMORY_BYTES, last_line(&self.dir.log()).as_deref())))
            }
            Err(Fault::Nonsense(lines)) => Err(infrastructure(words::nonsense(lines))),
        }
    }

    fn command(&self) -> std::io::Result<WorkerCommand> {
        let work = self.dir.work().to_string_lossy().into_owned();
        let env = [
            ("HOME", work.clone()),
            ("LANG", "C.UTF-8".to_owned()),
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("SIDETRACK_SOCKET", socket::FROM_WORK.to_owned()),
            ("SIDETRACK_TASK", self.lease.task().id.to_string()),
            ("SIDETRACK_WORKSPACE", work),
            ("TMPDIR", self.dir.temp().to_string_lossy().into_owned()),
        ];
        Ok(WorkerCommand {
            program: self.shared.worker_program.clone(),
            args: self.shared.worker_args.clone(),
            dir: self.dir.work(),
            env: env.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            output: self.log.for_worker()?,
            memory_bytes: MEMORY_BYTES,
            file_bytes: FILE_BYTES,
        })
    }

    /// Listens to the worker and sees to its end, whichever comes first: its own, a stop, the
    /// time limit. Returns once no process of it is left.
    async fn supervise(&mut self, process: &mut WorkerProcess, listener: tokio::net::UnixListener) -> (Result<Spoken, Fault>, Exit) {
        let (gone, overdue) = (CancellationToken::new(), CancellationToken::new());
        let mut requests = self.running.stop_requests();
        let (task, running, shared) = (self.lease.task().id, &self.running, &self.shared);
        let broker = Broker { task, recorder: &self.lease, log: &mut self.log, running, ticks: &shared.ticks };
        let broker = broker.serve(listener, gone.clone(), overdue.clone());
        tokio::pin!(broker);

        let mut spoken = None;
        let mut exit = None;
        let mut kill_at = running.stop_request().map(|request| Instant::now() + request.grace);
        // The wall limit first; later how long the other end may linger.
        let mut deadline = self.deadline;
        let mut timed = true;
        loop {
            if let Some(exit) = exit
                && let Some(spoken) = spoken.take()
            {
                return (spoken, exit);
            }
            tokio::select! {
                biased;
                outcome = &mut broker, if spoken.is_none() => {
                    if outcome.is_err() {
                        // Nothing it says can be kept any more.
                        kill_at = Some(Instant::now());
                    }
                    spoken = Some(outcome);
                    (timed, deadline) = (false, Instant::now() + LINGER);
                }
                status = end_of(process, kill_at), if exit.is_none() => {
                    exit = Some(status);
                    gone.cancel();
                    (timed, deadline) = (false, Instant::now() + LINGER);
                }
                Ok(()) = requests.changed() => {
                    if let Some(StopRequest { grace, .. }) = running.stop_request() {
                        let at = Instant::now() + grace;
                        kill_at = Some(kill_at.map_or(at, |held| held.min(at)));
                    }
                }
                () = tokio::time::sleep_until(deadline) => {
                    if timed {
                        timed = false;
                        deadline += GRACE + LINGER;
                        time_out(shared, running, task).await;
                    } else if exit.is_none() {
                        kill_at = Some(Instant::now());
                        deadline += LINGER;
                    } else {
                        // Something outside the worker's session holds its connection open.
                        overdue.cancel();
                        deadline += LINGER;
                    }
                }
            }
        }
    }
}

/// Waits for the worker's own end, or ends it by `kill_at`.
async fn end_of(process: &mut WorkerProcess, kill_at: Option<Instant>) -> Exit {
    match kill_at {
        None => process.exited().await,
        Some(at) => process.stop(at.saturating_duration_since(Instant::now())).await,
    }
}

/// Writes down that the time limit was reached, and asks the attempt to stop.
pub(super) async fn time_out(shared: &Shared, running: &Running, task: st_model::id::TaskId) {
    let _settling = running.settling.lock().await;
    if let Err(error) = shared.store.apply(task, st_model::state::TaskEvent::Stop(StopCause::TimedOut)).await {
        tracing::warn!(error = words::chain(&error), "failed to write down that the time limit was reached");
    }
    running.ask_to_stop(StopRequest { cause: StopCause::TimedOut, grace: GRACE });
}

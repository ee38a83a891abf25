use std::io::Write as _;
use std::os::unix::net::UnixStream as StdStream;
use std::sync::Mutex;

use st_model::coverage::{CoverageEntry, CoverageStatus};
use st_model::path::RepoPath;
use uuid::Uuid;

use super::*;

/// Keeps every commit; fails from the given one on.
#[derive(Default)]
struct Commits {
    kept: Mutex<Vec<Vec<Record>>>,
    fail_from: Option<usize>,
}

impl Recorder for Commits {
    async fn record(&self, records: Vec<Record>) -> Result<(), StoreError> {
        let mut kept = self.kept.lock().unwrap();
        if self.fail_from.is_some_and(|from| kept.len() >= from) {
            return Err(StoreError::LeaseLost);
        }
        kept.push(records);
        Ok(())
    }
}

struct Heard {
    outcome: Result<Spoken, Fault>,
    commits: Vec<Vec<Record>>,
    log: String,
    ticks: Vec<Progress>,
}

/// Lets `worker` speak to a broker from a thread of its own, as a worker would from its process.
async fn heard(commits: Commits, worker: impl FnOnce(StdStream) + Send + 'static) -> Heard {
    let folder = tempfile::tempdir().unwrap();
    let listener = crate::socket::listen(folder.path()).unwrap();
    let mut log = AttemptLog::open(&folder.path().join("log")).unwrap();
    let running = Running::default();
    let ticks = broadcast::Sender::new(1000);
    let mut told = ticks.subscribe();
    let broker = Broker { task: TaskId(Uuid::nil()), recorder: &commits, log: &mut log, running: &running, ticks: &ticks };
    let socket = folder.path().join(crate::socket::NAME);
    let gone = CancellationToken::new();
    let end = gone.clone();
    let thread = tokio::task::spawn_blocking(move || {
        worker(StdStream::connect(socket).unwrap());
        end.cancel();
    });
    let outcome = broker.serve(listener, gone, CancellationToken::new()).await;
    thread.await.unwrap();
    let mut seen = Vec::new();
    while let Ok(tick) = told.try_recv() {
        seen.push(tick.progress);
    }
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    Heard { outcome, commits: commits.kept.into_inner().unwrap(), log, ticks: seen }
}

fn say(stream: &mut StdStream, message: &BrokerMessage) {
    let mut line = serde_json::to_vec(message).unwrap();
    line.push(b'\n');
    stream.write_all(&line).unwrap();
}

fn covered(number: usize) -> BrokerMessage {
    let file = RepoPath::parse(format!("f{number}").as_bytes()).unwrap();
    BrokerMessage::Covered { entry: CoverageEntry { file, status: CoverageStatus::Reviewed } }
}

fn progress(done: u64) -> BrokerMessage {
    BrokerMessage::Progress { progress: Progress { done, total: Some(9), unit: "files".into(), line: String::new() } }
}

const DONE: BrokerMessage = BrokerMessage::Ended { ended: WorkerEnd::Done };

#[tokio::test(flavor = "multi_thread")]
async fn facts_are_committed_together_and_none_is_lost() {
    let heard = heard(Commits::default(), |mut stream| {
        (0..1000).for_each(|number| say(&mut stream, &covered(number)));
        say(&mut stream, &DONE);
    })
    .await;
    assert_eq!(heard.outcome.unwrap().ended, Some(WorkerEnd::Done));
    assert_eq!(heard.commits.iter().map(Vec::len).sum::<usize>(), 1000);
    assert!(heard.commits.len() >= 1000 / BATCH && heard.commits.iter().all(|commit| commit.len() <= BATCH));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_only_says_one_thing_and_waits_is_heard_at_once() {
    // The worker goes on only once its first fact was committed: it hears nothing back, so it
    // watches what the double keeps.
    let commits = std::sync::Arc::new(Commits::default());
    let folder = tempfile::tempdir().unwrap();
    let listener = crate::socket::listen(folder.path()).unwrap();
    let mut log = AttemptLog::open(&folder.path().join("log")).unwrap();
    let (running, ticks) = (Running::default(), broadcast::Sender::new(8));
    let broker = Broker { task: TaskId(Uuid::nil()), recorder: commits.as_ref(), log: &mut log, running: &running, ticks: &ticks };
    let socket = folder.path().join(crate::socket::NAME);
    let watched = commits.clone();
    let worker = tokio::task::spawn_blocking(move || {
        let mut stream = StdStream::connect(socket).unwrap();
        say(&mut stream, &covered(1));
        while watched.kept.lock().unwrap().is_empty() {
            std::thread::yield_now();
        }
        say(&mut stream, &DONE);
    });
    broker.serve(listener, CancellationToken::new(), CancellationToken::new()).await.unwrap();
    worker.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_that_are_no_messages_are_refused_and_the_others_kept() {
    let heard = heard(Commits::default(), |mut stream| {
        stream.write_all(b"not json\n{\"say\":\"unknown\"}\n\xff\xfe\n").unwrap();
        say(&mut stream, &covered(1));
        let mut long = vec![b'x'; 3 * MAX_LINE_BYTES];
        long.push(b'\n');
        stream.write_all(&long).unwrap();
        say(&mut stream, &covered(2));
        // A path that would leave the repository does not even parse.
        stream.write_all(b"{\"say\":\"covered\",\"entry\":{\"file\":\"../x\",\"status\":\"reviewed\"}}\n").unwrap();
        say(&mut stream, &DONE);
    })
    .await;
    assert_eq!(heard.outcome.unwrap().ended, Some(WorkerEnd::Done));
    assert_eq!(heard.commits.iter().map(Vec::len).sum::<usize>(), 2);
    assert_eq!(heard.log.matches("WARN refused: ").count(), 5, "{}", heard.log);
    assert!(heard.log.contains("a line is longer than 262144 bytes"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_nonsense_ends_the_talk_and_not_the_engine() {
    let heard = heard(Commits::default(), |mut stream| {
        say(&mut stream, &covered(1));
        for _ in 0..10_000 {
            if stream.write_all(b"nonsense\n").is_err() {
                break;
            }
        }
    })
    .await;
    assert!(matches!(heard.outcome, Err(Fault::Nonsense(lines)) if lines == MAX_MALFORMED + 1));
    assert!(heard.log.lines().count() <= 30, "the log was not flooded");
}

#[tokio::test(flavor = "multi_thread")]
async fn ticks_are_thinned_and_the_newest_is_told_last() {
    let heard = heard(Commits::default(), |mut stream| {
        (1..=5000).for_each(|done| say(&mut stream, &progress(done)));
        say(&mut stream, &DONE);
    })
    .await;
    assert!(heard.ticks.len() < 500, "{} ticks of 5000", heard.ticks.len());
    assert_eq!((heard.ticks.first().unwrap().done, heard.ticks.last().unwrap().done), (1, 5000));
    assert!(heard.ticks.is_sorted_by_key(|tick| tick.done));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_breaks_off_without_a_word_has_no_end_to_tell() {
    let heard = heard(Commits::default(), |mut stream| {
        say(&mut stream, &covered(1));
        stream.write_all(b"{\"say\":\"ended\",\"ended\":{\"how\":\"do").unwrap();
    })
    .await;
    assert_eq!(heard.outcome.unwrap().ended, None);
    assert_eq!(heard.commits.concat().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_lease_ends_the_talk() {
    let commits = Commits { fail_from: Some(0), ..Commits::default() };
    let heard = heard(commits, |mut stream| {
        say(&mut stream, &covered(1));
        say(&mut stream, &DONE);
    })
    .await;
    assert!(matches!(heard.outcome, Err(Fault::Store(StoreError::LeaseLost))));
}

#[tokio::test]
async fn what_a_worker_said_before_it_went_is_heard_even_if_nobody_looked_until_then() {
    let folder = tempfile::tempdir().unwrap();
    let listener = crate::socket::listen(folder.path()).unwrap();
    let mut stream = StdStream::connect(folder.path().join(crate::socket::NAME)).unwrap();
    say(&mut stream, &covered(1));
    say(&mut stream, &DONE);
    drop(stream);
    let mut log = AttemptLog::open(&folder.path().join("log")).unwrap();
    let (running, ticks, commits) = (Running::default(), broadcast::Sender::new(8), Commits::default());
    let gone = CancellationToken::new();
    gone.cancel();
    let broker = Broker { task: TaskId(Uuid::nil()), recorder: &commits, log: &mut log, running: &running, ticks: &ticks };
    let spoken = broker.serve(listener, gone, CancellationToken::new()).await.unwrap();
    assert_eq!(spoken.ended, Some(WorkerEnd::Done));
    assert_eq!(commits.kept.lock().unwrap().concat().len(), 1);
}

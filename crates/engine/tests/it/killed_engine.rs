//! The engine is killed in the middle of an attempt, again and again.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use st_engine::Engine;
use st_model::event::EventKind;
use st_model::id::EventSeq;
use st_model::review::ReviewSource;
use st_store::Queue as _;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::fixtures::{PATCH, config, covered, done, fifo, finding, is_alive, scripted};
use crate::worker::Step;

const ROUNDS: usize = 20;
const DIR: &str = "SIDETRACK_TEST_ENGINE";
const PATIENCE: Duration = Duration::from_secs(60);

/// Not a test by itself: an engine in a process of its own. It prints every event once, as
/// `event SEQ NAME`, and queues a task for each line on its stdin.
#[tokio::test(flavor = "multi_thread")]
async fn an_engine_to_be_killed() {
    let Ok(dir) = std::env::var(DIR) else { return };
    let dir = Path::new(&dir);
    let engine = Engine::start(config(&dir.join("data"), 1)).await.unwrap();
    let mut live = engine.store().subscribe();
    tokio::spawn({
        let (engine, dir) = (engine.clone(), dir.to_owned());
        async move {
            let mut lines = BufReader::new(tokio::io::stdin()).lines();
            while let Ok(Some(round)) = lines.next_line().await {
                let blob = engine.vault().put(PATCH).unwrap();
                let hang = vec![finding(1), Step::WritePid(dir.join(format!("pid-{round}"))), Step::AwaitFifo(dir.join("never"))];
                let steps = [Step::OnceBy { marker: dir.join(format!("once-{round}")), steps: hang }, finding(2), covered("a.txt"), done()];
                engine.submit(scripted(ReviewSource::Text { blob, label: "t".into() }, &steps)).await.unwrap();
            }
        }
    });
    let mut last = EventSeq(0);
    loop {
        let events = engine.store().events(last, None, 1000).await.unwrap();
        let mut text = String::new();
        for event in &events {
            let settled = match &event.kind {
                EventKind::Settled { state, .. } => state.as_str(),
                _ => "",
            };
            text.push_str(&format!("event {} {} {settled}\n", event.seq, event.kind.name()));
            last = event.seq;
        }
        tokio::io::stdout().write_all(text.as_bytes()).await.unwrap();
        tokio::io::stdout().flush().await.unwrap();
        if events.is_empty() {
            let _ = live.recv().await;
        }
    }
}

struct EngineProcess {
    child: Child,
    orders: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    /// Number of the newest event it told.
    seq: u64,
}

impl EngineProcess {
    fn start(dir: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "killed_engine::an_engine_to_be_killed", "--nocapture"])
            .env(DIR, dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (orders, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, orders, output: BufReader::new(output).lines(), seq: 0 }
    }

    /// Reads on until `name` (and, for a settled task, `state`), seeing that no number is missing.
    async fn told(&mut self, since: u64, name: &str, state: &str) {
        let reading = async {
            loop {
                let line = self.output.next_line().await.unwrap().expect("the engine went on");
                let Some(event) = line.trim_start_matches("test killed_engine::an_engine_to_be_killed ... ").strip_prefix("event ") else {
                    continue;
                };
                let parts: Vec<&str> = event.split(' ').collect();
                let seq = parts[0].parse().unwrap();
                assert_eq!(seq, self.seq + 1, "a gap in the event stream");
                self.seq = seq;
                if seq > since && parts[1] == name && parts[2] == state {
                    return;
                }
            }
        };
        tokio::time::timeout(PATIENCE, reading).await.expect("the event did not come");
    }

    async fn kill(mut self) -> u64 {
        self.child.kill().await.unwrap();
        self.seq
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_whose_engine_is_killed_runs_again_and_finishes() {
    let folder = tempfile::tempdir().unwrap();
    fifo(&folder.path().join("never"));
    let mut seen = 0;
    for round in 0..ROUNDS {
        let mut engine = EngineProcess::start(folder.path());
        engine.orders.write_all(format!("{round}\n").as_bytes()).await.unwrap();
        engine.told(seen, "finding", "").await;
        let pid = std::fs::read_to_string(folder.path().join(format!("pid-{round}")));
        let killed_at = engine.kill().await;

        let mut engine = EngineProcess::start(folder.path());
        engine.told(killed_at, "settled", "done").await;
        if let Ok(pid) = pid {
            assert!(!is_alive(&pid), "a worker outlived its engine");
        }
        seen = engine.kill().await;
    }
    let attempts: Vec<_> = std::fs::read_dir(folder.path().join("data/attempts")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(attempts.len(), 2 * ROUNDS);
    // The last engine was killed, too, so what is left now is what the next one sweeps.
    Engine::start(config(&folder.path().join("data"), 1)).await.unwrap().stop(false).await;
    for attempt in attempts {
        assert!(!attempt.join("work").exists() && attempt.join("log").exists());
    }
}

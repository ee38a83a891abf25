//! `make bench`: ours against named peers, alternating in one run, as ratios of medians.
//!
//! Sizes: `SIDETRACK_BENCH_FILES` (1,000) files, `SIDETRACK_BENCH_ROUNDS` (5) rounds,
//! `SIDETRACK_BENCH_SUBMITS` (200) submits. Peers are found in `$SIDETRACK_BENCH_PEERS` (a folder
//! of programs) and on the path; one that is not there is said and left out.
#![expect(clippy::print_stdout, reason = "its output is what it is for")]
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a bench that can't measure has nothing to say")]

mod corpus;
mod peers;

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use corpus::Corpus;
use peers::Peer;

fn env_number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[expect(clippy::disallowed_methods, reason = "a bench reads the clock")]
fn now() -> Instant {
    Instant::now()
}

fn time(run: impl FnOnce()) -> Duration {
    let start = now();
    run();
    start.elapsed()
}

fn median(values: &mut [Duration]) -> Duration {
    values.sort();
    values[values.len() / 2]
}

fn percentile(values: &mut [Duration], of_hundred: usize) -> Duration {
    values.sort();
    values[(values.len() - 1) * of_hundred / 100]
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// An engine of our own on a scratch data directory, ended with the bench.
struct Ours {
    program: PathBuf,
    data_dir: PathBuf,
    engine: Child,
}

impl Ours {
    fn start(scratch: &Path) -> Self {
        let program = beside("sidetrack");
        let data_dir = scratch.join("data");
        let engine = Command::new(&program)
            .args(["serve", "--data-dir"])
            .arg(&data_dir)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the engine starts");
        let ours = Self { program, data_dir, engine };
        let deadline = now() + Duration::from_secs(20);
        while !ours.command(&["status"]).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
            assert!(now() < deadline, "the engine did not answer");
            std::thread::yield_now();
        }
        ours
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args).arg("--data-dir").arg(&self.data_dir).stdin(Stdio::null());
        command
    }

    fn review(&self, what: &Path) -> serde_json::Value {
        let what = what.to_str().expect("the scratch folder has a plain name");
        let out = self.command(&["review", what, "--wait", "--queue", "--json"]).output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout);
        let last = text.lines().last().unwrap_or_else(|| panic!("no task came back: {}", String::from_utf8_lossy(&out.stderr)));
        let task: serde_json::Value = serde_json::from_str(last).unwrap();
        assert_eq!(task["state"], "done", "{task}");
        task
    }

    /// Time from the submit to the first finding and to the end, as a watching client sees them.
    fn first_finding(&self, what: &Path) -> (Duration, Duration) {
        let mut watch = self.command(&["watch", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
        let start = now();
        let queued = self.command(&["review", what.to_str().unwrap(), "--queue", "--json"]).output().unwrap();
        let task: serde_json::Value = serde_json::from_slice(&queued.stdout).unwrap();
        let (mut first, mut end) = (None, None);
        while end.is_none() {
            let event: serde_json::Value = serde_json::from_str(&lines.next().expect("the stream goes on").unwrap()).unwrap();
            if event["task"] != task["number"] {
                continue;
            }
            match event["kind"].as_str() {
                Some("finding") if first.is_none() => first = Some(start.elapsed()),
                Some("settled") => end = Some(start.elapsed()),
                _ => {}
            }
        }
        watch.kill().unwrap();
        watch.wait().unwrap();
        (first.expect("the corpus has findings"), end.unwrap())
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        // Gone already is as good.
        let _ = self.command(&["stop", "--now"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        let _ = self.engine.wait();
    }
}

/// A binary of the same profile: benches are built into `deps` beside it.
fn beside(name: &str) -> PathBuf {
    let exe = std::env::current_exe().unwrap();
    let path = exe.ancestors().nth(2).unwrap().join(name);
    assert!(path.exists(), "`{}` is missing: build the workspace with the same profile first", path.display());
    path
}

fn main() {
    let scratch = tempfile::Builder::new().prefix("sidetrack-bench-").tempdir().unwrap();
    let files = env_number("SIDETRACK_BENCH_FILES", 1000);
    let rounds = env_number("SIDETRACK_BENCH_ROUNDS", 5);
    let corpus = Corpus::gather(&scratch.path().join("corpus"), files);
    println!(
        "corpus: {} Rust files, {} lines, {:.1} MB, from the packages this workspace builds with",
        corpus.files,
        corpus.lines,
        corpus.bytes as f64 / 1e6
    );
    println!(
        "machine: {} cores, load {}",
        std::thread::available_parallelism().unwrap(),
        std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim()
    );

    let ours = Ours::start(scratch.path());
    throughput(&ours, &corpus, &scratch.path().join("rules"), rounds);
    first_finding(&ours, &corpus, rounds);
    submits(&ours, env_number("SIDETRACK_BENCH_SUBMITS", 200));
}

/// A whole review (queue, pin, worker process, durable findings) against a bare scan by a peer.
fn throughput(ours: &Ours, corpus: &Corpus, rules: &Path, rounds: usize) {
    let peers = Peer::all(rules);
    let mut times = vec![Vec::new(); peers.len() + 1];
    let mut findings = 0;
    for _ in 0..rounds {
        let mut task = serde_json::Value::Null;
        times[0].push(time(|| task = ours.review(&corpus.root)));
        findings = ["high", "medium", "low", "info"].iter().map(|severity| task["findings"][severity].as_u64().unwrap()).sum();
        for (index, peer) in peers.iter().enumerate() {
            times[index + 1].push(time(|| peer.scan(&corpus.root)));
        }
    }
    println!("\nreview throughput, medians of {rounds} alternating rounds");
    let own = median(&mut times[0]);
    let rate = |duration: Duration| (corpus.files as f64 / duration.as_secs_f64(), corpus.lines as f64 / duration.as_secs_f64());
    println!(
        "  {:<34} {:>8.0} files/s {:>10.0} lines/s  ({findings} findings kept)",
        "sidetrack review, full pack",
        rate(own).0,
        rate(own).1
    );
    for (index, peer) in peers.iter().enumerate() {
        let theirs = median(&mut times[index + 1]);
        println!(
            "  {:<34} {:>8.0} files/s {:>10.0} lines/s  time ratio ours/theirs {:.2}",
            peer.name,
            rate(theirs).0,
            rate(theirs).1,
            own.as_secs_f64() / theirs.as_secs_f64()
        );
    }
}

fn first_finding(ours: &Ours, corpus: &Corpus, rounds: usize) {
    let (mut firsts, mut ends) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (first, end) = ours.first_finding(&corpus.root);
        firsts.push(first);
        ends.push(end);
    }
    let (first, end) = (median(&mut firsts), median(&mut ends));
    println!(
        "\nsubmit to first finding: {:.0} ms of {:.0} ms, share {:.2}",
        milliseconds(first),
        milliseconds(end),
        first.as_secs_f64() / end.as_secs_f64()
    );
}

/// A whole `sidetrack review` process from start to exit with the row durable, against `tsp` queueing `true`.
fn submits(ours: &Ours, count: usize) {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("samples/login-rate-limit.patch");
    let sample = sample.to_str().unwrap();
    assert!(ours.command(&["pause"]).stdout(Stdio::null()).status().unwrap().success());
    let spooler = peers::spooler();
    let (mut own, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..count {
        own.push(time(|| assert!(ours.command(&["review", sample, "--queue"]).stdout(Stdio::null()).status().unwrap().success())));
        if let Some(spooler) = &spooler {
            theirs.push(time(|| spooler.submit()));
        }
    }
    println!("\nsubmit (process start to durable row), {count} in sequence");
    let (p50, p99) = (percentile(&mut own, 50), percentile(&mut own, 99));
    println!("  sidetrack review     p50 {:.1} ms  p99 {:.1} ms", milliseconds(p50), milliseconds(p99));
    if theirs.is_empty() {
        println!("  tsp (task-spooler) is not installed: no ratio");
    } else {
        let (their_p50, their_p99) = (percentile(&mut theirs, 50), percentile(&mut theirs, 99));
        println!(
            "  tsp true (not durable) p50 {:.1} ms  p99 {:.1} ms  ratio p50 {:.2}",
            milliseconds(their_p50),
            milliseconds(their_p99),
            p50.as_secs_f64() / their_p50.as_secs_f64()
        );
    }
}

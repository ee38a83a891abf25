//! A worker that does what a script says.
//!
//! The script travels as the patch under review, so nothing but a submit is needed to arrange
//! an attempt. A test binary becomes a worker when an engine executes it with
//! [`st_app::reexec::WORKER_ARG`]: the test harness takes that for a filter and runs the one
//! test whose name holds it.
//!
//! ```ignore
//! #[test]
//! fn scripted__worker() {
//!     st_testkit::worker::main_if_worker();
//! }
//! ```

use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use st_model::broker::{BrokerMessage, LogLevel, WorkerEnd};
use st_model::coverage::{CoverageEntry, CoverageStatus};
use st_model::event::Progress;
use st_model::finding::{Anchor, Finding, FindingStatus, Severity, Side};
use st_model::path::RepoPath;
use st_model::problem::{ErrorCode, Problem};
use st_model::retry::FailureClass;
use st_model::review::{PinnedInput, ReviewJob};

/// One thing a scripted worker does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Reports so many findings, each with a fingerprint of its own.
    Findings(u32),
    /// Reports so many findings that are nearly as large as a worker may send.
    LargeFindings(u32),
    /// Reports a file as reviewed.
    Covered(String),
    /// Reports so many files as reviewed.
    CoveredMany(u32),
    /// Says how far it is.
    Progress(u64, u64),
    /// Says so many times how far it is, as fast as it can.
    Ticks(u64),
    /// Writes a line to the attempt's log.
    Log(String),
    /// Waits until a [`Gate`] is opened.
    Hold(PathBuf),
    /// Says that it is done.
    Done,
    /// Says that it stopped early.
    Partial,
    /// Says that it failed for good.
    Fail,
    /// Exits without a word.
    Die,
}

/// The patch that carries a script.
#[must_use]
pub fn script(steps: &[Step]) -> Vec<u8> {
    let mut patch =
        format!("diff --git a/script b/script\nnew file mode 100644\n--- /dev/null\n+++ b/script\n@@ -0,0 +1,{} @@\n", steps.len());
    for step in steps {
        let line = match step {
            Step::Findings(count) => format!("findings {count}"),
            Step::LargeFindings(count) => format!("large-findings {count}"),
            Step::Covered(file) => format!("covered {file}"),
            Step::CoveredMany(count) => format!("covered-many {count}"),
            Step::Progress(done, total) => format!("progress {done} {total}"),
            Step::Ticks(count) => format!("ticks {count}"),
            Step::Log(text) => format!("log {text}"),
            Step::Hold(gate) => format!("hold {}", gate.display()),
            Step::Done => "done".to_owned(),
            Step::Partial => "partial".to_owned(),
            Step::Fail => "fail".to_owned(),
            Step::Die => "die".to_owned(),
        };
        writeln!(patch, "+{line}").unwrap();
    }
    patch.into_bytes()
}

/// Something a scripted worker waits for.
#[derive(Debug)]
pub struct Gate {
    path: PathBuf,
}

impl Gate {
    /// A closed gate in `folder`.
    ///
    /// # Panics
    /// When it can't be made.
    #[must_use]
    pub fn new(folder: &Path, name: &str) -> Self {
        let path = folder.join(name);
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
        Self { path }
    }

    /// The step that waits for it.
    #[must_use]
    pub fn step(&self) -> Step {
        Step::Hold(self.path.clone())
    }

    /// Lets one worker through; waits until it is there.
    ///
    /// # Panics
    /// When nobody comes.
    pub async fn open(&self) {
        let path = self.path.clone();
        let opening = tokio::task::spawn_blocking(move || File::options().write(true).open(path).map(drop));
        tokio::time::timeout(crate::PATIENCE, opening).await.expect("a worker comes to the gate").unwrap().unwrap();
    }
}

/// Runs the script and ends this process, when an engine has executed it as a worker; otherwise
/// does nothing.
pub fn main_if_worker() {
    let Some(socket) = std::env::var_os("SIDETRACK_SOCKET") else { return };
    std::process::exit(run(Path::new(&socket)));
}

fn run(socket: &Path) -> i32 {
    if std::io::stdin().read_exact(&mut [0]).is_err() {
        return 75;
    }
    let mut broker = Broker(UnixStream::connect(socket).unwrap());
    let job: ReviewJob = serde_json::from_slice(&std::fs::read("job.json").unwrap()).unwrap();
    let PinnedInput::Patch { blob } = job.input else { panic!("a script is a patch") };
    let patch = std::fs::read_to_string(Path::new("blobs").join(blob.to_string())).unwrap();
    let steps = patch.lines().skip_while(|line| !line.starts_with("@@")).filter_map(|line| line.strip_prefix('+'));
    for step in steps {
        let (verb, rest) = step.split_once(' ').unwrap_or((step, ""));
        let number = || rest.parse::<u32>().unwrap();
        match verb {
            "findings" => (0..number()).for_each(|index| broker.say(&BrokerMessage::Finding { finding: Box::new(finding(index)) })),
            "large-findings" => (0..number()).for_each(|index| {
                let finding = Finding { body: "x".repeat(200 << 10), ..finding(index) };
                broker.say(&BrokerMessage::Finding { finding: Box::new(finding) });
            }),
            "covered" => broker.covered(rest),
            "covered-many" => (0..number()).for_each(|index| broker.covered(&format!("file-{index:05}"))),
            "progress" => {
                let (done, total) = rest.split_once(' ').unwrap();
                broker.progress(done.parse().unwrap(), total.parse().unwrap());
            }
            "ticks" => (0..u64::from(number())).for_each(|done| broker.progress(done, u64::from(number()))),
            "log" => broker.say(&BrokerMessage::Log { level: LogLevel::Info, text: rest.to_owned() }),
            "hold" => drop(File::open(rest).unwrap()),
            "done" => return broker.end(WorkerEnd::Done),
            "partial" => return broker.end(WorkerEnd::Partial { problem: told() }),
            "fail" => return broker.end(WorkerEnd::Failed { class: FailureClass::Permanent, problem: told() }),
            "die" => return 1,
            other => panic!("no step `{other}`"),
        }
    }
    1
}

struct Broker(UnixStream);

impl Broker {
    fn say(&mut self, message: &BrokerMessage) {
        let mut line = serde_json::to_vec(message).unwrap();
        line.push(b'\n');
        self.0.write_all(&line).unwrap();
    }

    fn covered(&mut self, file: &str) {
        let file = RepoPath::parse(file.as_bytes()).unwrap();
        self.say(&BrokerMessage::Covered { entry: CoverageEntry { file, status: CoverageStatus::Reviewed } });
    }

    fn progress(&mut self, done: u64, total: u64) {
        let progress = Progress { done, total: Some(total), unit: "files".into(), line: format!("file-{done:05}") };
        self.say(&BrokerMessage::Progress { progress });
    }

    /// Says how it ended, and leaves when the engine hangs up.
    fn end(mut self, ended: WorkerEnd) -> i32 {
        self.say(&BrokerMessage::Ended { ended });
        0
    }
}

fn told() -> Problem {
    Problem::no_change(ErrorCode::Internal, "The script says so", "Change the script.")
}

fn finding(index: u32) -> Finding {
    Finding {
        id: 0,
        file: RepoPath::parse(b"script").unwrap(),
        old_file: None,
        side: Side::New,
        start_line: 1,
        end_line: 1,
        severity: if index.is_multiple_of(2) { Severity::High } else { Severity::Low },
        rule: "test.scripted".into(),
        title: format!("Finding {index}"),
        body: "As the script says.".into(),
        quote: format!("findings {index}"),
        anchor: Anchor::Exact,
        suggestion: None,
        base: None,
        runner: "rules".into(),
        confidence: 1.0,
        cwe: None,
        fingerprint: format!("scripted-{index}"),
        status: FindingStatus::New,
    }
}

//! The scripted worker: what it does is in its task's instructions.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use serde::{Deserialize, Serialize};
use st_model::broker::BrokerMessage;
use st_model::review::ReviewJob;

/// One thing a scripted worker does.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Step {
    /// Sends a message.
    Say(BrokerMessage),
    /// Sends text as it is, so many times.
    Raw { text: String, times: usize },
    /// Writes to its stderr.
    Stderr(String),
    /// Waits until somebody writes to this FIFO.
    AwaitFifo(PathBuf),
    /// Copies a file of its folder out.
    Copy { from: PathBuf, to: PathBuf },
    /// Writes its pid to a file.
    WritePid(PathBuf),
    /// Goes on with these steps only if the file is not there yet, and makes it.
    OnceBy { marker: PathBuf, steps: Vec<Self> },
    /// Ends without a word.
    Exit(i32),
    /// Goes on for ever, deaf to SIGTERM, with a child that is deaf, too.
    Deaf,
}

/// Arguments that make this test binary a scripted worker.
pub(crate) fn args() -> Vec<String> {
    ["--exact", "worker::scripted_worker", "--nocapture", "--test-threads=1"].map(String::from).to_vec()
}

/// Not a test by itself: the worker process of the tests.
#[test]
fn scripted_worker() {
    let Some(socket) = std::env::var_os("SIDETRACK_SOCKET") else { return };
    if std::io::stdin().read_exact(&mut [0]).is_err() {
        leave(75);
    }
    let job: ReviewJob = serde_json::from_slice(&fs::read("job.json").unwrap()).unwrap();
    let steps: Vec<Step> = serde_json::from_str(&job.instructions.unwrap()).unwrap();
    let mut stream = UnixStream::connect(socket).unwrap();
    let mut answers = stream.try_clone().unwrap();
    std::thread::spawn(move || {
        while answers.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {}
        leave(75);
    });
    act(&mut stream, steps);
    leave(0);
}

fn act(stream: &mut UnixStream, steps: Vec<Step>) {
    for step in steps {
        match step {
            Step::Say(message) => {
                let mut line = serde_json::to_vec(&message).unwrap();
                line.push(b'\n');
                stream.write_all(&line).unwrap();
            }
            Step::Raw { text, times } => (0..times).for_each(|_| stream.write_all(text.as_bytes()).unwrap()),
            Step::Stderr(text) => std::io::stderr().write_all(text.as_bytes()).unwrap(),
            Step::AwaitFifo(fifo) => drop(fs::read(fifo).unwrap()),
            Step::Copy { from, to } => drop(fs::copy(from, to).unwrap()),
            Step::WritePid(path) => {
                let part = path.with_extension("part");
                fs::write(&part, std::process::id().to_string()).unwrap();
                fs::rename(part, path).unwrap();
            }
            Step::OnceBy { marker, steps } => {
                if !marker.exists() {
                    fs::write(marker, b"").unwrap();
                    act(stream, steps);
                }
            }
            Step::Exit(code) => leave(code),
            Step::Deaf => {
                let deaf = "trap '' TERM; (while :; do :; done) & while :; do :; done";
                let error = Command::new("/bin/sh").args(["-c", deaf]).exec();
                panic!("{error}");
            }
        }
    }
}

#[expect(clippy::exit, reason = "the whole process is the worker")]
fn leave(code: i32) -> ! {
    std::process::exit(code)
}

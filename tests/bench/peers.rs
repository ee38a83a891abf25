//! The tools we are measured against.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How many simple rules a peer gets: as many as our pack holds for Rust, rounded up.
const RULES: usize = 24;

/// Simple patterns for Rust; each peer gets [`RULES`] of them in its own format.
const PATTERNS: [&str; RULES] = [
    "$X.unwrap()",
    "$X.expect($M)",
    "println!($$$)",
    "dbg!($$$)",
    "todo!($$$)",
    "unimplemented!($$$)",
    "panic!($$$)",
    "std::mem::transmute($X)",
    "std::process::exit($X)",
    "std::env::set_var($A, $B)",
    "Command::new($X)",
    "thread::sleep($X)",
    "$X == $X",
    "$X.len() == 0",
    "let _ = $X;",
    "Box::leak($X)",
    "mem::forget($X)",
    "$X.clone().clone()",
    "format!($X)",
    "String::from(\"\")",
    "Vec::with_capacity(0)",
    "Duration::from_secs(0)",
    "$X as *const $T",
    "return Ok(());",
];

/// A scanner.
pub(crate) struct Peer {
    pub(crate) name: String,
    program: PathBuf,
    args: Vec<String>,
}

fn find(name: &str) -> Option<PathBuf> {
    let own = std::env::var_os("SIDETRACK_BENCH_PEERS").map(PathBuf::from);
    let path = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect::<Vec<_>>()).unwrap_or_default();
    own.into_iter().chain(path).map(|dir| dir.join(name)).find(|program| program.is_file())
}

impl Peer {
    /// The peers that are here, with their rules written into `rules`.
    #[expect(clippy::print_stdout, reason = "says which peers are missing")]
    pub(crate) fn all(rules: &Path) -> Vec<Self> {
        fs::create_dir_all(rules).unwrap();
        let mut peers = Vec::new();
        match find("ast-grep") {
            Some(program) => {
                let file = rules.join("ast-grep.yml");
                fs::write(&file, ast_grep_rules()).unwrap();
                let args = ["scan", "--json=compact", "--rule"]
                    .map(str::to_owned)
                    .into_iter()
                    .chain([file.to_str().unwrap().to_owned()])
                    .collect();
                peers.push(Self { name: format!("ast-grep scan, {RULES} simple rules"), program, args });
            }
            None => println!("ast-grep is not installed: left out"),
        }
        match find("semgrep") {
            Some(program) => {
                let file = rules.join("semgrep.yml");
                fs::write(&file, semgrep_rules()).unwrap();
                let args = ["scan", "--json", "--metrics=off", "--disable-version-check", "--no-git-ignore", "--quiet", "--config"]
                    .map(str::to_owned)
                    .into_iter()
                    .chain([file.to_str().unwrap().to_owned()])
                    .collect();
                peers.push(Self { name: format!("semgrep --config, {RULES} simple rules"), program, args });
            }
            None => println!("semgrep is not installed: left out"),
        }
        peers
    }

    /// One scan of `root`.
    pub(crate) fn scan(&self, root: &Path) {
        let out = Command::new(&self.program)
            .args(&self.args)
            .arg(root)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        // ast-grep says 1 when a rule of severity error matched; both print JSON when they did scan.
        assert!(
            out.stdout.starts_with(b"[") || out.stdout.starts_with(b"{"),
            "{} did not scan: {}",
            self.name,
            String::from_utf8_lossy(&out.stderr)
        );
    }
}

fn ast_grep_rules() -> String {
    let mut text = String::new();
    for (index, pattern) in PATTERNS.iter().enumerate() {
        let separator = if index == 0 { "" } else { "---\n" };
        write!(text, "{separator}id: bench-{index}\nlanguage: rust\nseverity: warning\nmessage: found\nrule:\n  pattern: '{pattern}'\n")
            .unwrap();
    }
    text
}

fn semgrep_rules() -> String {
    let mut text = String::from("rules:\n");
    for (index, pattern) in PATTERNS.iter().enumerate() {
        let pattern = pattern.replace("$$$", "...");
        write!(text, "  - id: bench-{index}\n    languages: [rust]\n    severity: WARNING\n    message: found\n    pattern: '{pattern}'\n")
            .unwrap();
    }
    text
}

/// `task-spooler`, a queue for shell commands.
pub(crate) struct Spooler(PathBuf);

pub(crate) fn spooler() -> Option<Spooler> {
    find("tsp").map(Spooler)
}

impl Spooler {
    /// Queues a command that does nothing.
    pub(crate) fn submit(&self) {
        assert!(Command::new(&self.0).arg("true").stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap().success());
    }
}

impl Drop for Spooler {
    fn drop(&mut self) {
        // Ends the server it started.
        let _ = Command::new(&self.0).arg("-K").status();
    }
}

//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand, ValueEnum};
use st_app::{ErrorCode, Problem};

use crate::output::Output;
use crate::{exit, not_built};

/// Background reviews of code changes: queue one, keep working, read the findings.
#[derive(Debug, Parser)]
#[command(
    name = "sidetrack",
    version,
    about,
    propagate_version = true,
    max_term_width = 100,
    after_help = "Exit codes: 0 queued, or done with --wait · 1 failed · 2 wrong usage or unreadable input · 3 cancelled · \
                  4 stopped early · 5 needs a decision · 6 refused · 7 no engine · 8 findings at or above --fail-on"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// Heading of the options of every command.
const GLOBAL: &str = "Options of every command";

/// Options of every command.
#[derive(Clone, Debug, Args)]
pub(crate) struct Global {
    /// Where tasks are kept; also SIDETRACK_DATA_DIR [default: the platform's data directory]
    #[arg(long, global = true, env = "SIDETRACK_DATA_DIR", value_name = "DIR", hide_env = true, help_heading = GLOBAL)]
    pub(crate) data_dir: Option<PathBuf>,
    /// Print JSON on stdout and nothing else
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) json: bool,
    /// When to use colour
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN", help_heading = GLOBAL)]
    pub(crate) color: Color,
}

/// When colour is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// What is wanted.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Queue a review of a patch, a folder, a repository, a pull request or a branch
    Review(Review),
    /// List tasks, newest first
    List {
        /// Only tasks in this state; may be given more than once
        #[arg(long, value_enum, value_name = "STATE")]
        state: Vec<State>,
        /// At most so many
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        limit: Option<u32>,
    },
    /// Show one task
    Show {
        #[command(flatten)]
        task: TaskArg,
    },
    /// Stream events; resumes at a sequence number without gaps
    Watch {
        /// Only this task; ends when it comes to rest
        #[arg(value_name = "ID")]
        task: Option<String>,
        /// Begin after this event; 0 replays all [default: from now on]
        #[arg(long, value_name = "SEQ")]
        since: Option<u64>,
    },
    /// Print an attempt's output
    Logs {
        #[command(flatten)]
        task: TaskArg,
        /// Go on as more comes, until the task comes to rest
        #[arg(short, long)]
        follow: bool,
        /// The attempt [default: the newest]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        attempt: Option<u32>,
        /// Only the last lines
        #[arg(long, value_name = "N")]
        tail: Option<u32>,
    },
    /// Print a review's findings and what was not reviewed
    Findings {
        #[command(flatten)]
        task: TaskArg,
        /// The form [default: text, or json with --json]
        #[arg(long, value_enum)]
        format: Option<Format>,
    },
    /// Stop a task
    Cancel {
        #[command(flatten)]
        task: TaskArg,
        /// Without letting it end by itself
        #[arg(long)]
        now: bool,
    },
    /// Run a task that has come to rest again, as a new one
    Retry {
        #[command(flatten)]
        task: TaskArg,
    },
    /// Make a task more or less urgent
    Priority {
        #[command(flatten)]
        task: TaskArg,
        /// How urgent
        #[arg(value_enum)]
        level: Level,
    },
    /// Hold new tasks; those that run go on
    Pause,
    /// Let held tasks begin
    Resume,
    /// Say what the engine is doing
    Status {
        /// One line for an editor's or a desktop's status bar; never starts an engine
        #[arg(long)]
        line: bool,
    },
    /// Run the engine (Ctrl-C lets running tasks finish)
    Serve {
        /// How many tasks run at once [default: half the cores]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
        slots: Option<u16>,
        /// Start it in the background and return once it answers
        #[arg(long)]
        detach: bool,
        /// End after so long without a client and without an open task, such as 10m
        #[arg(long, value_name = "DURATION", value_parser = duration)]
        idle_exit: Option<Duration>,
    },
    /// End the engine once running tasks have finished; waiting ones stay queued
    Stop {
        /// Put running tasks back in the queue instead of letting them finish
        #[arg(long)]
        now: bool,
    },
    /// Say what this machine can enforce, and how to get more
    Doctor,
    /// Read and change settings
    Config {
        #[command(subcommand)]
        verb: Config,
    },
    /// Print a shell's completion script
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man {
        /// Write a page for each command into this folder instead
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

/// A task by number or id.
#[derive(Debug, Args)]
pub(crate) struct TaskArg {
    /// A task's number (42 or #42) or its full id
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}

/// `sidetrack review`.
#[derive(Debug, Args)]
pub(crate) struct Review {
    /// What to review, understood in this order: `-` (standard input), an existing path (patch file, git repository,
    /// folder), a GitHub or GitLab pull request's address, REPO@BASE..HEAD, a branch of the current repository
    #[arg(value_name = "WHAT", allow_hyphen_values = false)]
    pub(crate) what: OsString,
    /// Revision to compare a repository or branch with
    #[arg(long, value_name = "REV")]
    pub(crate) base: Option<String>,
    /// Who reviews [default: rules]
    #[arg(long, value_name = "NAME")]
    pub(crate) runner: Option<String>,
    /// How urgent it is
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) priority: Option<Level>,
    /// Wait until it is done, showing progress and findings
    #[arg(long)]
    pub(crate) wait: bool,
    /// Queue it even when it looks short (reviews always are queued)
    #[arg(long)]
    pub(crate) queue: bool,
    /// With --wait: exit with 8 when there are findings of this severity or a graver one
    #[arg(long, value_enum, value_name = "SEVERITY", default_value_t = Severity::Off, requires = "wait", hide_default_value = true)]
    pub(crate) fail_on: Severity,
}

/// `sidetrack config`.
#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Print one setting
    Get {
        /// Its name
        key: String,
    },
    /// Change one setting
    Set {
        /// Its name
        key: String,
        /// Its new value
        #[arg(required_unless_present = "default", conflicts_with = "default", allow_hyphen_values = true)]
        value: Option<String>,
        /// Go back to the default value
        #[arg(long)]
        default: bool,
    },
    /// Print all settings, and where each value comes from
    List,
}

/// A task's urgency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    /// After the others
    Low,
    /// As usual
    Normal,
    /// Before the others
    High,
}

impl Level {
    /// The word the engine takes.
    pub(crate) fn word(self) -> String {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::High => "high",
        }
        .to_owned()
    }
}

/// A threshold of severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Severity {
    /// Defects and holes
    High,
    /// What should be fixed
    Medium,
    /// Small things
    Low,
    /// Anything
    Info,
    /// Never
    Off,
}

impl Severity {
    /// The severity's word; none for `off`.
    pub(crate) fn word(self) -> Option<&'static str> {
        match self {
            Self::High => Some("high"),
            Self::Medium => Some("medium"),
            Self::Low => Some("low"),
            Self::Info => Some("info"),
            Self::Off => None,
        }
    }
}

/// A form of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For a person
    Text,
    /// One object
    Json,
    /// SARIF 2.1.0
    Sarif,
    /// For a comment
    Markdown,
}

/// A task's state, as the contract names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum State {
    Queued,
    Running,
    Retrying,
    RollingBack,
    Done,
    Partial,
    Failed,
    Cancelled,
    NeedsRecovery,
}

impl State {
    /// The word the engine takes.
    pub(crate) fn word(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// `90s`, `10m`, `1h`; a bare number counts seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = &text[digits.len()..];
    let number: u64 = digits.parse().map_err(|_| "write a number and a unit, such as 90s, 10m or 1h".to_owned())?;
    let seconds = match unit {
        "" | "s" => Some(number),
        "m" | "min" => number.checked_mul(60),
        "h" => number.checked_mul(3600),
        _ => return Err(format!("`{unit}` is no unit; use s, m or h")),
    };
    seconds.filter(|seconds| *seconds <= 365 * 86_400).map(Duration::from_secs).ok_or_else(|| "that is longer than a year".to_owned())
}

/// Understands the arguments. Help, version and errors are printed here.
///
/// # Errors
/// The exit code, when there is nothing to run.
pub(crate) fn parse(arguments: &[OsString]) -> Result<Cli, u8> {
    let error = match Cli::try_parse_from(arguments) {
        Ok(cli) => return Ok(cli),
        Err(error) => error,
    };
    let json = arguments.iter().skip(1).take_while(|argument| *argument != "--").any(|argument| argument == "--json");
    let output = Output::new(json, Color::Auto);
    match error.kind() {
        // Clap prints these itself: on stdout, in colour only on a terminal.
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = error.print();
            return Err(exit::DONE);
        }
        ErrorKind::InvalidSubcommand => {
            if let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand)
                && let Some(problem) = not_built::verb(name)
            {
                output.problem(&problem);
                return Err(exit::REFUSED);
            }
        }
        _ => {}
    }
    if json {
        output.problem(&usage(&error));
    } else {
        let _ = error.print();
    }
    Err(exit::USAGE)
}

/// A usage error as the contract's object: clap's first sentence, and its tips as fixes.
fn usage(error: &clap::Error) -> Problem {
    let text = error.to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let message = first.strip_prefix("error: ").unwrap_or(first);
    let mut problem = Problem::refused(ErrorCode::Usage, message, "Run `sidetrack --help` for how it is written.");
    for line in lines {
        if let Some(tip) = line.strip_prefix("tip: ") {
            problem.fix.insert(0, tip.to_owned());
        } else if let Some(usage) = line.strip_prefix("Usage: ") {
            problem.fix.insert(0, format!("Write it as `{usage}`."));
        }
    }
    problem
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn durations_are_read_as_people_write_them() {
        assert_eq!(duration("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1h"), Ok(Duration::from_secs(3600)));
        for bad in ["", "m", "ten", "5x", "99999999999h", "-1s"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn verbs_of_the_contract_are_either_offered_or_known_as_not_built() {
        let command = Cli::command();
        let offered: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        for verb in "review run agent list show status watch logs findings fix diff apply discard cancel retry continue approve priority \
                     pause resume rollback undo-rollback report cat rescue recover serve stop doctor gc config export"
            .split_whitespace()
        {
            assert!(offered.contains(&verb) != not_built::verb(verb).is_some(), "{verb}");
        }
    }
}

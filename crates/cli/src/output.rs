//! Where words go. With `--json`, stdout holds JSON only; people's text goes to stderr.

use std::io::{self, IsTerminal as _, Write as _};

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use st_app::Problem;
use st_app::export::text::Look;
use st_app::export::visible;

use crate::args::Color;
use crate::error::CliError;

/// Where words go.
#[derive(Debug)]
pub(crate) struct Output {
    json: bool,
    color: Color,
}

impl Output {
    /// As the options say.
    pub(crate) fn new(json: bool, color: Color) -> Self {
        Self { json, color }
    }

    /// Whether stdout is for programs.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Whether stdout is a terminal with somebody in front of it.
    pub(crate) fn is_terminal(&self) -> bool {
        !self.json && io::stdout().is_terminal()
    }

    /// How text on stdout is shown.
    pub(crate) fn look(&self) -> Look {
        Look { color: self.uses_color(io::stdout().is_terminal()), width: self.width().unwrap_or(Look::default().width) }
    }

    /// Columns of the terminal on stdout; none when it is no terminal.
    pub(crate) fn width(&self) -> Option<usize> {
        terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0)).filter(|width| *width > 0)
    }

    fn uses_color(&self, terminal: bool) -> bool {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
                !set("NO_COLOR") && (set("CLICOLOR_FORCE") || terminal && !dumb)
            }
        }
    }

    /// A line for people on stdout; with `--json` it goes to stderr.
    pub(crate) fn line(&self, text: &str) -> Result<(), CliError> {
        if self.json {
            self.note(text);
            return Ok(());
        }
        self.raw(text)?;
        self.raw("\n")
    }

    /// Text as it is on stdout.
    pub(crate) fn raw(&self, text: &str) -> Result<(), CliError> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        Ok(stdout.flush()?)
    }

    /// One JSON value on one line of stdout.
    pub(crate) fn json(&self, value: &impl Serialize) -> Result<(), CliError> {
        let mut text = serde_json::to_string(value).map_err(|source| CliError::Output(source.into()))?;
        text.push('\n');
        self.raw(&text)
    }

    /// A line for people on stderr. That stderr is gone stops nothing.
    pub(crate) fn note(&self, text: &str) {
        let _ = writeln!(io::stderr(), "{text}");
    }

    /// An error on stderr: an object with `--json`, else what happened, what is on disk, what to do.
    pub(crate) fn problem(&self, problem: &Problem) {
        if self.json {
            self.note(&serde_json::json!({"error": problem}).to_string());
            return;
        }
        let look = Look { color: self.uses_color(io::stderr().is_terminal()), ..Look::default() };
        let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
        let bold = Style::new().bold();
        let mut text = format!("{} {}\n", look.paint(red, "error:"), visible(&problem.message));
        if !problem.disk_effect.is_empty() {
            text.push_str(&format!("  {}\n", visible(&problem.disk_effect)));
        }
        for fix in &problem.fix {
            text.push_str(&format!("{} {}\n", look.paint(bold, "fix:"), visible(fix)));
        }
        let _ = io::stderr().write_all(text.as_bytes());
    }
}

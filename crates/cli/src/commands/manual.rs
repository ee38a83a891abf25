//! `sidetrack completions` and `sidetrack man`.

use std::path::Path;

use clap::CommandFactory as _;
use clap_complete::Shell;
use st_app::{ErrorCode, Problem};

use super::Outcome;
use crate::args::Cli;
use crate::context::Context;
use crate::exit;

/// Prints a shell's completion script.
pub(super) fn completions(context: &Context, shell: Shell) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "sidetrack", &mut script);
    context.output.raw(&String::from_utf8_lossy(&script))?;
    Ok(exit::DONE)
}

/// Prints the manual page, or writes one for each command into `dir`.
pub(super) fn man(context: &Context, dir: Option<&Path>) -> Outcome {
    let Some(dir) = dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Cli::command()).render(&mut page)?;
        context.output.raw(&String::from_utf8_lossy(&page))?;
        return Ok(exit::DONE);
    };
    let unwritable = |source: std::io::Error| {
        Problem::no_change(
            ErrorCode::Unreadable,
            format!("The pages can't be written to `{}`: {source}", dir.display()),
            "Choose a folder that you can write to.",
        )
    };
    std::fs::create_dir_all(dir).map_err(unwritable)?;
    clap_mangen::generate_to(Cli::command(), dir).map_err(unwritable)?;
    context.output.note(&format!("Wrote the manual pages to `{}`.", dir.display()));
    Ok(exit::DONE)
}

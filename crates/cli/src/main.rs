//! The `sidetrack` command: a thin shell over `st-app`. The same binary is the engine
//! (`serve`) and the engine's worker.

mod args;
mod commands;
mod context;
mod error;
mod exit;
mod not_built;
mod output;
mod render;

use std::process::ExitCode;

use context::Context;
use error::CliError;

fn main() -> ExitCode {
    let arguments: Vec<std::ffi::OsString> = std::env::args_os().collect();
    // The worker comes first: it must not meet the command line's options or its start-up cost.
    if let Some(code) = st_app::reexec::dispatch(&arguments) {
        return exit::code(u8::try_from(code).unwrap_or(exit::FAILED));
    }
    let cli = match args::parse(&arguments) {
        Ok(cli) => cli,
        Err(code) => return exit::code(code),
    };
    let context = Context::new(cli.global);
    let result = commands::run(&context, cli.verb);
    exit::code(match result {
        Ok(code) => code,
        // Whoever read our output has seen enough; that is no error.
        Err(CliError::Closed) => exit::DONE,
        Err(CliError::Problem(problem)) => {
            context.output.problem(&problem);
            exit::of_problem(&problem)
        }
        Err(CliError::Output(source)) => {
            let problem = st_app::Problem::no_change(
                st_app::ErrorCode::Internal,
                format!("The output could not be written: {source}"),
                "Free some space where the output goes, then run the command again.",
            );
            context.output.problem(&problem);
            exit::FAILED
        }
    })
}

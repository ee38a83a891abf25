//! The desktop window: a thin shell over `st_app`. It draws, forwards and tells; it decides
//! nothing about tasks, and ending it ends none of them.

mod args;
mod commands;
mod drop;
mod guard;
mod instance;
mod link;
mod notices;
mod run;
mod tray;
mod window;

use std::process::ExitCode;

fn main() -> ExitCode {
    let args = match args::Args::parse(std::env::args_os().skip(1)) {
        Ok(args) => args,
        Err(problem) => return run::complain(&problem),
    };
    // Before any thread: the renderer reads its environment when it loads.
    if let Err(problem) = guard::reexec_if_needed(&args) {
        return run::complain(&problem);
    }
    match run::run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => run::complain(&problem),
    }
}

//! The one door to the worker: the slim binary, called again.

/// First argument that makes the binary a worker.
pub const WORKER_ARG: &str = "__worker";

/// Runs the worker and returns its exit code when the arguments ask for it; `None` otherwise.
/// Called first thing in `main`.
#[must_use]
pub fn dispatch(args: &[std::ffi::OsString]) -> Option<i32> {
    let first = args.get(1)?;
    (first == WORKER_ARG).then(st_runner::worker::main)
}

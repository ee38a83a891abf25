//! The worker process's main: gate, broker connection, review.

/// Runs one attempt in this process and returns its exit code: waits for the gate byte on
/// stdin (end of file: exit), connects to `$SIDETRACK_SOCKET`, reviews the current folder's
/// `job.json`, and exits when the engine hangs up.
#[must_use]
pub fn main() -> i32 {
    todo!()
}

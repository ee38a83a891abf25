//! The `sidetrack` command.
fn main() {}

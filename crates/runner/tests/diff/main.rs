//! The patch reader against real git, against hostile input, and against its own rules.

mod git;
mod support;

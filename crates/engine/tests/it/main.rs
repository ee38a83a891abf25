//! The engine with real worker processes: this test binary, re-executed, speaks the broker's
//! protocol as a script tells it to.

mod cancel;
mod crash;
mod fixtures;
mod killed_engine;
mod queue;
mod results;
mod worker;

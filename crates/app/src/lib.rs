//! What a user can do, and the one protocol by which window, command line and editors do it.
//!
//! | module | job |
//! |---|---|
//! | [`dto`] | the JSON of the contract |
//! | [`protocol`] | frames of the client protocol |
//! | [`client`] | connects, starting an engine on demand |
//! | [`server`] | `sidetrack serve` |
//! | [`classify`] | what a dropped, pasted or typed thing is |
//! | [`export`] | findings as text, Markdown and SARIF |
//! | [`notify`] | which OS notification an event is worth |
//! | [`reexec`] | the one door to the worker |

pub mod classify;
pub mod client;
pub mod config;
pub mod doctor;
pub mod dto;
pub mod export;
pub mod notify;
pub mod protocol;
pub mod reexec;
pub mod server;
pub mod system;

pub use st_model::problem::{ErrorCode, Problem};

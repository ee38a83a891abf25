//! What a user can do, and the one protocol by which window, command line and editors do it.
//!
//! | module | job |
//! |---|---|
//! | [`dto`], [`convert`] | the JSON of the contract, and how it comes from the model |
//! | [`protocol`] | frames of the client protocol |
//! | [`client`] | connects, starting an engine on demand |
//! | [`server`] | `sidetrack serve` |
//! | [`socket`], [`data_dir`] | where engine and client meet, and that nobody else does |
//! | [`config`], [`doctor`] | settings; what this machine can do |
//! | [`classify`] | what a dropped, pasted or typed thing is |
//! | [`export`] | findings as text, Markdown and SARIF |
//! | [`notify`] | which OS notification an event is worth |
//! | [`reexec`] | the one door to the worker |

pub mod classify;
pub mod client;
pub mod config;
pub mod convert;
pub mod data_dir;
pub mod doctor;
pub mod dto;
pub mod export;
pub mod notify;
mod problems;
pub mod protocol;
pub mod reexec;
pub mod server;
pub mod socket;
pub mod system;
mod wire;

pub use st_model::problem::{ErrorCode, Problem};

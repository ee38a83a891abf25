//! Reading a git repository from outside, as data.
//!
//! What a repository brings along can run code when git is asked about it: hooks, filters,
//! fsmonitor, text conversion, a promisor's fetch. Nothing here does any of that. Objects, refs
//! and the index are parsed in this process; of the configuration only values that change how
//! bytes are compared are read; files of the working tree are read through [`crate::disk`].
//! Nothing is written: no index refresh, no lock, no object.

pub(crate) mod eol;
pub(crate) mod history;
pub(crate) mod ignored;
pub(crate) mod lfs;
pub(crate) mod repository;
pub(crate) mod settings;
pub(crate) mod tree;
pub(crate) mod walk;
pub(crate) mod worktree;

#[cfg(test)]
pub(crate) mod fixture;

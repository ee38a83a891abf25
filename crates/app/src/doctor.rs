//! What this machine can do.

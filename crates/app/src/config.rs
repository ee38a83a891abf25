//! Settings: known keys, their defaults, and where a value comes from.

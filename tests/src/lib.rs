//! Suites that cross crates: end-to-end, crash, tidy, desktop.

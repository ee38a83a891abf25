//! The embedded reviewer: syntax-aware rules over changed code. It checks patterns, not logic.

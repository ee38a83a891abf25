//! Findings as text, Markdown and SARIF 2.1.0.

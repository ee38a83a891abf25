//! `sidetrack doctor`.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use serde_json::json;
use st_app::dto::CheckDto;
use st_app::export::text::Look;

use super::Outcome;
use crate::context::Context;
use crate::exit;

/// Says what this machine can enforce. What does not hold is no error: it is the answer.
pub(super) async fn doctor(context: &Context) -> Outcome {
    // Not asked of an engine: that none can start may be what is to be found out.
    let checks = st_app::doctor::checks(&context.data_dir()?).await;
    if context.output.is_json() {
        context.output.json(&json!({"checks": checks}))?;
    } else {
        context.output.raw(&page(&checks, &context.output.look()))?;
    }
    Ok(exit::DONE)
}

fn page(checks: &[CheckDto], look: &Look) -> String {
    let width = checks.iter().map(|check| check.name.chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for check in checks {
        let (mark, color) = if check.ok { ("✓ yes", AnsiColor::Green) } else { ("✗ no ", AnsiColor::Yellow) };
        let mark = look.paint(Style::new().fg_color(Some(color.into())), mark);
        let _ = writeln!(out, "{mark}  {:width$}  {}", check.name, check.found);
        if let (false, Some(fix)) = (check.ok, &check.fix) {
            let _ = writeln!(out, "       {:width$}  fix: {fix}", "");
        }
    }
    out
}

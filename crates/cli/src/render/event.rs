//! One event as one line.

use anstyle::Style;
use serde_json::Value;
use st_app::dto::{EventDto, FindingDto};
use st_app::export::text::{self, Look};
use st_app::export::visible;

/// The line for an event; none for a progress tick, which means nothing once it is past.
pub(crate) fn line(event: &EventDto, look: &Look) -> Option<String> {
    let seq = event.seq?;
    let time = event.at.get(11..19).unwrap_or(&event.at);
    let words = words(event, look);
    let faint = Style::new().dimmed();
    Some(format!("{} #{} {words}", look.paint(faint, &format!("{seq:>6} {time}")), event.task))
}

fn words(event: &EventDto, look: &Look) -> String {
    let data = &event.data;
    let text = |value: &Value| visible(value.as_str().unwrap_or_default());
    match event.kind.as_str() {
        "submitted" => format!("queued: {}", text(&data["title"])),
        "started" => format!("attempt {} started", data["number"]),
        "phase_entered" => format!("phase: {}", text(&data["phase"])),
        "pinned" => match data["files"].as_u64() {
            Some(1) => "pinned: 1 file".to_owned(),
            Some(files) => format!("pinned: {files} files"),
            None => "pinned".to_owned(),
        },
        "finding" => match serde_json::from_value::<FindingDto>(data["finding"].clone()) {
            Ok(finding) => format!("finding: {}", text::headline(&finding, look)),
            Err(_) => "finding".to_owned(),
        },
        "covered" => {
            let entry = &data["entry"];
            let reason = entry["reason"].as_str().map(|reason| format!(" ({})", visible(reason))).unwrap_or_default();
            format!("{}: {}{reason}", text(&entry["status"]), text(&entry["file"]))
        }
        "note" => format!("note: {}", text(&data["text"])),
        "stopping" => format!("stopping: {}", text(&data["cause"]).replace('_', " ")),
        "retrying" => {
            format!("attempt {} failed: {}; next at {}", data["attempt"], text(&data["problem"]["message"]), text(&data["retry_at"]))
        }
        "requeued" => format!("back in the queue: {}", text(&data["reason"])),
        "settled" => match data["problem"]["message"].as_str() {
            Some(message) => format!("{}: {}", text(&data["state"]), visible(message)),
            None => text(&data["state"]),
        },
        "priority_changed" => format!("priority: {}", text(&data["priority"])),
        // From a later version: shown as it is rather than dropped.
        other => format!("{}: {}", visible(other), visible(&data.to_string())),
    }
}

//! What the UI can ask for: one forwarding function each. Their names stand in
//! `ui/src/lib/backend/commands.ts` too; a test compares the two.

#![expect(clippy::needless_pass_by_value, reason = "the framework hands a command its arguments by value")]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use st_app::dto::{CheckDto, FindingDto, ItemDto, LogPageDto, StatusDto, TaskDto};
use st_app::export::{Report, json, markdown, sarif};
use st_app::protocol::{Call, PatchText, Reply};
use st_app::{ErrorCode, Problem};
use tauri::ipc::Channel;
use tauri::{AppHandle, State};
use tauri_plugin_dialog::DialogExt as _;

use crate::drop::item_of;
use crate::link::{Frame, Link};
use crate::run::Shell;

/// The review the empty window offers, the same as `make run` runs without a display.
const SAMPLE: &[u8] = include_bytes!("../../samples/login-rate-limit.patch");

/// Most reviews one drop starts.
const MOST_AT_ONCE: usize = 10;

type Answer<T> = Result<T, Problem>;

/// The engine answered with something else than was asked; only a fault of ours makes it.
fn odd(reply: &Reply) -> Problem {
    tracing::error!(?reply, "unexpected reply");
    Problem::no_change(
        ErrorCode::Internal,
        "The engine's answer was not the one expected",
        "Restart the window; if it happens again, report it with the log",
    )
}

macro_rules! expect {
    ($link:expr, $call:expr, $variant:path) => {
        match $link.call($call).await? {
            $variant(body) => Ok(body),
            other => Err(odd(&other)),
        }
    };
}

#[tauri::command]
pub(crate) fn ui_ready(app: AppHandle, shell: State<'_, Shell>) {
    shell.ui_ready(&app);
}

#[tauri::command]
pub(crate) fn subscribe(link: State<'_, Link>, channel: Channel<Frame>) {
    link.attach(channel);
}

#[tauri::command]
pub(crate) fn unsubscribe(link: State<'_, Link>) {
    link.detach();
}

#[tauri::command]
pub(crate) async fn classify_items(link: State<'_, Link>, items: Vec<String>) -> Answer<Vec<ItemDto>> {
    expect!(link, Call::Classify { items, cwd: None }, Reply::Items)
}

/// Queues one review an item. When one is refused the ones before it stay queued and the answer
/// is the refusal; the sidebar shows the others.
#[tauri::command]
pub(crate) async fn submit_items(link: State<'_, Link>, items: Vec<String>) -> Answer<Vec<TaskDto>> {
    submit(&link, items).await
}

pub(crate) async fn submit(link: &Link, items: Vec<String>) -> Answer<Vec<TaskDto>> {
    if items.len() > MOST_AT_ONCE {
        let message = format!("{} items were given; one drop starts at most {MOST_AT_ONCE} reviews", items.len());
        return Err(Problem::refused(ErrorCode::TooLarge, message, "Drop fewer at a time, or their folder"));
    }
    let mut tasks = Vec::with_capacity(items.len());
    for what in items {
        let call = Call::Review { what: Some(what), text: None, cwd: None, base: None, runner: None, priority: None };
        let task: Answer<Box<TaskDto>> = expect!(link, call, Reply::Task);
        tasks.push(*task?);
    }
    Ok(tasks)
}

async fn submit_bytes(link: &Link, bytes: &[u8], label: &str) -> Answer<TaskDto> {
    let text = PatchText { b64: STANDARD.encode(bytes), label: label.to_owned() };
    let call = Call::Review { what: None, text: Some(text), cwd: None, base: None, runner: None, priority: None };
    let task: Answer<Box<TaskDto>> = expect!(link, call, Reply::Task);
    task.map(|task| *task)
}

#[tauri::command]
pub(crate) async fn submit_text(link: State<'_, Link>, text: String, label: String) -> Answer<TaskDto> {
    submit_bytes(&link, text.as_bytes(), &label).await
}

#[tauri::command]
pub(crate) async fn submit_sample(link: State<'_, Link>) -> Answer<TaskDto> {
    submit_bytes(&link, SAMPLE, "login-rate-limit.patch").await
}

/// What the native dialog picks.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Browse {
    File,
    Folder,
}

#[tauri::command]
pub(crate) async fn browse(app: AppHandle, kind: Browse) -> Vec<String> {
    let (told, heard) = tokio::sync::oneshot::channel();
    let dialog = app.dialog().file();
    let tell = move |picked: Option<Vec<tauri_plugin_dialog::FilePath>>| {
        // The window may be gone by then; nobody is waiting for the answer.
        let _ = told.send(picked.unwrap_or_default());
    };
    match kind {
        Browse::File => dialog.set_title("Choose patches to review").pick_files(tell),
        Browse::Folder => dialog.set_title("Choose folders to review").pick_folders(tell),
    }
    let picked = heard.await.unwrap_or_default();
    picked.into_iter().filter_map(|path| path.into_path().ok()).map(|path| item_of(&path)).collect()
}

#[tauri::command]
pub(crate) async fn show_task(link: State<'_, Link>, task: u64) -> Answer<TaskDto> {
    let task: Answer<Box<TaskDto>> = expect!(link, Call::Show { task: task.to_string() }, Reply::Task);
    task.map(|task| *task)
}

#[tauri::command]
pub(crate) async fn task_findings(link: State<'_, Link>, task: u64) -> Answer<Vec<FindingDto>> {
    expect!(link, Call::Findings { task: task.to_string() }, Reply::Findings)
}

#[tauri::command]
pub(crate) async fn task_log(link: State<'_, Link>, task: u64, attempt: Option<u32>, from: i64, limit: u32) -> Answer<LogPageDto> {
    expect!(link, Call::Log { task: task.to_string(), attempt, from, limit }, Reply::Log)
}

#[tauri::command]
pub(crate) async fn cancel_task(link: State<'_, Link>, shell: State<'_, Shell>, task: u64, now: bool) -> Answer<TaskDto> {
    shell.by_hand(task);
    let task: Answer<Box<TaskDto>> = expect!(link, Call::Cancel { task: task.to_string(), now }, Reply::Task);
    task.map(|task| *task)
}

#[tauri::command]
pub(crate) async fn retry_task(link: State<'_, Link>, task: u64) -> Answer<TaskDto> {
    let task: Answer<Box<TaskDto>> = expect!(link, Call::Retry { task: task.to_string() }, Reply::Task);
    task.map(|task| *task)
}

#[tauri::command]
pub(crate) async fn set_priority(link: State<'_, Link>, task: u64, priority: String) -> Answer<TaskDto> {
    let task: Answer<Box<TaskDto>> = expect!(link, Call::Priority { task: task.to_string(), priority }, Reply::Task);
    task.map(|task| *task)
}

#[tauri::command]
pub(crate) async fn set_paused(link: State<'_, Link>, paused: bool) -> Answer<()> {
    match link.call(Call::Pause { paused }).await? {
        Reply::Ok => Ok(()),
        other => Err(odd(&other)),
    }
}

#[tauri::command]
pub(crate) async fn engine_status(link: State<'_, Link>) -> Answer<StatusDto> {
    expect!(link, Call::Status, Reply::Status)
}

#[tauri::command]
pub(crate) async fn doctor(link: State<'_, Link>) -> Answer<Vec<CheckDto>> {
    expect!(link, Call::Doctor, Reply::Checks)
}

/// What findings are copied or kept as.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Format {
    Markdown,
    Sarif,
    Json,
}

#[tauri::command]
pub(crate) async fn export_findings(link: State<'_, Link>, task: u64, format: Format) -> Answer<String> {
    let shown: Answer<Box<TaskDto>> = expect!(link, Call::Show { task: task.to_string() }, Reply::Task);
    let findings: Answer<Vec<FindingDto>> = expect!(link, Call::Findings { task: task.to_string() }, Reply::Findings);
    let (shown, findings) = (shown?, findings?);
    let report = Report { task: &shown, findings: &findings, coverage: &shown.coverage };
    Ok(match format {
        Format::Markdown => markdown::markdown(&report),
        Format::Sarif => format!("{:#}", sarif::sarif(&report)),
        Format::Json => format!("{:#}", json::json(&report)),
    })
}

#[tauri::command]
pub(crate) async fn open_in_editor(link: State<'_, Link>, task: u64, file: String, line: u32) -> Answer<()> {
    let origin = link.task(task).and_then(|task| task.origin);
    crate::run::open_in_editor(origin.as_deref(), &file, line)
}

#[tauri::command]
pub(crate) async fn test_notification(shell: State<'_, Shell>) -> Answer<String> {
    shell.test_notification().await
}

//! What each request does.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use st_model::claim::ClaimSet;
use st_model::id::{TaskId, TaskRef};
use st_model::review::{ReviewSource, RunnerName};
use st_model::task::{Limits, NewTask, Task, TaskContext, TaskKind};
use st_store::{Queue as _, TaskFilter};
use st_vault::PinLimits;

use super::{Shared, StopWish, logs};
use crate::classify::{Classified, check_text, classify, looks_like_patch};
use crate::config::Config;
use crate::convert::parse_priority;
use crate::dto::{CoverageDto, ErrorDto, FindingDto, ItemDto, StateDto, TaskDto};
use crate::problems::{internal, of_engine, of_store, task_ref, usage};
use crate::protocol::{Call, PatchText, Reply};
use crate::{ErrorCode, Problem, doctor};

/// Most things that are looked at in one `classify`.
const MOST_ITEMS: usize = 1000;

/// Longest label of an item, in characters.
const LABEL_CHARS: usize = 80;

/// Answers a request; subscriptions are not here.
pub(super) async fn answer(shared: &Shared, call: Call) -> Result<Reply, Problem> {
    match call {
        Call::Review { what, text, cwd, base, runner, priority } => {
            review(shared, ReviewCall { what, text, cwd, base, runner, priority }).await
        }
        Call::Classify { items, cwd } => items_of(shared, items, cwd).await.map(Reply::Items),
        Call::List { states, limit } => list(shared, states, limit).await,
        Call::Show { task } => {
            let task = find(shared, &task).await?;
            let mut row = row(shared, &task).await?;
            row.coverage = coverage(shared, task.id).await?;
            Ok(Reply::Task(Box::new(row)))
        }
        Call::Findings { task } => {
            let task = find(shared, &task).await?;
            let findings = shared.engine.store().findings(task.id).await.map_err(of_store)?;
            Ok(Reply::Findings(findings.iter().map(FindingDto::from).collect()))
        }
        Call::Coverage { task } => {
            let task = find(shared, &task).await?;
            coverage(shared, task.id).await.map(Reply::Coverage)
        }
        Call::Log { task, attempt, from, limit } => {
            let task = find(shared, &task).await?;
            logs::page(&shared.engine, &task, attempt, from, limit).await.map(Reply::Log)
        }
        Call::Cancel { task, now } => {
            let task = shared.engine.cancel(task_ref(&task)?, now).await.map_err(of_engine)?;
            row(shared, &task).await.map(|row| Reply::Task(Box::new(row)))
        }
        Call::Retry { task } => {
            let task = shared.engine.retry(task_ref(&task)?).await.map_err(of_engine)?;
            row(shared, &task).await.map(|row| Reply::Task(Box::new(row)))
        }
        Call::Priority { task, priority } => {
            let priority = parse_priority(&priority)?;
            let task = find(shared, &task).await?;
            let task = shared.engine.store().set_priority(task.id, priority).await.map_err(of_store)?;
            row(shared, &task).await.map(|row| Reply::Task(Box::new(row)))
        }
        Call::Pause { paused } => {
            shared.engine.set_paused(paused).await.map_err(of_engine)?;
            shared.poke();
            Ok(Reply::Status(shared.board.line().await?.status.clone()))
        }
        Call::Status => Ok(Reply::Status(shared.board.line().await?.status.clone())),
        Call::Subscribe { .. } => Err(internal("A subscription came to the wrong place")),
        Call::ConfigList => Ok(Reply::Settings(shared.config().await?.list())),
        Call::ConfigSet { key, value } => {
            let key = Config::check(&key, value.as_deref())?;
            shared.engine.store().set_setting(&key, value.as_deref()).await.map_err(of_store)?;
            let settings = shared.config().await?.list();
            Ok(Reply::Settings(settings.into_iter().filter(|setting| setting.0 == key).collect()))
        }
        Call::Doctor => Ok(Reply::Checks(doctor::checks(&shared.options.data_dir).await)),
        Call::Stop { now } => {
            shared.wish_stop(if now { StopWish::Now } else { StopWish::Drain });
            Ok(Reply::Ok)
        }
    }
}

struct ReviewCall {
    what: Option<String>,
    text: Option<PatchText>,
    cwd: Option<String>,
    base: Option<String>,
    runner: Option<String>,
    priority: Option<String>,
}

async fn review(shared: &Shared, call: ReviewCall) -> Result<Reply, Problem> {
    let config = shared.config().await?;
    let runner = runner(call.runner.as_deref().unwrap_or(&config.review_runner()))?;
    let priority = call.priority.as_deref().map(parse_priority).transpose()?.unwrap_or_default();
    let cwd = folder(call.cwd)?;
    let classified = match (call.what, call.text) {
        (Some(what), None) => look(what, cwd, call.base, config.forges()).await?,
        (None, Some(text)) => keep_text(shared, text).await?,
        (Some(_), Some(_)) | (None, None) => {
            return Err(usage(
                "A review needs either `what` or `text`",
                "Name a patch, a repository, a range or a link, or hand over the patch's text.",
            ));
        }
    };
    let task = NewTask {
        id: TaskId(shared.random.uuid()),
        title: classified.title,
        kind: TaskKind::Review { source: classified.source, runner },
        context: TaskContext { configuration: config.for_task(), ..TaskContext::default() },
        claims: ClaimSet::default(),
        priority,
        limits: Limits { wall_timeout: config.review_timeout(), ..Limits::default() },
        rerun_of: None,
    };
    let task = shared.engine.submit(task).await.map_err(of_engine)?;
    tracing::info!(number = task.number.0, "queued");
    row(shared, &task).await.map(|row| Reply::Task(Box::new(row)))
}

fn runner(name: &str) -> Result<RunnerName, Problem> {
    if name == RunnerName::Rules.as_str() {
        return Ok(RunnerName::Rules);
    }
    Err(usage(format!("There is no runner `{name}` in this version"), "Use `rules`: it needs no key and no network."))
}

/// Looks at what was named, off the runtime's threads: a disk may be slow.
async fn look(what: String, cwd: Option<PathBuf>, base: Option<String>, forges: Vec<(String, String)>) -> Result<Classified, Problem> {
    tokio::task::spawn_blocking(move || classify(&what, cwd.as_deref(), base.as_deref(), &forges))
        .await
        .map_err(|error| internal(format!("Looking at the input failed: {error}")))?
}

/// Keeps text that exists nowhere else in the vault.
async fn keep_text(shared: &Shared, text: PatchText) -> Result<Classified, Problem> {
    let vault = shared.engine.vault().clone();
    let keep = move || {
        let bytes = STANDARD
            .decode(text.b64.as_bytes())
            .map_err(|error| usage(format!("`text.b64` is no base64: {error}"), "Encode the patch's bytes."))?;
        let limit = PinLimits::default().patch_bytes;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limit {
            return Err(Problem::refused(
                ErrorCode::TooLarge,
                format!("The patch has {} MiB; the limit is {} MiB", bytes.len() >> 20, limit >> 20),
                "Split the change, or review the repository with BASE..HEAD.",
            ));
        }
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(Problem::refused(
                ErrorCode::NothingToReview,
                format!("{} is empty", capitalised(&text.label)),
                "Pipe or paste a patch, such as the output of `git diff`.",
            ));
        }
        let summary = check_text(&bytes, &capitalised(&text.label))?;
        let blob = vault.put(&bytes).map_err(|error| of_engine(error.into()))?;
        let label = if text.label.trim().is_empty() { "pasted text".to_owned() } else { shortened(&text.label) };
        Ok(Classified { title: format!("Review {label}"), summary, source: ReviewSource::Text { blob, label } })
    };
    tokio::task::spawn_blocking(keep).await.map_err(|error| internal(format!("Keeping the text failed: {error}")))?
}

async fn items_of(shared: &Shared, items: Vec<String>, cwd: Option<String>) -> Result<Vec<ItemDto>, Problem> {
    if items.len() > MOST_ITEMS {
        return Err(usage(
            format!("{} things at once are more than the {MOST_ITEMS} that are looked at", items.len()),
            "Hand over fewer, or the folder that holds them.",
        ));
    }
    let forges = shared.config().await?.forges();
    let cwd = folder(cwd)?;
    tokio::task::spawn_blocking(move || items.iter().map(|item| item_of(item, cwd.as_deref(), &forges)).collect())
        .await
        .map_err(|error| internal(format!("Looking at the input failed: {error}")))
}

fn item_of(item: &str, cwd: Option<&Path>, forges: &[(String, String)]) -> ItemDto {
    if item.contains('\n') && looks_like_patch(item.as_bytes()) {
        let summary = format!("{} lines", item.lines().count());
        return ItemDto { label: "pasted text".into(), kind: Some("text".into()), summary, error: None };
    }
    match classify(item, cwd, None, forges) {
        Ok(classified) => {
            ItemDto { label: shortened(item), kind: Some(kind_of(&classified.source).into()), summary: classified.summary, error: None }
        }
        Err(problem) => ItemDto { label: shortened(item), kind: None, summary: String::new(), error: Some(ErrorDto::from(&problem)) },
    }
}

fn kind_of(source: &ReviewSource) -> &'static str {
    match source {
        ReviewSource::Text { .. } => "text",
        ReviewSource::PatchFile { .. } => "patch",
        ReviewSource::Uncommitted { .. } => "repository",
        ReviewSource::Range { .. } => "range",
        ReviewSource::Branch { .. } => "branch",
        ReviewSource::Folder { .. } => "folder",
        ReviewSource::Link { .. } => "link",
    }
}

/// The first line, at most [`LABEL_CHARS`] characters of it; what was left out shows as `…`.
fn shortened(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let mut short: String = line.chars().take(LABEL_CHARS).filter(|symbol| !symbol.is_control()).collect();
    if line.chars().count() > LABEL_CHARS || text.trim().lines().nth(1).is_some() {
        short.push('…');
    }
    short
}

fn capitalised(text: &str) -> String {
    let mut symbols = text.chars();
    symbols.next().map(|first| first.to_uppercase().chain(symbols).collect()).unwrap_or_default()
}

fn folder(cwd: Option<String>) -> Result<Option<PathBuf>, Problem> {
    let cwd = cwd.map(PathBuf::from);
    match &cwd {
        Some(relative) if !relative.is_absolute() => {
            Err(usage(format!("`cwd` is not absolute: `{}`", relative.display()), "Send an absolute path."))
        }
        Some(_) | None => Ok(cwd),
    }
}

async fn list(shared: &Shared, states: Vec<String>, limit: Option<u32>) -> Result<Reply, Problem> {
    if let Some(unknown) = states.iter().find(|state| StateDto::ALL.iter().all(|known| known.name() != state.as_str())) {
        let known = StateDto::ALL.map(StateDto::name).join(", ");
        return Err(usage(format!("`{unknown}` is no state"), format!("Use one of {known}.")));
    }
    let line = shared.board.line().await?;
    let tasks = shared.engine.store().tasks(TaskFilter { states, limit }).await.map_err(of_store)?;
    shared.board.rows(&tasks, &line).await.map(Reply::Tasks)
}

async fn find(shared: &Shared, task: &str) -> Result<Task, Problem> {
    let task: TaskRef = task_ref(task)?;
    shared.engine.store().task(task).await.map_err(of_store)
}

async fn row(shared: &Shared, task: &Task) -> Result<TaskDto, Problem> {
    let line = shared.board.line().await?;
    shared.board.row(task, &line).await
}

async fn coverage(shared: &Shared, task: TaskId) -> Result<Vec<CoverageDto>, Problem> {
    let ledger = shared.engine.store().coverage(task).await.map_err(of_store)?;
    Ok(ledger.iter().map(CoverageDto::from).collect())
}

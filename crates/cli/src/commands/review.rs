//! `sidetrack review`.

use std::ffi::OsStr;
use std::io::{self, IsTerminal as _, Read as _};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use st_app::protocol::{Call, MAX_LINE_BYTES, PatchText};
use st_app::{ErrorCode, Problem};

use super::{Outcome, ask, wait};
use crate::args::Review;
use crate::context::Context;
use crate::exit;

/// Most bytes taken from standard input: what fits one line of the protocol as base64.
const MOST_STDIN_BYTES: usize = (MAX_LINE_BYTES - (64 << 10)) / 4 * 3;

/// Queues a review, and with `--wait` stays with it.
pub(super) async fn review(context: &Context, arguments: Review) -> Outcome {
    let Review { what, base, runner, priority, wait, queue: _, fail_on } = arguments;
    let text = if what == "-" { Some(standard_input()?) } else { None };
    let cwd = std::env::current_dir().ok();
    let what = if text.is_some() { None } else { Some(spelled(&what, cwd.as_deref())?) };
    let cwd = cwd.and_then(|cwd| cwd.to_str().map(str::to_owned));
    let client = context.connect().await?;
    let call = Call::Review { what, text, cwd, base, runner, priority: priority.map(crate::args::Level::word) };
    let task = *ask!(client, call, Task)?;
    if wait {
        return wait::wait(context, client, task, fail_on).await;
    }
    submitted(context, &task)?;
    Ok(exit::DONE)
}

/// Prints a queued task's number; who sits at a terminal is told how to go on.
pub(super) fn submitted(context: &Context, task: &st_app::dto::TaskDto) -> Result<(), crate::error::CliError> {
    if context.output.is_json() {
        return context.output.json(task);
    }
    context.output.line(&task.number.to_string())?;
    if context.output.is_terminal() {
        let title = st_app::export::visible(&task.title);
        context.output.note(&format!("Queued #{}: {title}. Follow it with `sidetrack watch {}`.", task.number, task.number));
    }
    Ok(())
}

/// The argument as the engine takes it. A name that JSON can't carry goes as a file address.
fn spelled(what: &OsStr, cwd: Option<&Path>) -> Result<String, Problem> {
    let relative_here = cwd.is_some_and(|cwd| cwd.to_str().is_none()) && Path::new(what).is_relative();
    match what.to_str() {
        Some(text) if !(text.contains(['\n', '\r']) || relative_here) => Ok(text.to_owned()),
        Some(text) if !Path::new(what).exists() => Ok(text.to_owned()),
        _ => {
            let path = std::path::absolute(what).map_err(|source| {
                Problem::refused(ErrorCode::Unreadable, format!("`{}` can't be found: {source}", what.display()), "Give its full path.")
            })?;
            let encoded = percent_encoding::percent_encode(path.as_os_str().as_encoded_bytes(), percent_encoding::NON_ALPHANUMERIC);
            Ok(format!("file://{}", encoded.to_string().replace("%2F", "/")))
        }
    }
}

fn standard_input() -> Result<PatchText, Problem> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Err(Problem::refused(
            ErrorCode::Usage,
            "`-` reads a patch from standard input, and that is the terminal",
            "Pipe one in: `git diff | sidetrack review -`.",
        )
        .or("Or name a file: `sidetrack review change.patch`."));
    }
    let mut bytes = Vec::new();
    let limit = u64::try_from(MOST_STDIN_BYTES).unwrap_or(u64::MAX);
    stdin.lock().take(limit + 1).read_to_end(&mut bytes).map_err(|source| {
        Problem::refused(
            ErrorCode::Unreadable,
            format!("Standard input can't be read: {source}"),
            "Save the patch to a file and review that.",
        )
    })?;
    if bytes.len() > MOST_STDIN_BYTES {
        return Err(Problem::refused(
            ErrorCode::TooLarge,
            format!("Standard input is longer than {} MiB", MOST_STDIN_BYTES >> 20),
            "Save the patch to a file and review that, or split it.",
        ));
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Problem::refused(
            ErrorCode::NothingToReview,
            "Standard input is empty",
            "Check that the command before the pipe prints a diff.",
        ));
    }
    Ok(PatchText { b64: STANDARD.encode(&bytes), label: "stdin".to_owned() })
}

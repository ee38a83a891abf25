//! Puts the window together: connection, tray, notifications, life and death.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use st_app::client::{ConnectOptions, default_data_dir};
use st_app::dto::{StateDto, StatusDto, TaskDto};
use st_app::{ErrorCode, Problem};
use tauri::{AppHandle, Manager as _, RunEvent, WindowEvent};

use crate::args::{Args, Opening};
use crate::link::{Link, Watcher};
use crate::notices::Notices;
use crate::tray::Tray;
use crate::{commands, drop, instance, window};

/// Says a problem where a person who started the window from a terminal sees it.
#[expect(clippy::print_stderr, reason = "the window has no other place before it stands")]
pub(crate) fn complain(problem: &Problem) -> ExitCode {
    eprintln!("error: {problem}\n  {}", problem.disk_effect);
    for fix in &problem.fix {
        eprintln!("  fix: {fix}");
    }
    ExitCode::from(2)
}

/// What the commands share beside the line to the engine.
pub(crate) struct Shell {
    state: Mutex<ShellState>,
    notices: Notices,
}

#[derive(Default)]
struct ShellState {
    /// Wishes of launches that came before the UI listened.
    early: Vec<Opening>,
    ui_listens: bool,
    /// Tasks the user ended by hand here: no notification tells them what they just did.
    by_hand: BTreeSet<u64>,
}

impl Shell {
    fn state(&self) -> MutexGuard<'_, ShellState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The UI listens: give it what earlier launches wished for.
    pub(crate) fn ui_ready(&self, app: &AppHandle) {
        tracing::info!("the UI has drawn");
        let early = {
            let mut state = self.state();
            state.ui_listens = true;
            std::mem::take(&mut state.early)
        };
        for opening in early {
            fulfil(app, opening);
        }
    }

    /// Takes a launch's wishes: at once, or when the UI listens.
    fn take(&self, app: &AppHandle, opening: Opening) {
        let mut state = self.state();
        if state.ui_listens {
            std::mem::drop(state);
            fulfil(app, opening);
        } else {
            state.early.push(opening);
        }
    }

    /// The user ends a task here.
    pub(crate) fn by_hand(&self, task: u64) {
        self.state().by_hand.insert(task);
    }

    /// Shows a notification so that the user can see whether any arrive; says what the desktop offers.
    pub(crate) async fn test_notification(&self) -> Result<String, Problem> {
        self.notices.test().await
    }
}

/// Brings the window up, opens the task, submits the items.
fn fulfil(app: &AppHandle, opening: Opening) {
    window::show(app);
    if let Some(task) = opening.task {
        window::open_task(app, task);
    }
    if opening.items.is_empty() {
        return;
    }
    let app = app.clone();
    tauri::async_runtime::spawn(async move {
        let link = app.state::<Link>().inner().clone();
        match commands::submit(&link, opening.items).await {
            Ok(tasks) => tasks.last().into_iter().for_each(|task| window::open_task(&app, task.number)),
            Err(problem) => window::tell_problem(&app, &problem),
        }
    });
}

/// Tray and notifications follow the stream.
struct Follower {
    app: AppHandle,
    tray: Option<Tray>,
}

impl Watcher for Follower {
    fn changed(&self, changes: &[(Option<TaskDto>, TaskDto)]) {
        let shell = self.app.state::<Shell>();
        for (before, now) in changes {
            let ended_by_hand = now.state == StateDto::Cancelled && shell.state().by_hand.remove(&now.number);
            if !ended_by_hand && !window::is_watched(&self.app) {
                shell.notices.task_changed(before.as_ref(), now);
            }
        }
    }

    fn status(&self, status: &StatusDto) {
        if let Some(tray) = &self.tray {
            tray.update(status);
        }
    }
}

/// Runs the window until it is closed for good.
pub(crate) fn run(args: Args) -> Result<(), Problem> {
    let data_dir = match args.data_dir {
        Some(dir) => dir,
        None => default_data_dir(&|name| std::env::var_os(name))?,
    };
    let instance = match instance::launch(&data_dir, &args.opening)? {
        instance::Launch::HandedOver => return Ok(()),
        instance::Launch::First(instance) => instance,
    };
    let _log = log_to(&data_dir);
    let options = ConnectOptions { data_dir, start: slim_binary(), client: "window".into() };
    let link = Link::new(options);

    let built = tauri::Builder::default()
        .plugin(tauri_plugin_dialog::init())
        .plugin(tauri_plugin_opener::init())
        .manage(link)
        .invoke_handler(tauri::generate_handler![
            commands::ui_ready,
            commands::subscribe,
            commands::unsubscribe,
            commands::classify_items,
            commands::submit_items,
            commands::submit_text,
            commands::submit_sample,
            commands::browse,
            commands::show_task,
            commands::task_findings,
            commands::task_log,
            commands::cancel_task,
            commands::retry_task,
            commands::set_priority,
            commands::set_paused,
            commands::engine_status,
            commands::doctor,
            commands::open_in_editor,
            commands::export_findings,
            commands::test_notification
        ])
        .setup(move |app| {
            let handle = app.handle().clone();
            let opener = handle.clone();
            let notices = tauri::async_runtime::block_on(async {
                Notices::new(move |task| match task {
                    Some(task) => window::open_task(&opener, task),
                    None => window::show(&opener),
                })
            });
            app.manage(Shell { state: Mutex::default(), notices });
            if args.opening != Opening::default() {
                app.state::<Shell>().take(&handle, args.opening.clone());
            }
            let later = handle.clone();
            instance.listen(move |opening| later.state::<Shell>().take(&later, opening))?;
            let tray = Tray::put_up(&handle).inspect_err(|error| tracing::warn!(%error, "this desktop takes no tray icon")).ok();
            app.manage(HasTray(tray.is_some()));
            window::make(&handle)?;
            let link = app.state::<Link>().inner().clone();
            tauri::async_runtime::spawn(link.follow(Arc::new(Follower { app: handle, tray })));
            Ok(())
        })
        .on_window_event(|window, event| match event {
            // With a tray the window waits behind its icon; without one, closing ends the window's
            // process. Either way the tasks go on: they are the engine's.
            WindowEvent::CloseRequested { api, .. } if window.state::<HasTray>().0 => {
                api.prevent_close();
                if let Err(error) = window.hide() {
                    tracing::warn!(%error, "the window did not hide");
                }
            }
            WindowEvent::DragDrop(event) => drop::forward(window, event),
            _ => {}
        })
        .build(context());
    let app = built.map_err(|error| {
        Problem::refused(
            ErrorCode::Internal,
            format!("The window could not be made: {error}"),
            "Check that a display is there (DISPLAY or WAYLAND_DISPLAY)",
        )
        .or("Use the `sidetrack` command instead; it does all the window does")
    })?;
    app.run(|app, event| {
        if let RunEvent::Exit = event {
            app.state::<Link>().detach();
        }
    });
    Ok(())
}

/// The bundle's context: icons, settings, the UI's files.
#[expect(clippy::exit, reason = "the macro's own code ends the process when its thread can't start")]
fn context() -> tauri::Context {
    tauri::generate_context!()
}

/// Whether closing the window can hide it.
struct HasTray(bool);

/// The window's own log: one file a day, the five newest kept. Without it the window still runs.
fn log_to(data_dir: &Path) -> Option<tracing_appender::non_blocking::WorkerGuard> {
    std::fs::create_dir_all(data_dir.join("logs")).ok()?;
    let file = tracing_appender::rolling::Builder::new()
        .rotation(tracing_appender::rolling::Rotation::DAILY)
        .filename_prefix("window")
        .filename_suffix("log")
        .max_log_files(5)
        .build(data_dir.join("logs"))
        .ok()?;
    let (writer, guard) = tracing_appender::non_blocking(file);
    let filter = tracing_subscriber::EnvFilter::try_from_env("SIDETRACK_LOG").unwrap_or_else(|_| "info,zbus=warn".into());
    tracing_subscriber::fmt().with_ansi(false).with_env_filter(filter).with_writer(writer).try_init().ok()?;
    Some(guard)
}

/// The slim `sidetrack` binary: beside this one, as packaged, else on the path.
fn slim_binary() -> Option<PathBuf> {
    let beside = std::env::current_exe().ok().and_then(|exe| exe.parent().map(|dir| dir.join("sidetrack")));
    let on_path = std::env::var_os("PATH")
        .map(|path| std::env::split_paths(&path).map(|dir| dir.join("sidetrack")).collect::<Vec<_>>())
        .unwrap_or_default();
    beside.into_iter().chain(on_path).find(|candidate| candidate.is_file())
}

/// Editors that take a line, with their arguments.
const EDITORS: &[(&str, &[&str])] = &[
    ("code", &["--goto", "{file}:{line}"]),
    ("codium", &["--goto", "{file}:{line}"]),
    ("zed", &["{file}:{line}"]),
    ("subl", &["{file}:{line}"]),
    ("idea", &["--line", "{line}", "{file}"]),
    ("kate", &["--line", "{line}", "{file}"]),
    ("gedit", &["+{line}", "{file}"]),
];

/// Opens a reviewed file at a line, in the first editor found that takes one, else with the desktop's own choice.
pub(crate) fn open_in_editor(origin: Option<&str>, file: &str, line: u32) -> Result<(), Problem> {
    let origin = origin.ok_or_else(|| {
        Problem::no_change(
            ErrorCode::NotFound,
            "This review's text came from no folder of this machine",
            "Copy the finding and look the file up in your checkout",
        )
    })?;
    // A patch lies in a folder, and the files it names are looked for from there.
    let folder = if Path::new(origin).is_dir() { Path::new(origin) } else { Path::new(origin).parent().unwrap_or(Path::new("/")) };
    let path = folder.join(file);
    let real = path.canonicalize().ok().filter(|real| folder.canonicalize().is_ok_and(|folder| real.starts_with(folder)));
    let Some(path) = real else {
        return Err(Problem::no_change(
            ErrorCode::NotFound,
            format!("`{file}` is not there under `{}`", folder.display()),
            "Check out the change first",
        ));
    };
    let found = EDITORS.iter().find_map(|(name, args)| on_path(name).map(|program| (program, *args)));
    let Some((program, args)) = found else {
        return tauri_plugin_opener::open_path(&path, None::<&str>).map_err(|error| {
            Problem::no_change(ErrorCode::Internal, format!("No editor opened `{}`: {error}", path.display()), "Open it by hand")
        });
    };
    let args = args.iter().map(|arg| arg.replace("{file}", &path.to_string_lossy()).replace("{line}", &line.max(1).to_string()));
    let started = Command::new(&program).args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    match started {
        Ok(mut child) => {
            // Reap it when it ends; most editors hand over to a running window and end at once.
            std::thread::spawn(move || child.wait());
            Ok(())
        }
        Err(error) => {
            Err(Problem::no_change(ErrorCode::Internal, format!("`{}` did not start: {error}", program.display()), "Open the file by hand"))
        }
    }
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|candidate| candidate.is_file())
}

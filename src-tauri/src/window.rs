//! The one window: made, shown, hidden.

use tauri::{AppHandle, Emitter as _, Manager as _, WebviewUrl, WebviewWindow, WebviewWindowBuilder, Wry};

/// Label of the window.
pub(crate) const MAIN: &str = "main";

/// Makes the window. Its ground has the colour of the UI's, so that nothing flashes white.
pub(crate) fn make(app: &AppHandle) -> tauri::Result<WebviewWindow<Wry>> {
    WebviewWindowBuilder::new(app, MAIN, WebviewUrl::App("index.html".into()))
        .title("Sidetrack")
        .inner_size(1280.0, 800.0)
        .min_inner_size(960.0, 600.0)
        .background_color(tauri::window::Color(0x0D, 0x0F, 0x12, 0xFF))
        .build()
}

/// Brings the window up, whatever it was doing; makes it anew when it was destroyed.
pub(crate) fn show(app: &AppHandle) {
    let window = match app.get_webview_window(MAIN) {
        Some(window) => window,
        None => match make(app) {
            Ok(window) => window,
            Err(error) => {
                tracing::error!(%error, "the window could not be made");
                return;
            }
        },
    };
    for (doing, result) in [("unminimise", window.unminimize()), ("show", window.show()), ("focus", window.set_focus())] {
        if let Err(error) = result {
            tracing::warn!(%error, doing, "the window did not follow");
        }
    }
}

/// Brings the window up with a task open in it.
pub(crate) fn open_task(app: &AppHandle, number: u64) {
    show(app);
    if let Err(error) = app.emit_to(MAIN, "open-task", serde_json::json!({ "task": number })) {
        tracing::warn!(%error, number, "the task did not open");
    }
}

/// Whether somebody is looking at the window.
pub(crate) fn is_watched(app: &AppHandle) -> bool {
    app.get_webview_window(MAIN).is_some_and(|window| window.is_visible().unwrap_or(false) && window.is_focused().unwrap_or(false))
}

/// Tells the UI of something that went wrong outside it.
pub(crate) fn tell_problem(app: &AppHandle, problem: &st_app::Problem) {
    if let Err(error) = app.emit_to(MAIN, "problem", problem) {
        tracing::warn!(%error, %problem, "the problem did not reach the UI");
    }
}

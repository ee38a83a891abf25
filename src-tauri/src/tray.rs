//! The tray icon: counts, show, quit. Absent without harm where the desktop has no tray.

use st_app::dto::StatusDto;
use tauri::image::Image;
use tauri::menu::{Menu, MenuItem};
use tauri::tray::{MouseButton, MouseButtonState, TrayIcon, TrayIconBuilder, TrayIconEvent};
use tauri::{AppHandle, Wry};

use crate::window;

const IDLE: &[u8] = include_bytes!("../../icons/tray-idle.png");
const BUSY: &[u8] = include_bytes!("../../icons/tray-busy.png");
const ALERT: &[u8] = include_bytes!("../../icons/tray-alert.png");

/// A tray icon that stands.
pub(crate) struct Tray {
    icon: TrayIcon<Wry>,
    counts: MenuItem<Wry>,
}

/// The three faces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Face {
    Idle,
    Busy,
    Alert,
}

fn face(status: &StatusDto) -> Face {
    if status.needs_you > 0 {
        Face::Alert
    } else if status.running > 0 {
        Face::Busy
    } else {
        Face::Idle
    }
}

/// `2 running, 1 waiting, 1 needs you`; `Nothing running` when there is nothing.
fn counts(status: &StatusDto) -> String {
    let mut parts = Vec::new();
    for (count, word) in [
        (status.running, "running"),
        (status.waiting, "waiting"),
        (status.needs_you, if status.needs_you == 1 { "needs you" } else { "need you" }),
    ] {
        if count > 0 {
            parts.push(format!("{count} {word}"));
        }
    }
    if status.paused {
        parts.push("new tasks paused".into());
    }
    if parts.is_empty() { "Nothing running".into() } else { parts.join(", ") }
}

fn image(face: Face) -> tauri::Result<Image<'static>> {
    Image::from_bytes(match face {
        Face::Idle => IDLE,
        Face::Busy => BUSY,
        Face::Alert => ALERT,
    })
}

impl Tray {
    /// Puts the icon up, or says why the desktop takes none.
    pub(crate) fn put_up(app: &AppHandle) -> tauri::Result<Self> {
        let counts = MenuItem::with_id(app, "counts", "Nothing running", false, None::<&str>)?;
        let show = MenuItem::with_id(app, "show", "Show Sidetrack", true, None::<&str>)?;
        let quit = MenuItem::with_id(app, "quit", "Quit window", true, None::<&str>)?;
        let menu = Menu::with_items(app, &[&counts, &show, &quit])?;
        let icon = TrayIconBuilder::with_id("sidetrack")
            .icon(image(Face::Idle)?)
            .title("Sidetrack")
            .tooltip("Sidetrack: nothing running")
            .menu(&menu)
            .show_menu_on_left_click(false)
            .on_menu_event(|app, event| match event.id().as_ref() {
                "show" => window::show(app),
                // Running tasks go on: they are the engine's, not the window's.
                "quit" => app.exit(0),
                _ => {}
            })
            .on_tray_icon_event(|tray, event| {
                if let TrayIconEvent::Click { button: MouseButton::Left, button_state: MouseButtonState::Up, .. } = event {
                    window::show(tray.app_handle());
                }
            })
            .build(app)?;
        Ok(Self { icon, counts })
    }

    /// Shows the counts.
    pub(crate) fn update(&self, status: &StatusDto) {
        let words = counts(status);
        let shown = image(face(status))
            .and_then(|image| self.icon.set_icon(Some(image)))
            .and_then(|()| self.icon.set_tooltip(Some(format!("Sidetrack: {words}"))))
            .and_then(|()| self.counts.set_text(&words));
        if let Err(error) = shown {
            tracing::warn!(%error, "the tray did not follow");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(running: u32, waiting: u32, needs_you: u32) -> StatusDto {
        StatusDto { version: "0".into(), slots: 1, running, waiting, needs_you, paused: false, stopping: false, data_dir: String::new() }
    }

    #[test]
    fn the_counts_are_a_sentence() {
        assert_eq!(counts(&status(0, 0, 0)), "Nothing running");
        assert_eq!(counts(&status(2, 1, 1)), "2 running, 1 waiting, 1 needs you");
        assert_eq!(counts(&StatusDto { paused: true, ..status(0, 3, 2) }), "3 waiting, 2 need you, new tasks paused");
    }

    #[test]
    fn somebody_needed_outranks_busy() {
        assert_eq!(face(&status(0, 1, 0)), Face::Idle);
        assert_eq!(face(&status(1, 0, 0)), Face::Busy);
        assert_eq!(face(&status(1, 0, 1)), Face::Alert);
    }
}

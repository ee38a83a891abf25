//! Renderer settings that must stand in the environment before WebKitGTK loads.

use std::os::unix::process::CommandExt as _;
use std::path::Path;

use st_app::{ErrorCode, Problem};

use crate::args::Args;

/// Set once the environment is decided, so that the second start does not decide again.
const DECIDED: &str = "SIDETRACK_RENDERER_DECIDED";

/// Which variables to set: the DMABUF renderer shows a blank window on NVIDIA's driver
/// (tauri#9394 and its kin), and safe mode draws without compositing.
fn wanted(nvidia: bool, safe_mode: bool, is_set: &dyn Fn(&str) -> bool) -> Vec<&'static str> {
    let mut wanted = Vec::new();
    if nvidia || safe_mode {
        wanted.push("WEBKIT_DISABLE_DMABUF_RENDERER");
    }
    if safe_mode {
        wanted.push("WEBKIT_DISABLE_COMPOSITING_MODE");
    }
    wanted.retain(|name| !is_set(name));
    wanted
}

/// Starts this program again with the variables it needs; returns when it needs none.
pub(crate) fn reexec_if_needed(args: &Args) -> Result<(), Problem> {
    if std::env::var_os(DECIDED).is_some() {
        return Ok(());
    }
    let nvidia = Path::new("/proc/driver/nvidia/version").exists();
    let wanted = wanted(nvidia, args.safe_mode, &|name| std::env::var_os(name).is_some());
    if wanted.is_empty() {
        return Ok(());
    }
    let program = std::env::current_exe().map_err(|error| trouble(&error))?;
    let error = std::process::Command::new(program)
        .args(std::env::args_os().skip(1))
        .env(DECIDED, "1")
        .envs(wanted.into_iter().map(|name| (name, "1")))
        .exec();
    Err(trouble(&error))
}

fn trouble(error: &std::io::Error) -> Problem {
    Problem::refused(
        ErrorCode::Internal,
        format!("The window could not start itself with the renderer settings this machine needs: {error}"),
        "Start it with WEBKIT_DISABLE_DMABUF_RENDERER=1 in the environment",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nvidia_and_safe_mode_decide_the_renderer() {
        let none = |_: &str| false;
        assert!(wanted(false, false, &none).is_empty());
        assert_eq!(wanted(true, false, &none), ["WEBKIT_DISABLE_DMABUF_RENDERER"]);
        assert_eq!(wanted(false, true, &none), ["WEBKIT_DISABLE_DMABUF_RENDERER", "WEBKIT_DISABLE_COMPOSITING_MODE"]);
    }

    #[test]
    fn what_the_user_set_stays() {
        assert_eq!(wanted(true, true, &|name| name.contains("DMABUF")), ["WEBKIT_DISABLE_COMPOSITING_MODE"]);
    }
}

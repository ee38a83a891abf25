//! What this machine can do, one check a line.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use crate::client::answers;
use crate::dto::CheckDto;

/// Free space below which a review's frozen content may not fit: the most that one review pins
/// (512 MiB) twice.
const ENOUGH_SPACE: u64 = 1 << 30;

/// Longest wait for one check.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// Looks at this machine. Runs in the engine or, when none runs, in the command line.
pub async fn checks(data_dir: &Path) -> Vec<CheckDto> {
    let folder = data_dir.to_owned();
    let on_disk = tokio::task::spawn_blocking(move || [writable(&folder), space(&folder)]);
    let rules = tokio::task::spawn_blocking(rules);
    let (on_disk, engine, git, bus) = tokio::join!(on_disk, engine(data_dir), git(), bus());
    let mut checks: Vec<CheckDto> = on_disk.map(Vec::from).unwrap_or_default();
    checks.extend([database(), engine, git, display()]);
    checks.extend(bus);
    checks.extend(rules.await);
    checks
}

fn check(name: &str, ok: bool, found: impl Into<String>, fix: &str) -> CheckDto {
    CheckDto { name: name.into(), ok, found: found.into(), fix: (!ok).then(|| fix.to_owned()) }
}

fn writable(data_dir: &Path) -> CheckDto {
    const FIX: &str = "Give yourself the rights on it, or name another with --data-dir DIR.";
    let probe = data_dir.join(format!(".doctor-{}", std::process::id()));
    let wrote = std::fs::File::create(&probe).and_then(|mut file| file.write_all(b"probe").and_then(|()| file.sync_all()));
    let removed = std::fs::remove_file(&probe);
    match wrote.and(removed) {
        Ok(()) => check("data directory", true, format!("{} is writable", data_dir.display()), FIX),
        Err(error) => check("data directory", false, format!("{}: {error}", data_dir.display()), FIX),
    }
}

fn space(data_dir: &Path) -> CheckDto {
    const FIX: &str = "Free some space on the disk that holds the data directory.";
    match rustix::fs::statvfs(data_dir) {
        Ok(stat) => {
            let free = stat.f_bavail.saturating_mul(stat.f_frsize);
            check("free space", free >= ENOUGH_SPACE, format!("{} MiB free", free >> 20), FIX)
        }
        Err(error) => check("free space", false, error.to_string(), FIX),
    }
}

fn database() -> CheckDto {
    // An older one is refused when the database is opened.
    check("database", true, format!("SQLite {}, built in", st_store::library_version()), "")
}

async fn engine(data_dir: &Path) -> CheckDto {
    let socket = crate::socket::socket_path(data_dir);
    if answers(data_dir).await {
        return check("engine", true, format!("answers on {}", socket.display()), "");
    }
    let found = if socket.exists() { "does not run; the socket of an earlier one is left" } else { "does not run" };
    check("engine", true, format!("{found}. Any submit starts one."), "")
}

async fn git() -> CheckDto {
    const FIX: &str = "Install git: it applies suggested patches. Reviews work without it.";
    let version = Command::new("git").arg("--version").stdin(Stdio::null()).kill_on_drop(true).output();
    match timeout(CHECK_TIMEOUT, version).await {
        Ok(Ok(output)) if output.status.success() => check("git", true, String::from_utf8_lossy(&output.stdout).trim(), FIX),
        Ok(Ok(output)) => check("git", false, format!("failed ({})", output.status), FIX),
        Ok(Err(error)) => check("git", false, error.to_string(), FIX),
        Err(_) => check("git", false, "did not answer", FIX),
    }
}

fn display() -> CheckDto {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    match set("WAYLAND_DISPLAY").map(|name| format!("Wayland, {name}")).or_else(|| set("DISPLAY").map(|name| format!("X11, {name}"))) {
        Some(found) => check("display", true, found, ""),
        None => check("display", false, "none", "Open the window from a desktop session; the command line does all without one."),
    }
}

#[cfg(all(unix, not(target_os = "macos")))]
async fn bus() -> Vec<CheckDto> {
    const NOTIFY_FIX: &str = "Start a notification daemon, such as dunst or your desktop's own. Results stay visible in `sidetrack list`.";
    const TRAY_FIX: &str = "Enable a tray, such as the AppIndicator extension of GNOME. The window works without one.";
    let no_bus = |why: &str| {
        let found = format!("no session bus: {why}");
        vec![check("notifications", false, found.clone(), NOTIFY_FIX), check("tray", false, found, TRAY_FIX)]
    };
    let connection = match timeout(CHECK_TIMEOUT, zbus::Connection::session()).await {
        Ok(Ok(connection)) => connection,
        Ok(Err(error)) => return no_bus(&error.to_string()),
        Err(_) => return no_bus("it does not answer"),
    };
    let owner = |name: &'static str| {
        let connection = connection.clone();
        async move {
            let bus = zbus::fdo::DBusProxy::new(&connection).await?;
            // A daemon that the bus starts when it is needed counts as well.
            let known = bus.list_activatable_names().await.is_ok_and(|names| names.iter().any(|known| known.as_str() == name));
            Ok::<_, zbus::Error>(known || bus.name_has_owner(zbus::names::BusName::try_from(name)?).await?)
        }
    };
    let found = |name: &str, answer: Result<zbus::Result<bool>, tokio::time::error::Elapsed>, absent: &str, fix: &str| match answer {
        Ok(Ok(true)) => check(name, true, "present", fix),
        Ok(Ok(false)) => check(name, false, absent, fix),
        Ok(Err(error)) => check(name, false, error.to_string(), fix),
        Err(_) => check(name, false, "the session bus does not answer", fix),
    };
    let notifications = timeout(CHECK_TIMEOUT, owner("org.freedesktop.Notifications")).await;
    let tray = timeout(CHECK_TIMEOUT, owner("org.kde.StatusNotifierWatcher")).await;
    vec![
        found("notifications", notifications, "no service for them on this desktop", NOTIFY_FIX),
        found("tray", tray, "no place for icons on this desktop", TRAY_FIX),
    ]
}

#[cfg(not(all(unix, not(target_os = "macos"))))]
async fn bus() -> Vec<CheckDto> {
    Vec::new()
}

fn rules() -> CheckDto {
    const FIX: &str = "Install this program again: its built-in rules are damaged.";
    let count = st_runner::rules::catalogue().len();
    check("rules", count > 0, format!("{count} rules; rules check patterns, not logic. No key and no network is needed."), FIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_check_that_does_not_hold_says_how_to_get_more() {
        let root = tempfile::tempdir().unwrap();
        let found = checks(&root.path().join("missing")).await;
        assert!(found.iter().any(|check| check.name == "data directory" && !check.ok));
        assert!(found.iter().any(|check| check.name == "engine" && check.found.starts_with("does not run")));
        assert!(found.iter().all(|check| check.ok || check.fix.as_ref().is_some_and(|fix| fix.ends_with('.'))));
        let rules = found.iter().find(|check| check.name == "rules").unwrap();
        let count: usize = rules.found.split(' ').next().unwrap().parse().unwrap();
        assert!(rules.ok && count > 0, "{rules:?}");
        assert!(std::fs::read_dir(root.path()).unwrap().next().is_none());
    }
}

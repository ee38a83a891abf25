//! The data directory: where it is, and that it is ours alone.

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::{ErrorCode, Problem};

/// The platform's data directory: `$SIDETRACK_DATA_DIR`, else `$XDG_DATA_HOME/sidetrack`, else
/// `~/.local/share/sidetrack` (`~/Library/Application Support/sidetrack` on macOS). A relative
/// `$XDG_DATA_HOME` is ignored, as its specification asks.
///
/// # Errors
/// When neither says anything.
pub fn default_data_dir(env: &dyn Fn(&str) -> Option<OsString>) -> Result<PathBuf, Problem> {
    let set = |name: &str| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(chosen) = set("SIDETRACK_DATA_DIR") {
        return absolute(&chosen);
    }
    if let Some(shared) = set("XDG_DATA_HOME").filter(|path| path.is_absolute()) {
        return Ok(shared.join("sidetrack"));
    }
    let home = set("HOME").filter(|path| path.is_absolute()).ok_or_else(|| {
        Problem::refused(
            ErrorCode::Usage,
            "No data directory: neither SIDETRACK_DATA_DIR, XDG_DATA_HOME nor HOME is set",
            "Name one with --data-dir DIR.",
        )
    })?;
    Ok(if cfg!(target_os = "macos") { home.join("Library/Application Support/sidetrack") } else { home.join(".local/share/sidetrack") })
}

/// The data directory's absolute path: the engine and its workers run in other folders.
pub(crate) fn absolute(data_dir: &Path) -> Result<PathBuf, Problem> {
    std::path::absolute(data_dir).map_err(|error| unusable(data_dir, "can't be made absolute", &error, "Give an absolute path."))
}

/// Makes the data directory and its `logs` folder (0700), or checks that what is there is ours: a
/// real folder, owned by this user. Rights of others on it are taken away.
///
/// # Errors
/// When it is a symbolic link, no folder, another user's, or can't be made.
pub fn prepare_data_dir(data_dir: &Path) -> Result<(), Problem> {
    private_folder(data_dir)?;
    private_folder(&data_dir.join("logs"))
}

fn private_folder(folder: &Path) -> Result<(), Problem> {
    const CHOOSE: &str = "Choose another folder with --data-dir DIR.";
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    let found = match std::fs::symlink_metadata(folder) {
        Ok(found) => found,
        Err(error) => {
            let error = made.err().unwrap_or(error);
            return Err(unusable(folder, "can't be made", &error, CHOOSE));
        }
    };
    let refuse = |what: String, fix: String| {
        Err(Problem::refused(ErrorCode::Unreadable, format!("The data directory `{}` {what}", folder.display()), fix).or(CHOOSE))
    };
    if found.is_symlink() {
        return refuse("is a symbolic link".into(), "Name the folder that it points to with --data-dir DIR.".into());
    }
    if !found.is_dir() {
        return refuse("is no folder".into(), format!("Move `{}` away.", folder.display()));
    }
    let own = rustix::process::geteuid().as_raw();
    if found.uid() != own {
        return refuse(format!("belongs to user {}, and this is user {own}", found.uid()), "Run sidetrack as the folder's owner.".into());
    }
    if found.mode() & 0o077 != 0 {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))
            .map_err(|error| unusable(folder, "can't be made private", &error, CHOOSE))?;
    }
    Ok(())
}

fn unusable(path: &Path, what: &str, error: &io::Error, fix: &str) -> Problem {
    let code = if error.kind() == io::ErrorKind::StorageFull { ErrorCode::DiskFull } else { ErrorCode::Unreadable };
    Problem::refused(code, format!("The data directory `{}` {what}: {error}", path.display()), fix)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &'static [(&'static str, &'static str)]) -> impl Fn(&str) -> Option<OsString> {
        move |name| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1.into())
    }

    #[test]
    fn the_data_directory_is_what_the_user_says_then_the_platform() {
        assert_eq!(
            default_data_dir(&env(&[("SIDETRACK_DATA_DIR", "/a"), ("XDG_DATA_HOME", "/x"), ("HOME", "/h")])).unwrap(),
            Path::new("/a")
        );
        assert_eq!(default_data_dir(&env(&[("XDG_DATA_HOME", "/x"), ("HOME", "/h")])).unwrap(), Path::new("/x/sidetrack"));
        assert!(default_data_dir(&env(&[("XDG_DATA_HOME", "x"), ("HOME", "/h")])).unwrap().starts_with("/h"));
        assert!(default_data_dir(&env(&[("SIDETRACK_DATA_DIR", "here")])).unwrap().is_absolute());
        assert_eq!(default_data_dir(&env(&[("HOME", "")])).unwrap_err().code, ErrorCode::Usage);
    }

    #[test]
    fn the_data_directory_is_private_and_real() {
        let root = tempfile::tempdir().unwrap();
        let fresh = root.path().join("a/b");
        prepare_data_dir(&fresh).unwrap();
        assert_eq!(std::fs::metadata(&fresh).unwrap().mode() & 0o777, 0o700);
        assert_eq!(std::fs::metadata(fresh.join("logs")).unwrap().mode() & 0o777, 0o700);

        std::fs::set_permissions(&fresh, std::fs::Permissions::from_mode(0o755)).unwrap();
        prepare_data_dir(&fresh).unwrap();
        assert_eq!(std::fs::metadata(&fresh).unwrap().mode() & 0o777, 0o700);

        let link = root.path().join("link");
        std::os::unix::fs::symlink(&fresh, &link).unwrap();
        assert!(prepare_data_dir(&link).unwrap_err().message.contains("symbolic link"));

        let file = root.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(prepare_data_dir(&file).unwrap_err().message.contains("no folder"));
        assert!(prepare_data_dir(&file.join("below")).unwrap_err().message.contains("can't be made"));
    }

    #[test]
    fn another_users_folder_is_refused() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let root = tempfile::tempdir().unwrap();
        let theirs = root.path().join("theirs");
        std::fs::create_dir(&theirs).unwrap();
        std::os::unix::fs::chown(&theirs, Some(65534), None).unwrap();
        assert!(prepare_data_dir(&theirs).unwrap_err().message.contains("belongs to user 65534"));
    }
}

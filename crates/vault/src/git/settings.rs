//! The configuration values that decide how bytes are compared, and no others.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice;
use gix::config::file::Metadata;
use gix::config::file::init::Options;
use gix::config::{File, Source};

/// What a user set for all repositories. Read from git's own files, never by asking git.
#[derive(Clone, Debug, Default)]
pub(crate) struct UserSettings {
    config: File,
    home: Option<PathBuf>,
    config_home: Option<PathBuf>,
}

impl UserSettings {
    /// Reads the system's and the user's configuration; what can't be read counts as not set.
    pub(crate) fn load(env: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let home = env("HOME").map(PathBuf::from);
        let config_home = env("XDG_CONFIG_HOME")
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
            .or_else(|| home.as_ref().map(|home| home.join(".config")));
        let mut files = Vec::new();
        if env("GIT_CONFIG_NOSYSTEM").is_none() {
            files.push((Source::System, PathBuf::from("/etc/gitconfig")));
        }
        match env("GIT_CONFIG_GLOBAL") {
            Some(path) => files.push((Source::User, path.into())),
            None => {
                files.extend(config_home.iter().map(|folder| (Source::Git, folder.join("git/config"))));
                files.extend(home.iter().map(|folder| (Source::User, folder.join(".gitconfig"))));
            }
        }
        let mut present = files.into_iter().filter(|(_, path)| path.is_file()).map(|(source, path)| Metadata {
            path: Some(path),
            source,
            level: 0,
            trust: gix::sec::Trust::Full,
        });
        let options = Options { ignore_io_errors: true, ..Options::default() };
        let config = File::from_paths_metadata_buf(&mut present, &mut Vec::new(), false, options).ok().flatten().unwrap_or_default();
        Self { config, home, config_home }
    }

    fn path(&self, key: &str, default_name: &str) -> Option<PathBuf> {
        let set = self.config.string(key);
        match set {
            Some(value) => expand(value.as_bstr(), self.home.as_deref()),
            None => self.config_home.as_ref().map(|folder| folder.join("git").join(default_name)),
        }
    }
}

fn expand(value: &gix::bstr::BStr, home: Option<&Path>) -> Option<PathBuf> {
    let path = value.to_path().ok()?;
    match path.strip_prefix("~") {
        Ok(rest) => home.map(|home| home.join(rest)),
        Err(_) => Some(path.to_owned()),
    }
}

/// `core.autocrlf`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AutoCrlf {
    /// Bytes are kept.
    Off,
    /// Line endings become LF when committed, and CRLF when checked out (`true`) or not (`input`).
    On,
}

/// The settings of one repository.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// `core.fileMode`: whether the executable bit on disk means something.
    pub(crate) file_mode: bool,
    /// `core.symlinks`: whether links are links on disk.
    pub(crate) symlinks: bool,
    /// `core.ignoreCase`.
    pub(crate) ignore_case: bool,
    /// `core.sparseCheckout`.
    pub(crate) sparse: bool,
    /// `core.trustctime`.
    pub(crate) trust_ctime: bool,
    /// `core.checkStat` is not `minimal`.
    pub(crate) check_stat: bool,
    /// `core.autocrlf`.
    pub(crate) auto_crlf: AutoCrlf,
    /// `core.excludesFile`.
    pub(crate) excludes_file: Option<PathBuf>,
    /// `core.attributesFile`.
    pub(crate) attributes_file: Option<PathBuf>,
    /// `init.defaultBranch`.
    pub(crate) default_branch: Option<String>,
}

impl Settings {
    /// What holds in a repository: its own configuration before the user's.
    pub(crate) fn of(repository: &gix::Repository, user: &UserSettings) -> Self {
        let snapshot = repository.config_snapshot();
        let local = snapshot.plumbing();
        let text = |key: &str| local.string(key).or_else(|| user.config.string(key)).map(|value| value.to_string());
        let flag = |key: &str, default: bool| {
            let value = |file: &File| file.boolean(key).ok().flatten();
            value(local).or_else(|| value(&user.config)).unwrap_or(default)
        };
        let auto_crlf = match text("core.autocrlf") {
            Some(value) if value.eq_ignore_ascii_case("input") => AutoCrlf::On,
            Some(_) if flag("core.autocrlf", false) => AutoCrlf::On,
            Some(_) | None => AutoCrlf::Off,
        };
        let path = |key: &str, default: &str| match local.string(key) {
            Some(value) => expand(value.as_bstr(), user.home.as_deref()),
            None => user.path(key, default),
        };
        Self {
            file_mode: flag("core.filemode", true),
            symlinks: flag("core.symlinks", true),
            ignore_case: flag("core.ignorecase", false),
            sparse: flag("core.sparsecheckout", false),
            trust_ctime: flag("core.trustctime", true),
            check_stat: text("core.checkstat").is_none_or(|value| !value.eq_ignore_ascii_case("minimal")),
            auto_crlf,
            excludes_file: path("core.excludesfile", "ignore"),
            attributes_file: path("core.attributesfile", "attributes"),
            default_branch: text("init.defaultbranch"),
        }
    }
}

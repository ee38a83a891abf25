//! What every command needs: where the data is, how to reach the engine, where output goes.

use std::path::PathBuf;

use st_app::client::{Client, ConnectOptions, default_data_dir};
use st_app::{ErrorCode, Problem};

use crate::args::Global;
use crate::output::Output;

/// What every command needs.
#[derive(Debug)]
pub(crate) struct Context {
    data_dir: Option<PathBuf>,
    /// Where output goes.
    pub(crate) output: Output,
}

impl Context {
    /// From the options of every command.
    pub(crate) fn new(global: Global) -> Self {
        Self { data_dir: global.data_dir, output: Output::new(global.json, global.color) }
    }

    /// The data directory, absolute.
    pub(crate) fn data_dir(&self) -> Result<PathBuf, Problem> {
        let given = match &self.data_dir {
            Some(path) if path.as_os_str().is_empty() => None,
            other => other.clone(),
        };
        let path = match given {
            Some(path) => path,
            None => default_data_dir(&|name| std::env::var_os(name))?,
        };
        std::path::absolute(&path).map_err(|source| {
            Problem::refused(
                ErrorCode::Usage,
                format!("`{}` can't be taken as the data directory: {source}", path.display()),
                "Give an absolute path with `--data-dir`.",
            )
        })
    }

    /// This binary, to be started as engine and worker.
    pub(crate) fn program(&self) -> Result<PathBuf, Problem> {
        let path = std::env::current_exe().map_err(|source| {
            Problem::refused(
                ErrorCode::NoEngine,
                format!("The path of this program can't be found: {source}"),
                "Start it by its full path.",
            )
        })?;
        // A binary replaced while it runs is shown by Linux with this ending; the new one is at the old name.
        let text = path.to_string_lossy();
        Ok(text.strip_suffix(" (deleted)").map_or(path.clone(), PathBuf::from))
    }

    /// Connects to the engine, starting one when none runs.
    pub(crate) async fn connect(&self) -> Result<Client, Problem> {
        self.reach(Some(self.program()?)).await
    }

    /// Connects to the engine only when one runs.
    pub(crate) async fn connect_running(&self) -> Result<Client, Problem> {
        self.reach(None).await
    }

    async fn reach(&self, start: Option<PathBuf>) -> Result<Client, Problem> {
        let options = ConnectOptions { data_dir: self.data_dir()?, start, client: "cli".to_owned() };
        Client::connect(&options, &|notice| self.output.note(notice)).await
    }
}

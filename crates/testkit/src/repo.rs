//! Git repositories for tests, untouched by the user's own settings.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A repository with a work tree.
#[derive(Clone, Debug)]
pub struct Repo {
    root: PathBuf,
}

impl Repo {
    /// Makes an empty repository, on branch `main`.
    #[must_use]
    pub fn init(root: &Path) -> Self {
        std::fs::create_dir_all(root).unwrap();
        let repo = Self { root: root.canonicalize().unwrap() };
        repo.git(&["init", "-q", "-b", "main"]);
        repo
    }

    /// Its top folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Its top folder as text.
    ///
    /// # Panics
    /// When it is not UTF-8.
    #[must_use]
    pub fn text(&self) -> &str {
        self.root.to_str().unwrap()
    }

    /// Writes a file.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Commits all there is and returns the commit.
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    /// Runs git and returns its output.
    ///
    /// # Panics
    /// When git fails.
    pub fn git(&self, args: &[&str]) -> String {
        let out = Command::new("git")
            .args(args)
            .current_dir(&self.root)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", "/nonexistent")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "Test")
            .env("GIT_AUTHOR_EMAIL", "test@example.com")
            .env("GIT_COMMITTER_NAME", "Test")
            .env("GIT_COMMITTER_EMAIL", "test@example.com")
            .output()
            .unwrap();
        assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).into_owned()
    }
}

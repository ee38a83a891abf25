//! `.sidetrack.toml` of the base revision: which rules and paths a repository wants looked at.

use std::collections::BTreeMap;

use globset::GlobSet;
use serde::Deserialize;
use st_model::finding::Severity;

use super::pack::{Pack, Rule, build_globs, names_rule};

/// Largest file that is reviewed unless the configuration says otherwise, 2 MiB: four times the
/// longest hand-written source files of large public projects.
pub const MAX_FILE_BYTES: u64 = 2 * 1024 * 1024;

/// Largest value the configuration may set it to, 32 MiB: what is parsed well within a file's time.
const MAX_FILE_BYTES_CEILING: u64 = 32 * 1024 * 1024;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    rules: RulesTable,
    #[serde(default)]
    paths: PathsTable,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesTable {
    #[serde(default)]
    disable: Vec<String>,
    #[serde(default)]
    severity: BTreeMap<String, Severity>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct PathsTable {
    #[serde(default)]
    exclude: Vec<String>,
    #[serde(default)]
    generated: Vec<String>,
    max_file_bytes: Option<u64>,
}

/// Why a configuration was not taken.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It is no UTF-8.
    #[error("it is not UTF-8 text")]
    NotText(#[source] std::str::Utf8Error),
    /// It is no TOML of the known form.
    #[error("{0}")]
    Toml(#[source] toml::de::Error),
    /// A path pattern is malformed.
    #[error("{0}")]
    Glob(#[source] globset::Error),
}

/// A repository's wishes. The default has none.
#[derive(Debug)]
pub struct Config {
    disabled: Vec<String>,
    severity: BTreeMap<String, Severity>,
    exclude: GlobSet,
    generated: GlobSet,
    /// Largest file that is reviewed, in bytes.
    pub max_file_bytes: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            disabled: Vec::new(),
            severity: BTreeMap::new(),
            exclude: GlobSet::empty(),
            generated: GlobSet::empty(),
            max_file_bytes: MAX_FILE_BYTES,
        }
    }
}

impl Config {
    /// Reads the file. Also returns what in it has no effect, in words.
    ///
    /// # Errors
    /// When it is not of the known form; the caller goes on with the default and says so.
    pub fn parse(bytes: &[u8], pack: &Pack) -> Result<(Self, Vec<String>), ConfigError> {
        let text = std::str::from_utf8(bytes).map_err(ConfigError::NotText)?;
        let file: File = toml::from_str(text).map_err(ConfigError::Toml)?;
        let mut notes: Vec<String> = file
            .rules
            .disable
            .iter()
            .chain(file.rules.severity.keys())
            .filter(|name| !pack.knows(name))
            .map(|name| format!(".sidetrack.toml names `{name}`, which is no rule"))
            .collect();
        let asked = file.paths.max_file_bytes.unwrap_or(MAX_FILE_BYTES);
        if asked > MAX_FILE_BYTES_CEILING {
            notes.push(format!(".sidetrack.toml asks for max_file_bytes = {asked}; the most is {MAX_FILE_BYTES_CEILING}"));
        }
        let config = Self {
            disabled: file.rules.disable,
            severity: file.rules.severity,
            exclude: build_globs(&file.paths.exclude).map_err(ConfigError::Glob)?,
            generated: build_globs(&file.paths.generated).map_err(ConfigError::Glob)?,
            max_file_bytes: asked.min(MAX_FILE_BYTES_CEILING),
        };
        Ok((config, notes))
    }

    /// Whether the rule is on.
    #[must_use]
    pub fn enables(&self, rule: &Rule) -> bool {
        !self.disabled.iter().any(|name| names_rule(name, &rule.id))
    }

    /// The severity of the rule's findings: an entry for the id wins over one for its category.
    #[must_use]
    pub fn severity(&self, rule: &Rule) -> Option<Severity> {
        let exact = self.severity.get(&rule.id);
        exact.or_else(|| self.severity.iter().find(|(name, _)| names_rule(name, &rule.id)).map(|(_, severity)| severity)).copied()
    }

    /// Whether the path is not to be reviewed.
    #[must_use]
    pub fn excludes(&self, path: &str) -> bool {
        self.exclude.is_match(path)
    }

    /// Whether the path counts as generated.
    #[must_use]
    pub fn counts_as_generated(&self, path: &str) -> bool {
        self.generated.is_match(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_can_disable_rules_exclude_paths_and_change_severity() {
        let pack = Pack::embedded().unwrap();
        let text = b"[rules]\ndisable = [\"hygiene.todo\", \"nonsense.rule\"]\nseverity = { correctness = \"high\" }\n\
            [paths]\nexclude = [\"docs/**\", \"*.md\"]\ngenerated = [\"src/gen/\"]\nmax_file_bytes = 10\n";
        let (config, notes) = Config::parse(text, pack).unwrap();
        assert_eq!(notes, [".sidetrack.toml names `nonsense.rule`, which is no rule"]);
        let rule = |id: &str| pack.rules().iter().find(|rule| rule.id == id).unwrap();
        assert!(!config.enables(rule("hygiene.todo")));
        assert!(config.enables(rule("hygiene.conflict-markers")));
        assert_eq!(config.severity(rule("hygiene.conflict-markers")), None);
        assert!(config.excludes("docs/a/b.txt") && config.excludes("x/README.md") && !config.excludes("src/a.rs"));
        assert!(config.counts_as_generated("src/gen/a.rs"));
        assert_eq!(config.max_file_bytes, 10);
    }

    #[test]
    fn an_unknown_key_is_an_error_that_names_it() {
        let error = Config::parse(b"[rules]\ndisabled = []\n", Pack::embedded().unwrap()).unwrap_err();
        assert!(error.to_string().contains("disabled"), "{error}");
        assert!(Config::parse(b"\xff", Pack::embedded().unwrap()).is_err());
    }
}

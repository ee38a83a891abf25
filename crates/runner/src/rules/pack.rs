//! The rule pack: what the data files under `rules/` say, parsed and checked.

use std::sync::OnceLock;

use ast_grep_config::SerializableRule;
use globset::{Glob, GlobSet, GlobSetBuilder};
use regex::Regex;
use serde::Deserialize;
use st_model::finding::Severity;

use super::checks::{self, Check};
use super::language::Language;
use super::secrets::SecretShape;

/// The rule files, by path below `rules/`; written by the build script.
static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/rule_files.rs"));

/// Why a rule file was refused. The embedded ones are tested, so a user never meets this.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// The YAML does not say what a rule says.
    #[error("failed to read rule file `{file}`")]
    Yaml {
        /// The file.
        file: String,
        /// What the parser said.
        #[source]
        source: serde_yaml::Error,
    },
    /// A matcher names something that does not exist.
    #[error("rule `{rule}`: {what}")]
    Rule {
        /// The rule.
        rule: String,
        /// What is wrong with it.
        what: String,
    },
    /// A regular expression does not compile.
    #[error("rule `{rule}` has a bad regular expression")]
    Regex {
        /// The rule.
        rule: String,
        /// What the regex parser said.
        #[source]
        source: Box<regex::Error>,
    },
    /// A syntax matcher does not compile.
    #[error("rule `{rule}` has a bad matcher for {language}")]
    Syntax {
        /// The rule.
        rule: String,
        /// The language.
        language: &'static str,
        /// What the matcher's compiler said.
        #[source]
        source: Box<ast_grep_config::RuleCoreError>,
    },
}

/// What a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Holes.
    Security,
    /// Defects.
    Correctness,
    /// Locks, waits, races.
    Concurrency,
    /// What the change does to the tests.
    Tests,
    /// What should not be in a change.
    Hygiene,
    /// Pipelines and containers.
    Config,
}

impl Category {
    /// The first part of a rule's id.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Security => "security",
            Self::Correctness => "correctness",
            Self::Concurrency => "concurrency",
            Self::Tests => "tests",
            Self::Hygiene => "hygiene",
            Self::Config => "config",
        }
    }
}

/// Whether a matcher looks at test code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TestCode {
    /// Everywhere.
    #[default]
    Any,
    /// Not in test files.
    Skip,
    /// Only in test files.
    Only,
}

/// Which part of a matched node a finding points at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Span {
    /// All of it.
    #[default]
    Whole,
    /// Its first line: for statements with a long body.
    Head,
}

/// Where in a line an expression may match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Region {
    /// Anywhere.
    #[default]
    Any,
    /// Not in comments or string literals.
    Code,
    /// In comments only.
    Comment,
}

/// A rule file.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    id: String,
    title: String,
    severity: Severity,
    category: Category,
    why: String,
    fix: String,
    #[serde(default)]
    cwe: Option<String>,
    #[serde(default)]
    family: Option<String>,
    #[serde(default = "usual_confidence")]
    confidence: f32,
    #[serde(rename = "match")]
    matchers: Vec<MatcherFile>,
    examples: Vec<Examples>,
}

fn usual_confidence() -> f32 {
    0.8
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct MatcherFile {
    #[serde(default)]
    languages: Vec<String>,
    #[serde(default)]
    paths: Vec<String>,
    #[serde(default)]
    not_paths: Vec<String>,
    #[serde(default)]
    tests: TestCode,
    /// The matcher needs to see around the changed lines: not for a bare patch.
    #[serde(default)]
    whole_file: bool,
    rule: Option<SerializableRule>,
    constraints: Option<std::collections::HashMap<String, SerializableRule>>,
    utils: Option<std::collections::HashMap<String, SerializableRule>>,
    /// A metavariable whose node is what the finding points at.
    focus: Option<String>,
    #[serde(default)]
    span: Span,
    /// Template that replaces the match, where that is certain to be right.
    replace: Option<String>,
    line: Option<String>,
    unless: Option<String>,
    #[serde(default, rename = "in")]
    region: Region,
    secret: Option<SecretShape>,
    builtin: Option<String>,
}

/// Good and bad examples in one language.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Examples {
    /// The language; only names the default path.
    #[serde(default)]
    pub language: Option<String>,
    /// What must not be found.
    pub pass: Vec<Example>,
    /// What must be found.
    pub fail: Vec<Example>,
}

/// One example: source that counts as added, or a change of one or several files.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Example {
    /// A new file's text.
    Source(String),
    /// A change of several files.
    Files {
        /// The files.
        files: Vec<ExampleFile>,
    },
    /// A change of one file.
    File(ExampleFile),
}

/// A file of an example.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExampleFile {
    /// Its path; the language's sample path when unset.
    pub path: Option<String>,
    /// Text before; absent for a new file.
    pub old: Option<String>,
    /// Text after; absent for a removed file.
    pub new: Option<String>,
    /// Whether it is executable before.
    #[serde(default)]
    pub old_executable: bool,
    /// Whether it is executable after.
    #[serde(default)]
    pub new_executable: bool,
    /// How often `new` is repeated: for large files.
    #[serde(default)]
    pub repeat: Option<usize>,
    /// Whether NUL bytes follow `new`: for binary files.
    #[serde(default)]
    pub binary: bool,
    /// Whether `new` is a link's target.
    #[serde(default)]
    pub symlink: bool,
    /// Whether it is a submodule that moved.
    #[serde(default)]
    pub submodule: bool,
}

/// How a rule finds what it is about.
pub(crate) enum Matcher {
    /// A node of the syntax tree.
    Syntax(Box<SyntaxMatcher>),
    /// A line.
    Line(Box<LineMatcher>),
    /// A secret's shape.
    Secret(Box<SecretShape>),
    /// A check in code.
    Builtin(Check),
}

/// A syntax matcher, compiled per language when first needed.
pub(crate) struct SyntaxMatcher {
    pub(crate) rule: SerializableRule,
    pub(crate) constraints: Option<std::collections::HashMap<String, SerializableRule>>,
    pub(crate) utils: Option<std::collections::HashMap<String, SerializableRule>>,
    pub(crate) focus: Option<String>,
    pub(crate) span: Span,
    pub(crate) replace: Option<String>,
}

/// A regular expression over single lines.
pub(crate) struct LineMatcher {
    pub(crate) pattern: Regex,
    pub(crate) unless: Option<Regex>,
    pub(crate) region: Region,
}

/// A matcher and where it applies.
pub(crate) struct Scoped {
    /// Empty: any file, with or without a language.
    pub(crate) languages: Vec<Language>,
    paths: Option<GlobSet>,
    not_paths: Option<GlobSet>,
    pub(crate) tests: TestCode,
    pub(crate) whole_file: bool,
    pub(crate) matcher: Matcher,
}

impl Scoped {
    /// Whether the matcher looks at a file of this path and kind.
    pub(crate) fn applies(&self, path: &str, language: Option<Language>, is_test: bool) -> bool {
        let language_fits = self.languages.is_empty() || language.is_some_and(|language| self.languages.contains(&language));
        let tests_fit = match self.tests {
            TestCode::Any => true,
            TestCode::Skip => !is_test,
            TestCode::Only => is_test,
        };
        language_fits
            && tests_fit
            && self.paths.as_ref().is_none_or(|globs| globs.is_match(path))
            && !self.not_paths.as_ref().is_some_and(|globs| globs.is_match(path))
    }
}

/// A rule.
pub struct Rule {
    /// Its id, such as `security.sql-concat`.
    pub id: String,
    /// One line.
    pub title: String,
    /// How much a match matters.
    pub severity: Severity,
    /// What it is about.
    pub category: Category,
    /// Why it matters.
    pub why: String,
    /// What to do.
    pub fix: String,
    /// Weakness number, such as `CWE-89`.
    pub cwe: Option<String>,
    /// Rules of one family that match on one span are folded to the strongest.
    pub family: String,
    /// How sure a match is, 0 to 1.
    pub confidence: f32,
    /// Its examples, run as tests.
    pub examples: Vec<Examples>,
    pub(crate) matchers: Vec<Scoped>,
}

/// Every rule, by id.
pub struct Pack {
    rules: Vec<Rule>,
}

impl Pack {
    /// The embedded pack, parsed once a process.
    ///
    /// # Errors
    /// When an embedded file is broken; a test holds that none is.
    pub fn embedded() -> Result<&'static Self, &'static PackError> {
        static PACK: OnceLock<Result<Pack, PackError>> = OnceLock::new();
        PACK.get_or_init(|| Self::parse(FILES)).as_ref()
    }

    /// Parses rule files given as name and text.
    ///
    /// # Errors
    /// When a file is no rule, or two have the same id.
    pub fn parse(files: &[(&str, &str)]) -> Result<Self, PackError> {
        let mut rules = files.iter().map(|(name, text)| read_rule(name, text)).collect::<Result<Vec<_>, _>>()?;
        rules.sort_by(|left, right| left.id.cmp(&right.id));
        if let Some(pair) = rules.windows(2).find(|pair| pair[0].id == pair[1].id) {
            return Err(PackError::Rule { rule: pair[0].id.clone(), what: "two rules have this id".into() });
        }
        Ok(Self { rules })
    }

    /// The rules, ordered by id.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Whether `name` is a rule's id, or a `category` or `category.*` of some.
    #[must_use]
    pub fn knows(&self, name: &str) -> bool {
        self.rules.iter().any(|rule| names_rule(name, &rule.id))
    }
}

/// Whether a name in a suppression or a configuration means the rule: its id, its category, or
/// its category with `.*`, or `*`.
#[must_use]
pub(crate) fn names_rule(name: &str, id: &str) -> bool {
    let name = name.strip_suffix(".*").unwrap_or(name);
    name == "*" || name == id || id.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))
}

fn read_rule(file: &str, text: &str) -> Result<Rule, PackError> {
    let raw: RuleFile = serde_yaml::from_str(text).map_err(|source| PackError::Yaml { file: file.to_owned(), source })?;
    let wrong = |what: &str| PackError::Rule { rule: raw.id.clone(), what: what.to_owned() };
    if file.trim_end_matches(".yml") != raw.id.replacen('.', "/", 1) {
        return Err(wrong("the file's path is not the id"));
    }
    if !raw.id.starts_with(&format!("{}.", raw.category.name())) {
        return Err(wrong("the id does not start with the category"));
    }
    let matchers = raw.matchers.iter().map(|matcher| read_matcher(&raw.id, matcher)).collect::<Result<Vec<_>, _>>()?;
    if matchers.is_empty() {
        return Err(wrong("it has no matcher"));
    }
    let family = raw.family.unwrap_or_else(|| raw.id.clone());
    Ok(Rule {
        id: raw.id,
        title: raw.title,
        severity: raw.severity,
        category: raw.category,
        why: raw.why.trim().to_owned(),
        fix: raw.fix.trim().to_owned(),
        cwe: raw.cwe,
        family,
        confidence: raw.confidence,
        examples: raw.examples,
        matchers,
    })
}

fn read_matcher(id: &str, raw: &MatcherFile) -> Result<Scoped, PackError> {
    let wrong = |what: String| PackError::Rule { rule: id.to_owned(), what };
    let regex = |text: &str| Regex::new(text).map_err(|source| PackError::Regex { rule: id.to_owned(), source: Box::new(source) });
    let mut languages = Vec::new();
    for name in &raw.languages {
        languages.extend(Language::named(name).ok_or_else(|| wrong(format!("no language is called `{name}`")))?);
    }
    let matcher = match (&raw.rule, &raw.line, &raw.secret, &raw.builtin) {
        (Some(rule), None, None, None) if !languages.is_empty() => Matcher::Syntax(Box::new(SyntaxMatcher {
            rule: rule.clone(),
            constraints: raw.constraints.clone(),
            utils: raw.utils.clone(),
            focus: raw.focus.clone(),
            span: raw.span,
            replace: raw.replace.clone(),
        })),
        (None, Some(line), None, None) => Matcher::Line(Box::new(LineMatcher {
            pattern: regex(line)?,
            unless: raw.unless.as_deref().map(regex).transpose()?,
            region: raw.region,
        })),
        (None, None, Some(shape), None) => Matcher::Secret(Box::new(shape.clone())),
        (None, None, None, Some(name)) => {
            Matcher::Builtin(checks::named(name).ok_or_else(|| wrong(format!("no check is called `{name}`")))?)
        }
        _ => return Err(wrong("a matcher is one of rule (with languages), line, secret or builtin".into())),
    };
    let globs = |patterns: &[String]| {
        build_globs(patterns).map_err(|source| wrong(source.to_string())).map(|set| (!patterns.is_empty()).then_some(set))
    };
    Ok(Scoped {
        languages,
        paths: globs(&raw.paths)?,
        not_paths: globs(&raw.not_paths)?,
        tests: raw.tests,
        whole_file: raw.whole_file,
        matcher,
    })
}

/// A set of path patterns; a pattern without `/` matches at any depth.
pub(crate) fn build_globs(patterns: &[String]) -> Result<GlobSet, globset::Error> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        if pattern.contains('/') {
            set.add(Glob::new(pattern.trim_start_matches('/'))?);
            if let Some(folder) = pattern.strip_suffix('/') {
                set.add(Glob::new(&format!("{folder}/**"))?);
            }
        } else {
            set.add(Glob::new(pattern)?);
            set.add(Glob::new(&format!("**/{pattern}"))?);
        }
    }
    set.build()
}

//! The languages the rules know: which file is which, and their grammars.

use std::borrow::Cow;

use ast_grep_core::language::Language as AstLanguage;
use ast_grep_core::matcher::{Pattern, PatternBuilder, PatternError};
use ast_grep_core::tree_sitter::{LanguageExt, StrDoc, TSLanguage, TSRange};
use ast_grep_language::SupportLang;
use st_model::path::RepoPath;

macro_rules! languages {
    ($($name:ident $text:literal $sample:literal),+ $(,)?) => {
        /// A language with a grammar.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Language {
            $(#[doc = $text] $name),+
        }

        impl Language {
            /// Every language.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The name rule files and users write.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text),+ }
            }

            /// A file name that is of this language, for examples.
            #[must_use]
            pub fn sample_path(self) -> &'static str {
                match self { $(Self::$name => $sample),+ }
            }
        }
    };
}

languages! {
    Rust "rust" "src/sample.rs",
    Python "python" "src/sample.py",
    JavaScript "javascript" "src/sample.js",
    TypeScript "typescript" "src/sample.ts",
    Tsx "tsx" "src/sample.tsx",
    Go "go" "sample.go",
    Java "java" "src/Sample.java",
    C "c" "src/sample.c",
    Cpp "cpp" "src/sample.cpp",
    CSharp "csharp" "src/Sample.cs",
    Ruby "ruby" "lib/sample.rb",
    Php "php" "src/sample.php",
    Bash "shell" "sample.sh",
    Sql "sql" "sample.sql",
    Yaml "yaml" "sample.yml",
    Dockerfile "dockerfile" "Dockerfile",
    Html "html" "sample.html",
    Json "json" "sample.json",
    Css "css" "sample.css",
}

impl Language {
    /// The languages a name in a rule file stands for: itself, or a group (`ecma`, `c-family`).
    #[must_use]
    pub fn named(name: &str) -> Option<Vec<Self>> {
        match name {
            "ecma" => Some(vec![Self::JavaScript, Self::TypeScript, Self::Tsx]),
            "c-family" => Some(vec![Self::C, Self::Cpp]),
            _ => Self::ALL.iter().copied().find(|language| language.name() == name).map(|language| vec![language]),
        }
    }

    /// The language of a file, by its name, then its extension, then its `#!` line.
    #[must_use]
    pub fn detect(path: &RepoPath, first_line: &str) -> Option<Self> {
        let name = String::from_utf8_lossy(path.file_name()).to_ascii_lowercase();
        Self::of_name(&name).or_else(|| path.extension().as_deref().and_then(Self::of_extension)).or_else(|| Self::of_shebang(first_line))
    }

    fn of_name(name: &str) -> Option<Self> {
        let is_dockerfile = matches!(name, "dockerfile" | "containerfile")
            || name.starts_with("dockerfile.")
            || name.starts_with("containerfile.")
            || name.ends_with(".dockerfile");
        match name {
            _ if is_dockerfile => Some(Self::Dockerfile),
            "rakefile" | "gemfile" | "vagrantfile" | "podfile" | "guardfile" | "capfile" | "brewfile" => Some(Self::Ruby),
            "sconstruct" | "sconscript" | "wscript" => Some(Self::Python),
            ".bashrc" | ".bash_profile" | ".profile" | ".zshrc" | "apkbuild" | "pkgbuild" => Some(Self::Bash),
            ".clang-format" | ".clang-tidy" => Some(Self::Yaml),
            ".eslintrc" | ".babelrc" | ".prettierrc" => Some(Self::Json),
            _ => None,
        }
    }

    fn of_extension(extension: &str) -> Option<Self> {
        Some(match extension {
            "rs" => Self::Rust,
            "py" | "pyi" | "pyw" => Self::Python,
            "js" | "mjs" | "cjs" | "jsx" => Self::JavaScript,
            "ts" | "mts" | "cts" => Self::TypeScript,
            "tsx" => Self::Tsx,
            "go" => Self::Go,
            "java" => Self::Java,
            "c" | "h" => Self::C,
            "cc" | "cpp" | "cxx" | "c++" | "hh" | "hpp" | "hxx" | "ipp" | "cu" | "ino" => Self::Cpp,
            "cs" => Self::CSharp,
            "rb" | "rake" | "gemspec" | "ru" => Self::Ruby,
            "php" | "phtml" | "inc" => Self::Php,
            "sh" | "bash" | "zsh" | "ksh" | "bats" => Self::Bash,
            "sql" | "psql" | "pgsql" => Self::Sql,
            "yml" | "yaml" => Self::Yaml,
            "html" | "htm" | "xhtml" | "vue" | "svelte" => Self::Html,
            "json" | "jsonc" | "json5" | "webmanifest" => Self::Json,
            "css" => Self::Css,
            _ => return None,
        })
    }

    fn of_shebang(first_line: &str) -> Option<Self> {
        let command = first_line.strip_prefix("#!")?;
        let mut words = command.split_whitespace();
        let first = words.next()?.rsplit('/').next()?;
        let program = if first == "env" { words.find(|word| !word.starts_with('-') && !word.contains('='))? } else { first };
        let program = program.rsplit('/').next()?.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.');
        match program {
            "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" => Some(Self::Bash),
            "python" | "pypy" => Some(Self::Python),
            "node" | "nodejs" | "deno" | "bun" => Some(Self::JavaScript),
            "ts-node" | "tsx" => Some(Self::TypeScript),
            "ruby" => Some(Self::Ruby),
            "php" => Some(Self::Php),
            _ => None,
        }
    }

    /// Where the language has no ast-grep face of its own, its bare grammar.
    fn support(self) -> Result<SupportLang, TSLanguage> {
        Ok(match self {
            Self::Rust => SupportLang::Rust,
            Self::Python => SupportLang::Python,
            Self::JavaScript => SupportLang::JavaScript,
            Self::TypeScript => SupportLang::TypeScript,
            Self::Tsx => SupportLang::Tsx,
            Self::Go => SupportLang::Go,
            Self::Java => SupportLang::Java,
            Self::C => SupportLang::C,
            Self::Cpp => SupportLang::Cpp,
            Self::CSharp => SupportLang::CSharp,
            Self::Ruby => SupportLang::Ruby,
            Self::Php => SupportLang::Php,
            Self::Bash => SupportLang::Bash,
            Self::Yaml => SupportLang::Yaml,
            Self::Html => SupportLang::Html,
            Self::Json => SupportLang::Json,
            Self::Css => SupportLang::Css,
            Self::Sql => return Err(tree_sitter_sequel::LANGUAGE.into()),
            Self::Dockerfile => return Err(tree_sitter_containerfile::LANGUAGE.into()),
        })
    }
}

impl AstLanguage for Language {
    fn pre_process_pattern<'q>(&self, query: &'q str) -> Cow<'q, str> {
        match self.support() {
            Ok(language) => language.pre_process_pattern(query),
            Err(_) => Cow::Borrowed(query),
        }
    }

    fn expando_char(&self) -> char {
        self.support().map_or('$', |language| language.expando_char())
    }

    fn kind_to_id(&self, kind: &str) -> u16 {
        self.get_ts_language().id_for_node_kind(kind, true)
    }

    fn field_to_id(&self, field: &str) -> Option<u16> {
        self.get_ts_language().field_id_for_name(field).map(std::num::NonZero::get)
    }

    fn build_pattern(&self, builder: &PatternBuilder<'_>) -> Result<Pattern, PatternError> {
        builder.build(|source| StrDoc::try_new(source, *self))
    }
}

impl LanguageExt for Language {
    fn get_ts_language(&self) -> TSLanguage {
        match self.support() {
            Ok(language) => language.get_ts_language(),
            Err(grammar) => grammar,
        }
    }

    fn injectable_languages(&self) -> Option<&'static [&'static str]> {
        None
    }

    fn extract_injections<L: LanguageExt>(&self, root: ast_grep_core::Node<'_, StrDoc<L>>) -> Vec<(String, Vec<TSRange>)> {
        match self.support() {
            Ok(language) => language.extract_injections(root),
            Err(_) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(path: &str, first_line: &str) -> Option<Language> {
        Language::detect(&RepoPath::parse(path.as_bytes()).unwrap(), first_line)
    }

    #[test]
    fn every_language_is_found_by_its_sample_name() {
        for &language in Language::ALL {
            assert_eq!(detect(language.sample_path(), ""), Some(language));
            assert_eq!(Language::named(language.name()), Some(vec![language]));
        }
    }

    #[test]
    fn names_and_shebangs_tell_what_extensions_do_not() {
        assert_eq!(detect("docker/Dockerfile.dev", ""), Some(Language::Dockerfile));
        assert_eq!(detect("bin/tool", "#!/usr/bin/env -S python3.12 -u"), Some(Language::Python));
        assert_eq!(detect("bin/tool", "#!/bin/bash"), Some(Language::Bash));
        assert_eq!(detect("bin/tool", "#!/usr/bin/perl"), None);
        assert_eq!(detect("README", "hello"), None);
    }
}

//! What the cross-file checks keep of manifests and lock files while the review passes them.

use std::collections::BTreeSet;

use regex::Regex;
use st_model::path::RepoPath;

use super::text::SideView;

/// The package managers whose manifest and lock file are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ecosystem {
    Cargo,
    Npm,
    Python,
    Go,
    Bundler,
    Composer,
}

/// What one file says.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Its folder, with a trailing `/` unless it is the root.
    pub(crate) folder: String,
    pub(crate) ecosystem: Ecosystem,
    pub(crate) kind: Kind,
    /// Whether the file was there before the change.
    pub(crate) existed: bool,
}

/// Manifest or lock file.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Manifest {
        /// Requirements on changed lines.
        added: Vec<(u32, String)>,
    },
    Lock {
        /// Every package named in it; `None` when only a part of the file is known.
        packages: Option<BTreeSet<String>>,
    },
}

fn ecosystem_of(name: &str) -> Option<(Ecosystem, bool)> {
    Some(match name {
        "Cargo.toml" => (Ecosystem::Cargo, false),
        "Cargo.lock" => (Ecosystem::Cargo, true),
        "package.json" => (Ecosystem::Npm, false),
        "package-lock.json" | "npm-shrinkwrap.json" | "yarn.lock" | "pnpm-lock.yaml" | "bun.lock" => (Ecosystem::Npm, true),
        "pyproject.toml" => (Ecosystem::Python, false),
        "poetry.lock" | "uv.lock" | "pdm.lock" => (Ecosystem::Python, true),
        "go.mod" => (Ecosystem::Go, false),
        "go.sum" => (Ecosystem::Go, true),
        "Gemfile" => (Ecosystem::Bundler, false),
        "Gemfile.lock" => (Ecosystem::Bundler, true),
        "composer.json" => (Ecosystem::Composer, false),
        "composer.lock" => (Ecosystem::Composer, true),
        _ => return None,
    })
}

impl Facts {
    /// What a file says, if it is a manifest or a lock file.
    pub(crate) fn of(path: &RepoPath, existed: bool, side: Option<&SideView>) -> Option<Self> {
        let text = path.as_str()?;
        let name = text.rsplit('/').next()?;
        let (ecosystem, is_lock) = ecosystem_of(name)?;
        let folder = text[..text.len() - name.len()].to_owned();
        let kind = if is_lock {
            Kind::Lock {
                packages: side.filter(|side| side.complete && side.too_long.is_empty()).map(|side| locked(ecosystem, side.text())),
            }
        } else {
            Kind::Manifest { added: side.map(|side| required(ecosystem, side)).unwrap_or_default() }
        };
        Some(Self { folder, ecosystem, kind, existed })
    }
}

/// Names as the registry compares them.
fn normal(ecosystem: Ecosystem, name: &str) -> String {
    match ecosystem {
        Ecosystem::Python => name.to_ascii_lowercase().replace(['_', '.'], "-"),
        Ecosystem::Cargo | Ecosystem::Npm | Ecosystem::Go | Ecosystem::Bundler | Ecosystem::Composer => name.to_owned(),
    }
}

fn captures(pattern: &str, text: &str) -> Vec<String> {
    // The patterns are the constants below; a test runs each of them.
    let Ok(pattern) = Regex::new(pattern) else { return Vec::new() };
    pattern.captures_iter(text).filter_map(|found| found.get(1)).map(|found| found.as_str().to_owned()).collect()
}

fn locked(ecosystem: Ecosystem, text: &str) -> BTreeSet<String> {
    let patterns: &[&str] = match ecosystem {
        Ecosystem::Cargo | Ecosystem::Python => &[r#"(?m)^name = "([^"]+)""#],
        Ecosystem::Npm => &[
            r#""(?:[^"]*node_modules/)?((?:@[^"/]+/)?[^"/:@\s]+)"\s*:"#,
            r#"(?m)^\s{0,2}"?/?((?:@[^@/\s"]+/)?[^@/\s"':]+)@"#,
            r#"(?m)^\s+'?((?:@[^@/\s']+/)?[^@/\s':]+)'?:"#,
        ],
        Ecosystem::Go => &[r"(?m)^(\S+) v"],
        Ecosystem::Bundler => &[r"(?m)^\s+([\w.-]+)(?: \(|$|!)"],
        Ecosystem::Composer => &[r#""name":\s*"([^"]+)""#],
    };
    patterns.iter().flat_map(|pattern| captures(pattern, text)).map(|name| normal(ecosystem, &name)).collect()
}

/// The packages that changed lines of a manifest require.
fn required(ecosystem: Ecosystem, side: &SideView) -> Vec<(u32, String)> {
    let mut section = String::new();
    let mut found = Vec::new();
    for (number, line) in side.known_lines() {
        let bare = line.trim();
        let head = match ecosystem {
            Ecosystem::Cargo | Ecosystem::Python => bare.starts_with('[').then(|| bare.trim_matches(['[', ']']).to_owned()),
            Ecosystem::Npm | Ecosystem::Composer => {
                bare.ends_with('{').then(|| bare.trim_start_matches('"').split('"').next().unwrap_or_default().to_owned())
            }
            Ecosystem::Go => bare.ends_with('(').then(|| bare.trim_end_matches('(').trim().to_owned()),
            Ecosystem::Bundler => None,
        };
        if let Some(head) = head {
            section = head;
            continue;
        }
        if (bare == "}" || bare == "}," || bare == ")") && matches!(ecosystem, Ecosystem::Npm | Ecosystem::Composer | Ecosystem::Go) {
            section.clear();
        }
        if !side.is_changed(number) {
            continue;
        }
        let name = match ecosystem {
            Ecosystem::Cargo if section.ends_with("dependencies") && !bare.starts_with('#') && !bare.contains("path =") => cargo_name(bare),
            Ecosystem::Npm if matches!(section.as_str(), "dependencies" | "devDependencies" | "optionalDependencies") => {
                captures(r#"^"([^"]+)":\s*"[\^~>=<*\d]"#, bare).pop()
            }
            Ecosystem::Composer if matches!(section.as_str(), "require" | "require-dev") => {
                captures(r#"^"([\w.-]+/[\w.-]+)":"#, bare).pop()
            }
            Ecosystem::Go if section == "require" => captures(r"^([\w.-]+\.[\w./~-]+) v", bare).pop(),
            Ecosystem::Go => captures(r"^require ([\w.-]+\.[\w./~-]+) v", bare).pop(),
            Ecosystem::Bundler => captures(r#"^gem ['"]([\w.-]+)['"]"#, bare).pop(),
            Ecosystem::Python if section.ends_with("dependencies") && section.starts_with("tool.poetry") => {
                captures(r#"^([A-Za-z0-9_.-]+)\s*="#, bare).pop().filter(|name| name != "python")
            }
            Ecosystem::Cargo | Ecosystem::Npm | Ecosystem::Composer | Ecosystem::Python => None,
        };
        if let Some(name) = name {
            found.push((number, normal(ecosystem, &name)));
        }
    }
    found
}

/// The package a line of a dependencies table requires: its key, or what `package =` renames it from.
fn cargo_name(line: &str) -> Option<String> {
    captures(r#"package\s*=\s*"([^"]+)""#, line).pop().or_else(|| captures(r#"^"?([A-Za-z0-9_-]+)"?(?:\.\w+)?\s*="#, line).pop())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(path: &str, text: &str) -> Kind {
        let side = SideView::new(text.as_bytes(), true, |_| true, |_| true);
        Facts::of(&RepoPath::parse(path.as_bytes()).unwrap(), true, Some(&side)).unwrap().kind
    }

    #[test]
    fn every_manifest_names_its_packages_and_every_lock_file_too() {
        for (manifest, text, lock, lock_text, name) in [
            (
                "Cargo.toml",
                "[package]\nname = \"a\"\n[dependencies]\nserde = \"1\"\n",
                "Cargo.lock",
                "[[package]]\nname = \"serde\"\n",
                "serde",
            ),
            (
                "package.json",
                "{\n  \"dependencies\": {\n    \"@a/b\": \"^1\"\n  }\n}\n",
                "package-lock.json",
                "{\"packages\":{\n\"node_modules/@a/b\": {}}}",
                "@a/b",
            ),
            (
                "package.json",
                "{\n  \"dependencies\": {\n    \"left\": \"^1\"\n  }\n}\n",
                "yarn.lock",
                "left@^1:\n  version \"1\"\n",
                "left",
            ),
            (
                "package.json",
                "{\n  \"dependencies\": {\n    \"left\": \"^1\"\n  }\n}\n",
                "pnpm-lock.yaml",
                "packages:\n  left@1.0.0:\n    x: 1\n",
                "left",
            ),
            ("go.mod", "module x\nrequire (\n\tgithub.com/a/b v1.2.3\n)\n", "go.sum", "github.com/a/b v1.2.3 h1:x\n", "github.com/a/b"),
            ("Gemfile", "gem 'rails', '~> 7'\n", "Gemfile.lock", "GEM\n  specs:\n    rails (7.0)\n", "rails"),
            ("composer.json", "{\n\"require\": {\n\"a/b\": \"^1\"\n}\n}\n", "composer.lock", "{\"name\": \"a/b\"}", "a/b"),
            (
                "pyproject.toml",
                "[tool.poetry.dependencies]\npython = \"^3\"\nMy_Lib = \"^1\"\n",
                "poetry.lock",
                "[[package]]\nname = \"my-lib\"\n",
                "my-lib",
            ),
        ] {
            let Kind::Manifest { added } = facts(manifest, text) else { panic!("{manifest}") };
            assert_eq!(added.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>(), [name], "{manifest}");
            let Kind::Lock { packages } = facts(lock, lock_text) else { panic!("{lock}") };
            assert!(packages.as_ref().unwrap().contains(name), "{lock}: {packages:?}");
        }
    }
}

//! Syntax trees: parsing within a budget, and matching the nodes that touch changed lines.

use std::ops::{ControlFlow, Range};
use std::sync::OnceLock;

use ast_grep_config::{DeserializeEnv, RuleCore, SerializableRuleCore};
use ast_grep_core::matcher::MatcherExt as _;
use ast_grep_core::replacer::TemplateFix;
use ast_grep_core::tree_sitter::{LanguageExt as _, StrDoc, TSRange};
use ast_grep_core::{AstGrep, Matcher as _};
use tree_sitter::{Node, ParseOptions, Parser, TreeCursor};

use super::budget::Budget;
use super::language::Language;
use super::pack::{Matcher, Pack, PackError, Span, SyntaxMatcher};
use super::text::SideView;

/// Deepest tree that is matched. Deeper ones are data, or made to exhaust the stack.
const MAX_DEPTH: usize = 1_000;

/// Why a file has no syntax tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SyntaxError {
    /// The budget was spent.
    #[error("reading it took longer than its time allows")]
    OutOfTime,
    /// Nested beyond the limit.
    #[error("its code nests deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// The grammar did not load.
    #[error("its grammar could not be loaded")]
    NoParser,
}

/// A parsed side: the file's own tree, then those of the languages inside it (scripts in HTML).
pub(crate) struct Parsed {
    /// The trees with their languages. Offsets and lines are the file's in all of them.
    pub(crate) trees: Vec<(Language, AstGrep<StrDoc<Language>>)>,
}

impl std::fmt::Debug for Parsed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.trees.iter().map(|(language, _)| language)).finish()
    }
}

/// Parses `text`.
///
/// # Errors
/// When it takes too long or nests too deep.
pub(crate) fn parse(text: &str, language: Language, budget: &Budget<'_>) -> Result<Parsed, SyntaxError> {
    let root = parse_ranges(text, language, &[], budget)?;
    let injections = root.lang().extract_injections_of(&root);
    let mut trees = vec![(language, root)];
    for (inner, ranges) in injections {
        trees.push((inner, parse_ranges(text, inner, &ranges, budget)?));
    }
    Ok(Parsed { trees })
}

impl Language {
    /// The scripts and styles inside a document.
    fn extract_injections_of(self, root: &AstGrep<StrDoc<Self>>) -> Vec<(Self, Vec<TSRange>)> {
        use ast_grep_core::tree_sitter::LanguageExt;
        let found = LanguageExt::extract_injections(&self, root.root());
        let known = |name: &str| match name {
            "js" | "javascript" | "jsx" | "module" => Some(Self::JavaScript),
            "ts" | "typescript" => Some(Self::TypeScript),
            "tsx" => Some(Self::Tsx),
            _ => None,
        };
        if self == Self::Html { found.into_iter().filter_map(|(name, ranges)| Some((known(&name)?, ranges))).collect() } else { Vec::new() }
    }
}

fn parse_ranges(text: &str, language: Language, ranges: &[TSRange], budget: &Budget<'_>) -> Result<AstGrep<StrDoc<Language>>, SyntaxError> {
    let mut parser = Parser::new();
    parser.set_language(&language.get_ts_language()).map_err(|_| SyntaxError::NoParser)?;
    parser.set_included_ranges(ranges).map_err(|_| SyntaxError::NoParser)?;
    let mut watch = |_: &tree_sitter::ParseState| if budget.is_spent() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let options = ParseOptions::new().progress_callback(&mut watch);
    let bytes = text.as_bytes();
    let tree = parser
        .parse_with_options(&mut |offset, _| bytes.get(offset..).unwrap_or_default(), None, Some(options))
        .ok_or(SyntaxError::OutOfTime)?;
    if depth_exceeds(tree.walk(), MAX_DEPTH) {
        return Err(SyntaxError::TooDeep);
    }
    Ok(AstGrep::doc(StrDoc { src: text.to_owned(), lang: language, tree }))
}

fn depth_exceeds(mut cursor: TreeCursor<'_>, limit: usize) -> bool {
    let mut depth = 0;
    loop {
        if cursor.goto_first_child() {
            depth += 1;
            if depth > limit {
                return true;
            }
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return false;
            }
            depth -= 1;
        }
    }
}

/// First and last line of a node, from 1. A node that ends at a line's start ends on the one before.
pub(crate) fn node_lines(node: &Node<'_>) -> (u32, u32) {
    let (start, end) = (node.start_position(), node.end_position());
    let last = if end.column == 0 && end.row > start.row { end.row - 1 } else { end.row };
    (line_number(start.row), line_number(last))
}

fn line_number(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX - 1) + 1
}

/// Visits the nodes that touch changed lines, parents first. `visit` says whether to go inside.
///
/// # Errors
/// When the budget is spent half-way.
pub(crate) fn visit_changed<'t>(
    root: Node<'t>,
    side: &SideView,
    budget: &Budget<'_>,
    mut visit: impl FnMut(Node<'t>) -> bool,
) -> Result<(), SyntaxError> {
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        if budget.is_spent_coarse() {
            return Err(SyntaxError::OutOfTime);
        }
        let (first, last) = node_lines(&node);
        let inside = side.touches_change(first, last) && visit(node);
        if inside && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return Ok(());
            }
        }
    }
}

/// A match of a syntax matcher.
pub(crate) struct SyntaxHit {
    /// Index of the rule in the pack.
    pub(crate) rule: usize,
    /// Lines the finding is about.
    pub(crate) lines: (u32, u32),
    /// What would replace which bytes, where certain.
    pub(crate) edit: Option<(Range<usize>, String)>,
}

struct Compiled {
    rule: usize,
    matcher: usize,
    core: RuleCore,
    template: Option<TemplateFix>,
}

/// A language's matchers, found by the kind of node they can start at.
pub(crate) struct Table {
    matchers: Vec<Compiled>,
    /// Indices into `matchers` by node kind.
    by_kind: Vec<Vec<usize>>,
    any_kind: Vec<usize>,
}

/// The compiled matchers of the embedded pack for a language; compiled when first needed.
///
/// # Errors
/// When an embedded matcher is broken; a test holds that none is.
pub(crate) fn table(language: Language) -> Result<&'static Table, &'static PackError> {
    static TABLES: [OnceLock<Result<Table, PackError>>; Language::ALL.len()] = [const { OnceLock::new() }; Language::ALL.len()];
    let pack = Pack::embedded()?;
    TABLES[language as usize].get_or_init(|| compile(pack, language)).as_ref()
}

fn compile(pack: &Pack, language: Language) -> Result<Table, PackError> {
    let mut table = Table { matchers: Vec::new(), by_kind: Vec::new(), any_kind: Vec::new() };
    for (rule_index, rule) in pack.rules().iter().enumerate() {
        for (matcher_index, scoped) in rule.matchers.iter().enumerate() {
            let Matcher::Syntax(raw) = &scoped.matcher else { continue };
            if !scoped.languages.contains(&language) {
                continue;
            }
            let core = compile_one(raw, language).map_err(|source| PackError::Syntax {
                rule: rule.id.clone(),
                language: language.name(),
                source: Box::new(source),
            })?;
            let template = raw.replace.as_deref().and_then(|text| TemplateFix::try_new(text, &language).ok());
            let index = table.matchers.len();
            match core.potential_kinds() {
                Some(kinds) => {
                    for kind in &kinds {
                        if table.by_kind.len() <= kind {
                            table.by_kind.resize_with(kind + 1, Vec::new);
                        }
                        table.by_kind[kind].push(index);
                    }
                }
                None => table.any_kind.push(index),
            }
            table.matchers.push(Compiled { rule: rule_index, matcher: matcher_index, core, template });
        }
    }
    Ok(table)
}

/// Compiles every matcher of the pack and tells what is wrong with each that does not.
#[cfg(test)]
pub(crate) fn broken_matchers(pack: &Pack) -> Vec<String> {
    let mut broken = Vec::new();
    for rule in pack.rules() {
        for scoped in &rule.matchers {
            let Matcher::Syntax(raw) = &scoped.matcher else { continue };
            for &language in &scoped.languages {
                if let Err(error) = compile_one(raw, language) {
                    let mut text = format!("{} [{}]: {error}", rule.id, language.name());
                    let mut source = std::error::Error::source(&error);
                    while let Some(inner) = source {
                        text = format!("{text}: {inner}");
                        source = inner.source();
                    }
                    broken.push(text);
                }
            }
        }
    }
    broken
}

fn compile_one(raw: &SyntaxMatcher, language: Language) -> Result<RuleCore, ast_grep_config::RuleCoreError> {
    let core =
        SerializableRuleCore { rule: raw.rule.clone(), constraints: raw.constraints.clone(), utils: raw.utils.clone(), transform: None };
    core.get_matcher(DeserializeEnv::new(language))
}

/// Finds every match of the language's matchers that touches changed lines of `side`.
///
/// # Errors
/// When the budget is spent half-way; `found` then holds what was found so far.
pub(crate) fn search(
    tree: &AstGrep<StrDoc<Language>>,
    pack: &Pack,
    table: &Table,
    side: &SideView,
    budget: &Budget<'_>,
    applies: impl Fn(usize, usize) -> bool,
    found: &mut Vec<SyntaxHit>,
) -> Result<(), SyntaxError> {
    let root = tree.root();
    let wanted: Vec<bool> = table.matchers.iter().map(|compiled| applies(compiled.rule, compiled.matcher)).collect();
    let mut out_of_time = false;
    visit_changed(root.get_inner_node(), side, budget, |inner| {
        let kind = usize::from(inner.kind_id());
        let of_kind = table.by_kind.get(kind).map_or(&[][..], Vec::as_slice);
        for &index in of_kind.iter().chain(&table.any_kind) {
            if !wanted[index] {
                continue;
            }
            if budget.is_spent_coarse() {
                out_of_time = true;
                return false;
            }
            let compiled = &table.matchers[index];
            let Matcher::Syntax(raw) = &pack.rules()[compiled.rule].matchers[compiled.matcher].matcher else { continue };
            let Some(matched) = compiled.core.match_node(tree.adopt(inner)) else { continue };
            let focus = raw.focus.as_deref().and_then(|name| matched.get_env().get_match(name)).cloned();
            let node = focus.as_ref().map_or_else(|| matched.get_node().get_inner_node(), ast_grep_core::Node::get_inner_node);
            // A guess of the parser is no ground to stand on.
            if matched.get_node().get_inner_node().has_error() {
                continue;
            }
            let (first, last) = node_lines(&node);
            let last = match raw.span {
                Span::Whole => last,
                Span::Head => first,
            };
            let (outer_first, outer_last) = node_lines(&matched.get_node().get_inner_node());
            if !side.touches_change(first, last) || !side.is_known(outer_first, outer_last) {
                continue;
            }
            let edit = compiled.template.as_ref().map(|template| {
                let edit = matched.replace_by(template);
                (edit.position..edit.position + edit.deleted_length, String::from_utf8_lossy(&edit.inserted_text).into_owned())
            });
            found.push(SyntaxHit { rule: compiled.rule, lines: (first, last), edit });
        }
        true
    })?;
    if out_of_time { Err(SyntaxError::OutOfTime) } else { Ok(()) }
}

/// Byte ranges of comments and of string literals that touch changed lines.
#[derive(Debug, Default)]
pub(crate) struct Regions {
    comments: Vec<Range<usize>>,
    strings: Vec<Range<usize>>,
}

impl Regions {
    /// Collects them from a parsed side.
    pub(crate) fn of(parsed: &Parsed, side: &SideView, budget: &Budget<'_>) -> Self {
        let mut regions = Self::default();
        for (_, tree) in &parsed.trees {
            // What a spent budget leaves out only makes line matchers less picky; the spent
            // budget itself is reported by `search`.
            let _ = visit_changed(tree.root().get_inner_node(), side, budget, |node| {
                let kind = node.kind();
                if kind.contains("comment") && kind != "comment_directive" {
                    regions.comments.push(node.byte_range());
                    return false;
                }
                if kind.contains("string") && !kind.contains("template") && node.is_named() {
                    regions.strings.push(node.byte_range());
                    return false;
                }
                true
            });
        }
        regions
    }

    /// Whether an offset lies in a comment.
    pub(crate) fn in_comment(&self, offset: usize) -> bool {
        self.comments.iter().any(|range| range.contains(&offset))
    }

    /// Whether an offset lies in a string literal.
    pub(crate) fn in_string(&self, offset: usize) -> bool {
        self.strings.iter().any(|range| range.contains(&offset))
    }
}

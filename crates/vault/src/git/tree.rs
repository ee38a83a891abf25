//! Trees: flat lists of their files, and what differs between two.

use std::collections::BTreeMap;

use gix::ObjectId;
use gix::objs::Kind;
use gix::objs::tree::EntryKind;
use st_model::path::RepoPath;
use st_model::problem::{ErrorCode, Problem};
use st_model::version::FileMode;

use super::repository::Repository;

/// Deepest nesting of folders that is followed; no file system allows more in one path.
const DEPTH: usize = 2048;

/// A file, link or submodule in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TreeFile {
    pub(crate) mode: FileMode,
    pub(crate) id: ObjectId,
}

/// All files of a tree by path.
pub(crate) type Files = BTreeMap<Vec<u8>, TreeFile>;

/// One path on which two trees differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeChange {
    pub(crate) path: RepoPath,
    pub(crate) old: Option<TreeFile>,
    pub(crate) new: Option<TreeFile>,
}

enum Node {
    Folder(ObjectId),
    File(TreeFile),
}

impl Node {
    fn file(&self) -> Option<TreeFile> {
        match self {
            Self::File(file) => Some(*file),
            Self::Folder(_) => None,
        }
    }

    fn folder(&self) -> Option<ObjectId> {
        match self {
            Self::Folder(id) => Some(*id),
            Self::File(_) => None,
        }
    }
}

impl Repository {
    /// Adds all files of the tree `id`, which lies at `prefix`, to `files`.
    pub(crate) fn flatten(&self, id: ObjectId, prefix: &[u8], files: &mut Files) -> Result<(), Problem> {
        let mut open = vec![(prefix.to_vec(), id)];
        while let Some((prefix, id)) = open.pop() {
            for (name, node) in self.nodes(id)? {
                let path = join(&prefix, &name);
                self.check_depth(&path)?;
                match node {
                    Node::Folder(id) => open.push((path, id)),
                    Node::File(file) => drop(files.insert(path, file)),
                }
            }
        }
        Ok(())
    }

    /// What differs between two trees, ordered by path. Equal folders are not read.
    pub(crate) fn compare_trees(&self, old: ObjectId, new: ObjectId) -> Result<Vec<TreeChange>, Problem> {
        let mut changes = Vec::new();
        let mut open = vec![(Vec::new(), Some(old), Some(new))];
        while let Some((prefix, old, new)) = open.pop() {
            if old == new {
                continue;
            }
            let nodes = |id: Option<ObjectId>| id.map_or_else(|| Ok(BTreeMap::new()), |id| self.nodes(id));
            let (old_nodes, mut new_nodes) = (nodes(old)?, nodes(new)?);
            let mut pairs: Vec<_> = old_nodes
                .into_iter()
                .map(|(name, node)| {
                    let other = new_nodes.remove(&name);
                    (name, Some(node), other)
                })
                .collect();
            pairs.extend(new_nodes.into_iter().map(|(name, node)| (name, None, Some(node))));
            for (name, old, new) in pairs {
                let path = join(&prefix, &name);
                self.check_depth(&path)?;
                let folders = (old.as_ref().and_then(Node::folder), new.as_ref().and_then(Node::folder));
                if folders != (None, None) {
                    open.push((path.clone(), folders.0, folders.1));
                }
                let files = (old.as_ref().and_then(Node::file), new.as_ref().and_then(Node::file));
                if files.0 != files.1 {
                    changes.push(TreeChange { path: self.path(&path)?, old: files.0, new: files.1 });
                }
            }
        }
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(changes)
    }

    /// A file at the top of a tree.
    pub(crate) fn top_file(&self, tree: ObjectId, name: &[u8]) -> Result<Option<TreeFile>, Problem> {
        Ok(self.nodes(tree)?.get(name).and_then(Node::file))
    }

    /// A path of a tree or an index, which a damaged or hostile repository can make anything.
    pub(crate) fn path(&self, bytes: &[u8]) -> Result<RepoPath, Problem> {
        RepoPath::parse(bytes).map_err(|error| {
            Problem::no_change(
                ErrorCode::Unreadable,
                format!("`{}` holds the path `{}`, and {error}", self.name, String::from_utf8_lossy(bytes)),
                "Run `git fsck` in the repository to see what is damaged.",
            )
        })
    }

    fn check_depth(&self, path: &[u8]) -> Result<(), Problem> {
        if path.iter().filter(|&&byte| byte == b'/').count() < DEPTH {
            return Ok(());
        }
        Err(Problem::no_change(
            ErrorCode::TooLarge,
            format!("`{}` nests folders more than {DEPTH} deep", self.name),
            "Review a patch of the part that matters.",
        ))
    }

    fn nodes(&self, id: ObjectId) -> Result<BTreeMap<Vec<u8>, Node>, Problem> {
        let bytes = self.needed(id, Kind::Tree)?;
        let mut nodes = BTreeMap::new();
        for entry in gix::objs::TreeRefIter::from_bytes(&bytes, self.hash_kind()) {
            let entry = entry.map_err(|error| {
                Problem::no_change(
                    ErrorCode::Unreadable,
                    format!("tree {id} of `{}` is damaged: {}", self.name, crate::pin::chain(&error)),
                    "Run `git fsck` in the repository to see what is damaged.",
                )
            })?;
            let file = |mode| Node::File(TreeFile { mode, id: entry.oid.to_owned() });
            let node = match entry.mode.kind() {
                EntryKind::Tree => Node::Folder(entry.oid.to_owned()),
                EntryKind::Blob => file(FileMode::Regular),
                EntryKind::BlobExecutable => file(FileMode::Executable),
                EntryKind::Link => file(FileMode::Symlink),
                EntryKind::Commit => file(FileMode::Gitlink),
            };
            nodes.insert(entry.filename.to_vec(), node);
        }
        Ok(nodes)
    }
}

fn join(prefix: &[u8], name: &[u8]) -> Vec<u8> {
    if prefix.is_empty() { name.to_vec() } else { [prefix, b"/", name].concat() }
}

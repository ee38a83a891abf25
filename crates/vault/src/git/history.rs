//! Revisions, the default branch, merge bases, and what the commits in between say.

use gix::ObjectId;
use gix::bstr::ByteSlice;
use gix::objs::Kind;
use gix::revision::walk::Sorting;
use st_model::problem::{ErrorCode, Problem};

use super::repository::Repository;
use crate::pin::chain;

/// Most commit subjects that are kept.
const SUBJECTS: usize = 200;

/// Longest subject that is kept, in characters.
const SUBJECT_CHARS: usize = 300;

/// Most commits that are counted.
const COUNTED: usize = 10_000;

/// Branch names tried as the default branch, after what the repository itself says.
const DEFAULTS: [&str; 3] = ["main", "master", "trunk"];

/// Two commits to be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Compared {
    /// The commit before.
    pub(crate) base: ObjectId,
    /// The commit after.
    pub(crate) head: ObjectId,
    /// What the user should know about the choice.
    pub(crate) notes: Vec<String>,
}

impl Repository {
    /// The commit that HEAD names; none when nothing was committed yet.
    pub(crate) fn head_commit(&self) -> Result<Option<ObjectId>, Problem> {
        let broken = |error: &gix::Error| {
            Problem::no_change(
                ErrorCode::Unreadable,
                format!("HEAD of `{}` can't be read: {}", self.name, chain(error)),
                "Run `git status` in the repository to see what is wrong.",
            )
        };
        let head = self.git.head().map_err(|error| broken(&error))?;
        if head.is_unborn() {
            return Ok(None);
        }
        let id = head.into_peeled_id().map_err(|error| broken(&error))?;
        Ok(Some(id.detach()))
    }

    /// The tree of a commit.
    pub(crate) fn tree_of(&self, commit: ObjectId) -> Result<ObjectId, Problem> {
        let bytes = self.needed(commit, Kind::Commit)?;
        gix::objs::CommitRefIter::from_bytes(&bytes, self.hash_kind()).tree_id().map_err(|error| {
            Problem::no_change(
                ErrorCode::Unreadable,
                format!("commit {commit} of `{}` is damaged: {}", self.name, chain(&error)),
                "Run `git fsck` in the repository to see what is damaged.",
            )
        })
    }

    /// The commit a revision names.
    pub(crate) fn commit(&self, revision: &str) -> Result<ObjectId, Problem> {
        let unknown = || {
            Problem::no_change(
                ErrorCode::UnknownRevision,
                format!("`{revision}` names no commit in `{}`", self.name),
                "List what there is with `git branch --all` and `git log --oneline`.",
            )
            .or("If it is on a server only, run `git fetch` first; a review fetches nothing.")
        };
        let id = self.git.rev_parse_single(revision).map_err(|_| unknown())?;
        let object = id.object().map_err(|error| {
            let mut problem = unknown();
            problem.message = format!("{}: {}", problem.message, chain(&error));
            problem
        })?;
        Ok(object.peel_to_kind(Kind::Commit).map_err(|_| unknown())?.id)
    }

    /// The commit a branch points to, and the name under which it was found.
    fn branch(&self, branch: &str) -> Result<(ObjectId, String), Problem> {
        for name in [format!("refs/heads/{branch}"), format!("refs/remotes/{branch}"), format!("refs/remotes/origin/{branch}")] {
            if let Some(found) = self.reference(&name) {
                return Ok((found, short(&name)));
            }
        }
        Ok((self.commit(branch)?, branch.to_owned()))
    }

    fn reference(&self, name: &str) -> Option<ObjectId> {
        let mut reference = self.git.try_find_reference(name).ok().flatten()?;
        reference.peel_to_commit().ok().map(|commit| commit.id)
    }

    /// Compares two revisions as they are.
    pub(crate) fn range(&self, base: &str, head: &str) -> Result<Compared, Problem> {
        let (base_id, head_id) = (self.commit(base)?, self.commit(head)?);
        let notes = vec![format!("compared {} (`{base}`) with {} (`{head}`)", self.short_id(base_id), self.short_id(head_id))];
        Ok(Compared { base: base_id, head: head_id, notes })
    }

    /// Compares a branch with its merge base with `base`, or with the default branch.
    pub(crate) fn since_merge_base(&self, branch: &str, base: Option<&str>) -> Result<Compared, Problem> {
        let (head, head_name) = self.branch(branch)?;
        let (upstream, upstream_name) = match base {
            Some(base) => self.branch(base)?,
            None => self.default_branch(&head_name)?,
        };
        let unrelated = |why: &str| {
            Problem::no_change(
                ErrorCode::UnknownRevision,
                format!("`{head_name}` and `{upstream_name}` of `{}` have no common ancestor here{why}", self.name),
                "Name the commit to compare with: `sidetrack review REPO@BASE..HEAD`.",
            )
        };
        let shallow = self.git.is_shallow().unwrap_or(false);
        let merge_base = match self.git.merge_base(upstream, head) {
            Ok(Some(id)) => id.detach(),
            Ok(None) if shallow => return Err(unrelated(": this clone is shallow").or("Or fetch more history: `git fetch --unshallow`.")),
            Ok(None) => return Err(unrelated("")),
            Err(error) => return Err(unrelated(&format!(": {}", chain(&error)))),
        };
        let notes = vec![format!("compared `{head_name}` with merge base {} of `{upstream_name}`", self.short_id(merge_base))];
        Ok(Compared { base: merge_base, head, notes })
    }

    /// The branch that others are merged into, as far as this repository tells.
    fn default_branch(&self, not: &str) -> Result<(ObjectId, String), Problem> {
        let said = self.git.try_find_reference("refs/remotes/origin/HEAD").ok().flatten().and_then(|head| {
            let target = head.target().try_name()?.as_bstr().to_string();
            Some((self.reference(&target)?, short(&target)))
        });
        if let Some(said) = said.filter(|(_, name)| name != not) {
            return Ok(said);
        }
        let configured = self.settings.default_branch.iter().map(String::as_str);
        let names: Vec<&str> = DEFAULTS.into_iter().chain(configured).collect();
        for prefix in ["refs/heads/", "refs/remotes/origin/"] {
            for name in &names {
                let full = format!("{prefix}{name}");
                if let Some(id) = self.reference(&full).filter(|_| short(&full) != not) {
                    return Ok((id, short(&full)));
                }
            }
        }
        Err(Problem::no_change(
            ErrorCode::UnknownRevision,
            format!(
                "`{}` does not say which branch `{not}` is to be merged into (tried `origin/HEAD`, {})",
                self.name,
                names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
            ),
            "Name it with `--base BRANCH`.",
        ))
    }

    /// Subjects of the commits in `head` and not in `base`, oldest first; a note says what is left out.
    pub(crate) fn subjects(&self, base: Option<ObjectId>, head: ObjectId) -> (Vec<String>, Option<String>) {
        let walk = self.git.rev_walk([head]).with_hidden(base).sorting(Sorting::ByCommitTime(Default::default())).all();
        let Ok(walk) = walk else {
            return (Vec::new(), Some("the commits in between could not be listed".into()));
        };
        let (mut subjects, mut more, mut broken) = (Vec::new(), 0usize, false);
        for found in walk.take(COUNTED) {
            let Ok(found) = found else {
                broken = true;
                break;
            };
            if subjects.len() < SUBJECTS {
                let Ok(commit) = found.object() else {
                    broken = true;
                    break;
                };
                subjects.push(subject(commit.message_raw_sloppy().as_bytes()));
            } else {
                more += 1;
            }
        }
        subjects.reverse();
        let note = if broken {
            Some("some commits in between are not in this clone, so their subjects are not listed".to_owned())
        } else {
            (more > 0).then(|| {
                format!(
                    "subjects of the newest {SUBJECTS} commits are kept; {}{more} older ones are not",
                    if more + SUBJECTS >= COUNTED { "at least " } else { "" }
                )
            })
        };
        (subjects, note)
    }

    /// An id for people.
    fn short_id(&self, id: ObjectId) -> String {
        id.to_hex_with_len(10).to_string()
    }
}

/// First line of a commit message.
fn subject(message: &[u8]) -> String {
    let text = message.trim_start();
    let line = text.lines().next().unwrap_or_default().to_str_lossy();
    let line = line.trim_end();
    if line.chars().count() <= SUBJECT_CHARS {
        return line.to_owned();
    }
    line.chars().take(SUBJECT_CHARS).chain(['…']).collect()
}

/// A reference's name as people write it.
fn short(name: &str) -> String {
    name.strip_prefix("refs/heads/").or_else(|| name.strip_prefix("refs/remotes/")).unwrap_or(name).to_owned()
}

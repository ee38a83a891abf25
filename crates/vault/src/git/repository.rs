//! Finding and opening a repository, and reading its objects.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::hash::Kind;
use st_model::problem::{ErrorCode, Problem};

use super::settings::{Settings, UserSettings};
use crate::hash::blob_id;
use crate::pin::chain;

/// Largest commit or tree that is read, in bytes; git's own are far below it.
const OBJECT_BYTES: u64 = 256 << 20;

/// A repository, opened for reading.
pub(crate) struct Repository {
    /// The parsed repository.
    pub(crate) git: gix::Repository,
    /// Top folder of the working tree; none for a bare repository.
    pub(crate) top: Option<PathBuf>,
    /// The folder as the user wrote it, for messages.
    pub(crate) name: String,
    /// What decides how bytes are compared.
    pub(crate) settings: Settings,
}

/// What became of reading a blob.
#[derive(Debug)]
pub(crate) enum Fetched {
    /// Its bytes.
    Bytes(Vec<u8>),
    /// It is larger than the limit.
    TooLarge,
    /// It can't be read, and why.
    Missing(String),
}

impl Repository {
    /// Opens the repository that holds `folder`, without its hooks, filters or includes.
    pub(crate) fn open(folder: &Path, user: &UserSettings) -> Result<Self, Problem> {
        let name = folder.display().to_string();
        let real = match folder.canonicalize() {
            Ok(real) => real,
            Err(error) if crate::disk::is_absent(&error) => {
                return Err(Problem::no_change(
                    ErrorCode::NotFound,
                    format!("`{name}` is not there"),
                    "Check the name; if the folder was moved, submit it again from where it is.",
                ));
            }
            Err(error) => return Err(unreadable(&name, &chain(&error))),
        };
        let Place { git_dir, top } = find(&real).ok_or_else(|| {
            Problem::no_change(
                ErrorCode::NotARepository,
                format!("`{name}` is no git repository and lies in none"),
                "Give the folder of a repository, or the folder itself to review all of its files.",
            )
        })?;
        refuse_traps(&name, &git_dir)?;
        // Ownership decides whom git lets run code; nothing is run here, so reading is enough.
        let options = gix::open::Options::isolated().with(gix::sec::Trust::Full).open_path_as_is(true);
        let git = gix::open_opts(&git_dir, options).map_err(|error| explain_open(&name, &git_dir, &chain(&error)))?;
        let settings = Settings::of(&git, user);
        if git.config_snapshot().string("extensions.refstorage").is_some_and(|format| !format.eq_ignore_ascii_case(b"files")) {
            return Err(reftable(&name));
        }
        let bare = git.is_bare();
        let top = top.filter(|_| !bare);
        if let (Some(top), Some(said)) = (&top, git.workdir()) {
            let said = git.current_dir().join(said);
            if said.canonicalize().ok().as_deref() != Some(top) {
                return Err(Problem::no_change(
                    ErrorCode::UnsupportedInput,
                    format!("`{name}` says that its working tree is `{}` (`core.worktree`), not the folder it lies in", said.display()),
                    "Submit a range of commits instead: `sidetrack review REPO@BASE..HEAD`.",
                ));
            }
        }
        Ok(Self { git, top, name, settings })
    }

    /// How the repository names its objects.
    pub(crate) fn hash_kind(&self) -> Kind {
        self.git.object_hash()
    }

    /// The id this repository gives to `bytes` as a blob.
    pub(crate) fn id_of(&self, bytes: &[u8]) -> ObjectId {
        match self.hash_kind() {
            Kind::Sha1 => ObjectId::Sha1(blob_id(bytes).0),
            kind => gix::objs::compute_hash(kind, gix::objs::Kind::Blob, bytes).unwrap_or_else(|_| kind.null()),
        }
    }

    /// The bytes of a blob, when it is there and no larger than `limit`. Never fetches.
    pub(crate) fn blob(&self, id: ObjectId, limit: u64) -> Fetched {
        match self.git.try_find_header(id) {
            Ok(Some(header)) if header.kind() != gix::objs::Kind::Blob => {
                return Fetched::Missing(format!("object {id} is no blob; the repository is damaged"));
            }
            Ok(Some(header)) if header.size() > limit => return Fetched::TooLarge,
            Ok(Some(_)) => {}
            Ok(None) => return Fetched::Missing(self.words_for_missing("blob", id)),
            Err(error) => return Fetched::Missing(format!("blob {id} can't be read: {}", chain(&error))),
        }
        match self.git.try_find_object(id) {
            Ok(Some(mut object)) => Fetched::Bytes(std::mem::take(&mut object.data)),
            Ok(None) => Fetched::Missing(self.words_for_missing("blob", id)),
            Err(error) => Fetched::Missing(format!("blob {id} can't be read: {}", chain(&error))),
        }
    }

    /// The bytes of a tree or commit that can't be done without.
    pub(crate) fn needed(&self, id: ObjectId, kind: gix::objs::Kind) -> Result<Vec<u8>, Problem> {
        let damaged = |why: String| {
            Problem::no_change(
                ErrorCode::Unreadable,
                format!("{kind} {id} of `{}` can't be read: {why}", self.name),
                "Run `git fsck` in the repository to see what is damaged.",
            )
        };
        match self.git.try_find_header(id).map_err(|error| damaged(chain(&error)))? {
            None => return Err(self.absent(&kind.to_string(), id)),
            Some(header) if header.size() > OBJECT_BYTES => return Err(damaged("it is far too large".into())),
            Some(_) => {}
        }
        match self.git.try_find_object(id).map_err(|error| damaged(chain(&error)))? {
            None => Err(self.absent(&kind.to_string(), id)),
            Some(object) if object.kind != kind => Err(damaged(format!("it is a {}", object.kind))),
            Some(mut object) => Ok(std::mem::take(&mut object.data)),
        }
    }

    fn absent(&self, kind: &str, id: ObjectId) -> Problem {
        Problem::no_change(
            ErrorCode::Unreadable,
            format!("in `{}`, {}", self.name, self.words_for_missing(kind, id)),
            "Fetch what is missing (`git fetch --refetch` in a partial clone, `git fetch --unshallow` in a shallow one), then run the review again.",
        )
    }

    /// Says that an object is not here, and why nothing is done about it.
    fn words_for_missing(&self, kind: &str, id: ObjectId) -> String {
        let config = self.git.config_snapshot();
        let partial = config.plumbing().string("extensions.partialclone").is_some()
            || config.plumbing().sections_by_name("remote").into_iter().flatten().any(|section| section.value("promisor").is_some());
        if partial {
            format!("{kind} {id} is not in this partial clone, and a review fetches nothing")
        } else {
            format!("{kind} {id} is not in the repository")
        }
    }
}

/// Folders of a git directory that nothing here reads.
const UNREAD: [&str; 5] = ["hooks", "lfs", "modules", "rr-cache", "worktrees"];

/// Most entries of a git directory that are looked at for traps.
const ENTRIES: usize = 500_000;

/// Refuses a git directory with a FIFO or device in it: parsing it would wait for ever. Sockets
/// are harmless, and git's own file monitor keeps one there.
pub(crate) fn refuse_traps(name: &str, git_dir: &Path) -> Result<(), Problem> {
    let trap = |path: &Path| {
        let kind = path.metadata().ok()?.file_type();
        (kind.is_fifo() || kind.is_char_device() || kind.is_block_device()).then(|| path.to_owned())
    };
    let found = if git_dir.is_dir() {
        let common = std::fs::symlink_metadata(git_dir.join("commondir")).is_ok_and(|found| found.is_file());
        let common = common.then(|| std::fs::read_to_string(git_dir.join("commondir")).ok()).flatten();
        let common = common.map(|text| git_dir.join(text.trim_end()));
        std::iter::once(git_dir.to_owned()).chain(common).find_map(|folder| trap_below(&folder, &trap))
    } else {
        trap(git_dir).or_else(|| {
            let text = std::fs::read_to_string(git_dir).ok()?;
            let target = git_dir.parent()?.join(text.strip_prefix("gitdir:")?.trim());
            target.is_dir().then(|| refuse_traps(name, &target)).and_then(Result::err).map(|_| target)
        })
    };
    match found {
        None => Ok(()),
        Some(path) => Err(Problem::no_change(
            ErrorCode::UnsupportedInput,
            format!("`{name}` keeps a FIFO or device among git's own files (`{}`), and reading it could wait for ever", path.display()),
            "Remove it, or pipe the change instead: `git diff HEAD | sidetrack review -`.",
        )),
    }
}

fn trap_below(folder: &Path, trap: &dyn Fn(&Path) -> Option<PathBuf>) -> Option<PathBuf> {
    let mut open = vec![folder.to_owned()];
    let mut seen = 0;
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).ok().into_iter().flatten().flatten() {
            seen += 1;
            if seen > ENTRIES {
                return None;
            }
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && !UNREAD.iter().any(|name| entry.file_name() == *name) {
                open.push(entry.path());
            } else if !kind.is_file()
                && !kind.is_dir()
                && let Some(found) = trap(&entry.path())
            {
                return Some(found);
            }
        }
    }
    None
}

struct Place {
    git_dir: PathBuf,
    top: Option<PathBuf>,
}

/// The nearest repository at or above a canonical folder.
fn find(folder: &Path) -> Option<Place> {
    for place in folder.ancestors() {
        let dot_git = place.join(".git");
        if dot_git.symlink_metadata().is_ok() && (dot_git.is_file() || is_git_dir(&dot_git)) {
            return Some(Place { git_dir: dot_git, top: Some(place.to_owned()) });
        }
        if is_git_dir(place) {
            let top = place.parent().filter(|_| place.file_name().is_some_and(|name| name == ".git"));
            return Some(Place { git_dir: place.to_owned(), top: top.map(Path::to_owned) });
        }
    }
    None
}

/// Whether a folder is laid out like a git directory, as git itself decides it.
pub(crate) fn is_git_dir(folder: &Path) -> bool {
    let has = |name: &str| folder.join(name).exists();
    folder.join("HEAD").symlink_metadata().is_ok() && ((has("objects") && has("refs")) || has("commondir"))
}

fn unreadable(name: &str, why: &str) -> Problem {
    Problem::no_change(ErrorCode::Unreadable, format!("`{name}` can't be read: {why}"), "Check its permissions, then submit it again.")
}

fn reftable(name: &str) -> Problem {
    Problem::no_change(
        ErrorCode::UnsupportedInput,
        format!("`{name}` keeps its branches in the reftable format, which can't be read yet"),
        "Pipe the change instead: `git diff BASE..HEAD | sidetrack review -`.",
    )
    .or("Or convert it: `git refs migrate --ref-format=files`.")
}

fn explain_open(name: &str, git_dir: &Path, why: &str) -> Problem {
    if git_dir.join("reftable").is_dir() || why.contains("reftable") {
        return reftable(name);
    }
    Problem::no_change(
        ErrorCode::Unreadable,
        format!("the repository `{name}` can't be opened: {why}"),
        "Run `git status` there; if git opens it, pipe the change instead: `git diff | sidetrack review -`.",
    )
}

//! What can go wrong in the store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use st_model::state::IllegalTransition;

/// What can go wrong in the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The attempt no longer holds its lease: another claim or an operation came first.
    #[error("the lease is lost")]
    LeaseLost,
    /// No such task.
    #[error("no task has that number or id")]
    UnknownTask,
    /// The event does not fit the task's state.
    #[error(transparent)]
    Illegal(#[from] IllegalTransition),
    /// The database was written by a newer version.
    #[error("the database is of schema {found}, newer than this version's {known}")]
    TooNew {
        /// What it holds.
        found: i64,
        /// The newest this version knows.
        known: i64,
    },
    /// The database belongs to another program. It was not touched.
    #[error("`{}` is a database of another program", path.display())]
    NotOurs {
        /// Which file.
        path: PathBuf,
    },
    /// The database library in use is one that can lose committed writes.
    #[error("the database library is {found}; older than 3.51.3 it can lose committed writes")]
    UnsafeLibrary {
        /// Its version.
        found: String,
    },
    /// The database file can't be made or its permissions can't be set.
    #[error("failed to {doing} `{}`", path.display())]
    Io {
        /// What was attempted.
        doing: &'static str,
        /// Where.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The schema could not be brought up to date. It is as it was before.
    #[error("failed to bring the database's schema up to date")]
    Migrate(#[source] Box<sqlx::migrate::MigrateError>),
    /// A row does not read back as what it should be.
    #[error("a stored {what} does not read back")]
    Corrupt {
        /// Which.
        what: &'static str,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// A value has no stored form (a path of the host that is not UTF-8).
    #[error("a {what} can't be stored")]
    NotStorable {
        /// Which.
        what: &'static str,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// The database file is damaged, or is no database.
    #[error("the database is damaged: it failed while {doing}")]
    Damaged {
        /// What was attempted.
        doing: &'static str,
        /// Why.
        #[source]
        source: Arc<sqlx::Error>,
    },
    /// The disk is full.
    #[error("the disk is full")]
    DiskFull,
    /// The database failed.
    #[error("the database failed while {doing}")]
    Sql {
        /// What was attempted.
        doing: &'static str,
        /// Why. Shared, since one failed commit fails every change in it.
        #[source]
        source: Arc<sqlx::Error>,
    },
    /// The writer has stopped.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// Tells failures of the database apart by what the caller does differently.
    pub(crate) fn from_sql(doing: &'static str, error: sqlx::Error) -> Self {
        if matches!(error, sqlx::Error::PoolClosed) {
            return Self::Closed;
        }
        if let sqlx::Error::Io(source) = &error
            && source.kind() == std::io::ErrorKind::StorageFull
        {
            return Self::DiskFull;
        }
        let code = code(&error);
        if code == Some(libsqlite3_sys::SQLITE_IOERR_SHMSIZE) {
            // The write-ahead log's index could not grow; the library has no better word for it.
            return Self::DiskFull;
        }
        // The primary code, without its extension (`SQLITE_CORRUPT_INDEX` → `SQLITE_CORRUPT`).
        match code.map(|code| code & 0xff) {
            Some(libsqlite3_sys::SQLITE_FULL) => Self::DiskFull,
            Some(libsqlite3_sys::SQLITE_CORRUPT | libsqlite3_sys::SQLITE_NOTADB) => Self::Damaged { doing, source: Arc::new(error) },
            _ => Self::Sql { doing, source: Arc::new(error) },
        }
    }

    /// The same for a file.
    pub(crate) fn from_io(doing: &'static str, path: &Path, source: std::io::Error) -> Self {
        match source.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Self::DiskFull,
            _ => Self::Io { doing, path: path.to_owned(), source },
        }
    }

    /// Makes the mapper for [`Result::map_err`].
    pub(crate) fn sql(doing: &'static str) -> impl Fn(sqlx::Error) -> Self {
        move |error| Self::from_sql(doing, error)
    }

    pub(crate) fn corrupt(what: &'static str) -> impl Fn(serde_json::Error) -> Self {
        move |source| Self::Corrupt { what, source }
    }

    pub(crate) fn not_storable(what: &'static str) -> impl Fn(serde_json::Error) -> Self {
        move |source| Self::NotStorable { what, source }
    }

    /// The same failure for another change of the same transaction; `None` for errors that
    /// belong to one change alone.
    pub(crate) fn shared(&self) -> Option<Self> {
        match self {
            Self::DiskFull => Some(Self::DiskFull),
            Self::Closed => Some(Self::Closed),
            Self::Sql { doing, source } => Some(Self::Sql { doing, source: source.clone() }),
            Self::Damaged { doing, source } => Some(Self::Damaged { doing, source: source.clone() }),
            Self::LeaseLost
            | Self::UnknownTask
            | Self::Illegal(_)
            | Self::TooNew { .. }
            | Self::NotOurs { .. }
            | Self::UnsafeLibrary { .. }
            | Self::Io { .. }
            | Self::Migrate(_)
            | Self::Corrupt { .. }
            | Self::NotStorable { .. } => None,
        }
    }
}

/// The database's extended result code.
fn code(error: &sqlx::Error) -> Option<i32> {
    error.as_database_error()?.code()?.parse().ok()
}

//! Opening the database: whose it is, how old, and bringing it up to date.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions};
use sqlx::{ConnectOptions as _, Connection as _, Row as _, SqlSafeStr as _, SqliteConnection};

use crate::error::StoreError;

/// `STRK`, in every database of ours from its first migration on.
const APPLICATION_ID: i64 = 0x5354_524B;

/// The first version without the write-ahead-log bug that loses committed writes when one
/// connection checkpoints while another writes (versions 3.7.0 to 3.51.2).
const SAFE_LIBRARY: [u32; 3] = [3, 51, 3];

/// How long a statement waits for another process's transaction, 5 s.
const BUSY: Duration = Duration::from_secs(5);

/// Readers at once. Reads are short; more would only multiply page caches.
const READERS: u32 = 4;

/// Numbered from 1, and the number of the last is the schema's (`PRAGMA user_version`).
/// A migration that has shipped is never edited.
const MIGRATIONS: [(&str, &str); 1] = [("queue", include_str!("../migrations/0001_queue.sql"))];

// The library that is linked in, checked where it can't be forgotten.
const _: () = assert!(libsqlite3_sys::SQLITE_VERSION_NUMBER >= 3_051_003, "libsqlite3-sys bundles an unsafe SQLite");

/// Opens the writing connection on a database that is ours, safe and up to date.
pub(crate) async fn open_writer(path: &Path) -> Result<SqliteConnection, StoreError> {
    let doing = "opening the database";
    make_private(path)?;
    // No journal mode yet: setting it would already change a database that may not be ours.
    let mut connection = options(path).connect().await.map_err(StoreError::sql(doing))?;
    let row = sqlx::query(
        "SELECT sqlite_version(), (SELECT application_id FROM pragma_application_id), \
         (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)",
    )
    .fetch_one(&mut connection)
    .await
    .map_err(StoreError::sql(doing))?;
    let get = |column| row.try_get::<i64, _>(column).map_err(StoreError::sql(doing));
    let (application, schema, objects) = (get(1)?, get(2)?, get(3)?);
    let library: String = row.try_get(0).map_err(StoreError::sql(doing))?;
    if !is_safe(&library) {
        return Err(StoreError::UnsafeLibrary { found: library });
    }
    if objects > 0 && application != APPLICATION_ID {
        return Err(StoreError::NotOurs { path: path.to_owned() });
    }
    let known = newest_schema();
    if schema > known {
        return Err(StoreError::TooNew { found: schema, known });
    }
    sqlx::raw_sql("PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = 67108864; PRAGMA temp_store = MEMORY")
        .execute(&mut connection)
        .await
        .map_err(StoreError::sql(doing))?;
    migrate(&mut connection).await?;
    Ok(connection)
}

/// Opens the readers. They connect when first needed.
pub(crate) fn open_readers(path: &Path) -> SqlitePool {
    SqlitePoolOptions::new()
        .max_connections(READERS)
        // A local file does not hang up: no pings, no renewals, no timers.
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_lazy_with(options(path).read_only(true))
}

fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new().filename(path).busy_timeout(BUSY).foreign_keys(true).disable_statement_logging()
}

/// Makes the file if it is missing, and keeps it from other users; the write-ahead log takes
/// over the file's permissions.
fn make_private(path: &Path) -> Result<(), StoreError> {
    let failed = |doing| move |source: io::Error| StoreError::from_io(doing, path, source);
    let mut open = fs::OpenOptions::new();
    open.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
        let file = open.mode(0o600).open(path).map_err(failed("open"))?;
        let mode = file.metadata().map_err(failed("look at"))?.permissions().mode();
        if mode & 0o077 != 0 {
            file.set_permissions(fs::Permissions::from_mode(mode & !0o077)).map_err(failed("make private"))?;
        }
    }
    #[cfg(not(unix))]
    open.open(path).map_err(failed("open"))?;
    Ok(())
}

async fn migrate(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let doing = "bringing the schema up to date";
    let migrations = MIGRATIONS
        .into_iter()
        .zip(1..)
        .map(|((name, sql), version)| Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), false));
    let migrator = Migrator::with_migrations(migrations.collect());
    // One transaction around all: a second process that opens the same database waits here and
    // then finds the work done, and a crash leaves the old schema.
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.map_err(StoreError::sql(doing))?;
    migrator.run_direct(None, &mut *transaction, false).await.map_err(|error| match error {
        MigrateError::Execute(source) | MigrateError::ExecuteMigration(source, _) => StoreError::from_sql(doing, source),
        other => StoreError::Migrate(Box::new(other)),
    })?;
    transaction.commit().await.map_err(StoreError::sql(doing))
}

fn newest_schema() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

fn is_safe(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let version = [parts.next().unwrap_or(0), parts.next().unwrap_or(0), parts.next().unwrap_or(0)];
    version >= SAFE_LIBRARY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_loses_writes_is_told_from_a_safe_one() {
        for safe in ["3.51.3", "3.51.10", "3.52.0", "4.0.0"] {
            assert!(is_safe(safe), "{safe}");
        }
        for unsafe_one in ["3.51.2", "3.46.0", "3.9.9", "2.99.99", "", "nonsense"] {
            assert!(!is_safe(unsafe_one), "{unsafe_one}");
        }
    }
}

-- The queue, its attempts, its events and what they found; settings.
--
-- Ids are 16 raw bytes, times are milliseconds since 1970 UTC, objects are JSON text.
-- A task's state is spread over columns so that the database itself refuses a row that says
-- two things at once: each CHECK below is one line of the state's meaning.

PRAGMA application_id = 0x5354524B;
PRAGMA user_version = 1;

CREATE TABLE task (
    -- The short number; AUTOINCREMENT, so one that was given is never given again.
    number       INTEGER PRIMARY KEY AUTOINCREMENT,
    id           BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
    -- As submitted; the row needs nothing else to run.
    submitted    TEXT    NOT NULL CHECK (json_valid(submitted)),

    state        TEXT    NOT NULL CHECK (state IN (
                     'queued', 'running', 'retrying', 'rolling_back', 'needs_recovery',
                     'done', 'partial', 'failed', 'cancelled')),
    -- The fencing token minted last; a write that carries another one changes nothing.
    fence        INTEGER NOT NULL DEFAULT 0 CHECK (fence >= 0),
    -- The newest attempt.
    attempt      BLOB             CHECK (length(attempt) = 16),
    -- The lease, exactly while an attempt runs.
    lease_number INTEGER          CHECK (lease_number >= 1),
    lease_boot   BLOB             CHECK (length(lease_boot) = 16),
    activity     TEXT             CHECK (json_valid(activity)),
    -- When another attempt comes, and why the last one ended.
    retry_at     INTEGER,
    failure      TEXT,
    problem      TEXT             CHECK (json_valid(problem)),
    -- Where it rests once undone.
    rest_after   TEXT             CHECK (json_valid(rest_after)),

    change_state TEXT    NOT NULL DEFAULT 'none' CHECK (change_state IN (
                     'none', 'pending', 'publishing', 'published', 'rolled_back', 'partly_rolled_back', 'discarded')),
    priority     INTEGER NOT NULL CHECK (priority IN (0, 1, 2)),
    attempts     INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    high         INTEGER NOT NULL DEFAULT 0 CHECK (high >= 0),
    medium       INTEGER NOT NULL DEFAULT 0 CHECK (medium >= 0),
    low          INTEGER NOT NULL DEFAULT 0 CHECK (low >= 0),
    info         INTEGER NOT NULL DEFAULT 0 CHECK (info >= 0),
    covered      INTEGER NOT NULL DEFAULT 0 CHECK (covered >= 0),
    created_at   INTEGER NOT NULL,
    pinned_at    INTEGER,
    started_at   INTEGER,
    finished_at  INTEGER,

    CHECK ((state = 'running') = (lease_number IS NOT NULL)),
    CHECK ((state = 'running') = (lease_boot IS NOT NULL)),
    CHECK ((state = 'running') = (activity IS NOT NULL)),
    CHECK (state <> 'running' OR (attempt IS NOT NULL AND started_at IS NOT NULL AND fence > 0)),
    CHECK ((state = 'retrying') = (retry_at IS NOT NULL)),
    CHECK ((state = 'retrying') = (failure IS NOT NULL)),
    CHECK ((state IN ('retrying', 'partial', 'failed')) = (problem IS NOT NULL)),
    CHECK ((state IN ('rolling_back', 'needs_recovery')) = (rest_after IS NOT NULL)),
    CHECK (state NOT IN ('done', 'partial', 'failed', 'cancelled') OR finished_at IS NOT NULL),
    CHECK (state NOT IN ('queued', 'running', 'retrying') OR finished_at IS NULL)
) STRICT;

-- What a scheduler plans from; stays as small as the work at hand.
CREATE INDEX task_open ON task (number)
    WHERE state IN ('queued', 'running', 'retrying', 'rolling_back', 'needs_recovery');

CREATE TABLE attempt (
    id           BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    task         INTEGER NOT NULL REFERENCES task (number),
    -- From 1. An attempt that was not counted leaves its number to the next one.
    number       INTEGER NOT NULL CHECK (number >= 1),
    fence        INTEGER NOT NULL CHECK (fence >= 1),
    boot         BLOB    NOT NULL CHECK (length(boot) = 16),
    started_at   INTEGER NOT NULL,
    ended_at     INTEGER,
    how          TEXT             CHECK (how IN (
                     'done', 'partial', 'failed', 'cancelled', 'retrying', 'requeued', 'engine_lost')),
    -- The worker's process: its id, its start time and the machine's boot tell it from a later
    -- process that was given the same id.
    pid          INTEGER          CHECK (pid > 0),
    start_ticks  INTEGER,
    machine_boot TEXT,
    UNIQUE (task, fence),
    CHECK ((ended_at IS NULL) = (how IS NULL)),
    CHECK ((pid IS NULL) = (start_ticks IS NULL)),
    CHECK ((pid IS NULL) = (machine_boot IS NULL))
) STRICT, WITHOUT ROWID;

-- At most one attempt of a task is open.
CREATE UNIQUE INDEX attempt_open ON attempt (task) WHERE ended_at IS NULL;

CREATE TABLE event (
    -- Commit order over all tasks; AUTOINCREMENT, so that a pruned log never gives a number twice.
    seq  INTEGER PRIMARY KEY AUTOINCREMENT,
    task INTEGER NOT NULL REFERENCES task (number),
    at   INTEGER NOT NULL,
    body TEXT    NOT NULL CHECK (json_valid(body)),
    kind TEXT    GENERATED ALWAYS AS (body ->> '$.kind') VIRTUAL
) STRICT;

CREATE INDEX event_of_task ON event (task, seq);

CREATE TABLE finding (
    task        INTEGER NOT NULL REFERENCES task (number),
    id          INTEGER NOT NULL CHECK (id >= 1),
    fingerprint TEXT    NOT NULL,
    body        TEXT    NOT NULL CHECK (json_valid(body)),
    PRIMARY KEY (task, id),
    UNIQUE (task, fingerprint)
) STRICT, WITHOUT ROWID;

CREATE TABLE coverage (
    task INTEGER NOT NULL REFERENCES task (number),
    -- The bytes git stores, which need not be text.
    path BLOB    NOT NULL,
    body TEXT    NOT NULL CHECK (json_valid(body)),
    PRIMARY KEY (task, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE setting (
    key   TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

import type { CheckDto } from '../../generated/CheckDto'
import type { CoverageDto } from '../../generated/CoverageDto'
import type { FindingDto } from '../../generated/FindingDto'
import type { StatusDto } from '../../generated/StatusDto'
import type { TaskDto } from '../../generated/TaskDto'
import { after, before, countsOf, covered, status, task } from './build'
import { CLEAN_COVERAGE, COVERAGE, FINDINGS } from './samples'

/** A task with what is read of it when it is open. */
export interface Scene {
  readonly task: TaskDto
  readonly findings: readonly FindingDto[]
  readonly coverage: readonly CoverageDto[]
  readonly logLines: number
}

/** What the pretend engine starts with. */
export interface Story {
  readonly scenes: readonly Scene[]
  readonly status: Partial<StatusDto>
  readonly checks: readonly CheckDto[]
  /** Whether time runs; else it stands at the story's instant. */
  readonly runs: boolean
  /** Whether the engine goes away after the first snapshot. */
  readonly leaves: boolean
}

const CHECKS: readonly CheckDto[] = [
  { name: 'Git', ok: true, found: '2.47.1', fix: null },
  { name: 'Engine', ok: true, found: 'Running, 3 slots', fix: null },
  { name: 'Built-in rules', ok: true, found: '62 rules, 15 languages', fix: null },
  { name: 'Data directory', ok: true, found: '~/.local/share/sidetrack, 41 GB free', fix: null },
  {
    name: 'Notifications',
    ok: false,
    found: 'No notification service answers',
    fix: 'Start a notification daemon such as dunst. Until then the window and the tray say what happened.',
  },
]

function scene(row: TaskDto, over: Partial<Omit<Scene, 'task'>> = {}): Scene {
  const findings = over.findings ?? []
  const coverage = over.coverage ?? []
  return {
    task: { ...row, findings: countsOf(findings), covered: covered(coverage) },
    findings,
    coverage,
    logLines: over.logLines ?? 0,
  }
}

/** One task in every state, and those states that look different from each other. */
function everyState(): Scene[] {
  return [
    scene(
      task(41, 'Migrate session store to Redis', {
        kind: 'run',
        state: 'needs_recovery',
        source: 'feat/redis-sessions',
        origin: '~/src/sessions',
        change_state: 'partly_rolled_back',
        attempt: 1,
        created_at: before(2000),
        started_at: before(1990),
        finished_at: before(372),
        progress: { done: 12, total: 12, unit: 'files', phase: 'report', line: '' },
        reason: '2 of 5 files not restored',
        error: {
          code: 'rollback_incomplete',
          message: '2 of 5 files not restored',
          disk_effect: '3 files are as they were before. 2 were left as they are, and both versions of them are kept.',
          fix: ['Run `sidetrack recover 41` to decide for each file.'],
        },
      }),
      { logLines: 40 },
    ),
    scene(
      task(42, 'Add rate limiting to auth routes', {
        state: 'running',
        source: 'acme/api #482',
        origin: '~/src/api',
        attempt: 1,
        created_at: before(223),
        started_at: before(221),
        pinned_at: before(220),
        progress: { done: 18, total: 29, unit: 'files', phase: 'review', line: 'src/auth.ts' },
      }),
      { findings: FINDINGS.slice(0, 5), coverage: COVERAGE.slice(0, 18), logLines: 1200 },
    ),
    scene(
      task(43, 'Refactor billing webhooks', {
        state: 'retrying',
        source: 'acme/billing #77',
        attempt: 1,
        created_at: before(300),
        started_at: before(290),
        retry_at: after(14),
        progress: { done: 9, total: 29, unit: 'files', phase: 'review', line: '' },
        reason: 'Worker ended without a result',
        error: {
          code: 'worker_crashed',
          message: 'Worker ended without a result',
          disk_effect: 'No files were changed.',
          fix: [],
        },
      }),
      { findings: FINDINGS.slice(0, 1), coverage: COVERAGE.slice(0, 9), logLines: 300 },
    ),
    scene(
      task(44, 'Speed up the import of large accounts', {
        state: 'running',
        source: 'import.patch',
        runner: 'llm',
        attempt: 1,
        created_at: before(140),
        started_at: before(138),
        throttled: { retry_at: after(38), n: 2, of: 5, cause: 'Rate limited by the provider' },
        progress: { done: 4, total: 12, unit: 'files', phase: 'review', line: 'src/import/csv.ts' },
      }),
      { coverage: COVERAGE.slice(0, 4), logLines: 120 },
    ),
    scene(
      task(40, 'Drop the unused mailer', {
        kind: 'run',
        state: 'rolling_back',
        source: 'chore/mailer',
        attempt: 1,
        created_at: before(420),
        started_at: before(400),
        reason: 'Restoring 7 of 12 files',
        progress: { done: 7, total: 12, unit: 'files', phase: 'report', line: '' },
      }),
      { logLines: 60 },
    ),
    scene(
      task(45, 'Fix token refresh race', {
        kind: 'run',
        state: 'queued',
        source: 'fix/refresh',
        created_at: before(200),
        position: 1,
        waiting_for: [
          {
            resource: 'src/auth.ts',
            mode: 'exclusive',
            holder: '#42 Add rate limiting to auth routes',
            since: before(221),
          },
        ],
      }),
    ),
    scene(
      task(46, 'Update ESLint to v10', {
        state: 'queued',
        source: 'deps.patch',
        created_at: before(64),
        position: 2,
        reason: 'All 3 slots are busy. 2nd in line.',
        waiting_for: [{ resource: 'slot', mode: 'slot', holder: '#42, #43, #44', since: before(64) }],
      }),
    ),
    scene(
      task(39, 'Upgrade sqlx to 0.9', {
        state: 'done',
        source: 'chore/sqlx-09',
        origin: '~/src/ledger',
        attempt: 1,
        clean: true,
        created_at: before(2700),
        started_at: before(2690),
        finished_at: before(2601),
        progress: { done: 27, total: 27, unit: 'files', phase: 'report', line: '' },
      }),
      { coverage: CLEAN_COVERAGE, logLines: 900 },
    ),
    scene(
      task(38, 'Cache avatars at the edge', {
        state: 'done',
        source: 'acme/web #311',
        origin: '~/src/web',
        attempt: 2,
        created_at: before(3400),
        started_at: before(3390),
        finished_at: before(3310),
        progress: { done: 29, total: 29, unit: 'files', phase: 'report', line: '' },
      }),
      { findings: FINDINGS, coverage: COVERAGE, logLines: 900 },
    ),
    scene(
      task(37, 'Import the vendor catalogue', {
        state: 'done',
        source: 'catalogue.diff',
        attempt: 1,
        created_at: before(3800),
        started_at: before(3790),
        finished_at: before(3702),
        progress: { done: 29, total: 29, unit: 'files', phase: 'report', line: '' },
      }),
      { coverage: COVERAGE, logLines: 400 },
    ),
    scene(
      task(36, 'Split monolith config loader', {
        state: 'partial',
        source: 'acme/core #1190',
        origin: '~/src/core',
        attempt: 3,
        created_at: before(4800),
        started_at: before(4790),
        finished_at: before(4121),
        progress: { done: 18, total: 29, unit: 'files', phase: 'review', line: '' },
        error: {
          code: 'timed_out',
          message: 'Stopped at the limit of 10 min',
          disk_effect: 'No files were changed.',
          fix: ['Raise the limit with `--timeout`, or review fewer files at once.'],
        },
      }),
      { findings: FINDINGS.slice(0, 4), coverage: COVERAGE.slice(0, 18), logLines: 2000 },
    ),
    scene(
      task(35, 'Audit OAuth scopes', {
        state: 'failed',
        source: '~/src/oauth',
        attempt: 1,
        created_at: before(5700),
        started_at: before(5690),
        finished_at: before(5621),
        progress: { done: 0, total: null, unit: 'files', phase: 'pin', line: '' },
        error: {
          code: 'unreadable_repository',
          message: 'The repository could not be read: objects/3f is missing',
          disk_effect: 'No files were changed.',
          fix: ['Run `git fsck` in ~/src/oauth, repair what it names, then run the review again.'],
        },
      }),
      { logLines: 12 },
    ),
    scene(
      task(34, 'Rename Account → Workspace', {
        state: 'cancelled',
        source: 'refactor/ws',
        attempt: 1,
        created_at: before(7300),
        started_at: before(7290),
        finished_at: before(7121),
        progress: { done: 11, total: 84, unit: 'files', phase: 'review', line: '' },
        reason: 'Cancelled by you',
      }),
      { findings: FINDINGS.slice(2, 4), coverage: COVERAGE.slice(0, 11), logLines: 200 },
    ),
    scene(
      task(33, 'Bump actions/checkout', {
        state: 'done',
        source: 'ci.patch',
        attempt: 1,
        clean: true,
        created_at: before(100_000),
        started_at: before(99_990),
        finished_at: before(99_980),
        progress: { done: 1, total: 1, unit: 'files', phase: 'report', line: '' },
      }),
      { coverage: [{ file: '.github/workflows/ci.yml', status: 'reviewed', reason: null }], logLines: 6 },
    ),
  ]
}

function many(n: number): Scene[] {
  return Array.from({ length: n }, (_, index) =>
    scene(
      task(n - index, `Review of change ${n - index}`, {
        state: index % 11 === 0 ? 'failed' : 'done',
        clean: index % 11 !== 0,
        source: `change-${n - index}.patch`,
        attempt: 1,
        created_at: before(60 * index + 30),
        started_at: before(60 * index + 25),
        finished_at: before(60 * index + 5),
        error:
          index % 11 === 0
            ? {
                code: 'worker_crashed',
                message: 'Worker ended without a result',
                disk_effect: 'No files were changed.',
                fix: [],
              }
            : null,
      }),
      { coverage: [{ file: 'a.ts', status: 'reviewed', reason: null }], logLines: 4 },
    ),
  )
}

const still = { status: {}, checks: CHECKS, runs: false, leaves: false }

/** The stories by name; an unknown name tells the plain one. */
export function story(name: string): Story {
  switch (name) {
    case 'empty':
      return { ...still, scenes: [] }
    case 'live':
      return { ...still, scenes: [], runs: true }
    case 'paused':
      return { ...still, scenes: everyState(), status: { paused: true } }
    case 'lost':
      return { ...still, scenes: everyState(), leaves: true }
    case 'many':
      return { ...still, scenes: many(2000) }
    case 'biglog':
      return {
        ...still,
        scenes: everyState().map((one) => ({ ...one, logLines: one.task.number === 42 ? 100_000 : one.logLines })),
      }
    default:
      return { ...still, scenes: everyState() }
  }
}

/** The engine's figures for a set of rows. */
export function figures(tasks: Iterable<TaskDto>, over: Partial<StatusDto>): StatusDto {
  let running = 0
  let waiting = 0
  let needs_you = 0
  for (const { state } of tasks) {
    if (state === 'running' || state === 'rolling_back') running += 1
    if (state === 'queued' || state === 'retrying') waiting += 1
    if (state === 'needs_recovery') needs_you += 1
  }
  return status({ running, waiting, needs_you, ...over })
}

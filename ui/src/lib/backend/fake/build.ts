import type { CoverageDto } from '../../generated/CoverageDto'
import type { FindingDto } from '../../generated/FindingDto'
import type { StatusDto } from '../../generated/StatusDto'
import type { TaskDto } from '../../generated/TaskDto'

/** The fixed instant of all stories. */
export const STORY_NOW = Date.parse('2026-11-30T11:45:41.000Z')

/** An instant so many seconds before the story's now. */
export function before(seconds: number): string {
  return new Date(STORY_NOW - seconds * 1000).toISOString()
}

/** An instant so many seconds after the story's now. */
export function after(seconds: number): string {
  return before(-seconds)
}

/** A row with everything at rest; what differs is given. */
export function task(number: number, title: string, over: Partial<TaskDto>): TaskDto {
  return {
    id: `0193c9a0-7f31-7000-8000-${String(number).padStart(12, '0')}`,
    number,
    title,
    kind: 'review',
    runner: 'rules',
    state: 'queued',
    reason: '',
    change_state: 'none',
    complete: true,
    priority: 'normal',
    attempt: 0,
    max_attempts: 3,
    retry_at: null,
    throttled: null,
    position: null,
    waiting_for: [],
    claims: { read: [], write: [], sqlite: [], named: [], mode: 'held' },
    progress: { done: 0, total: null, unit: 'files', phase: '', line: '' },
    timeout_ms: 600_000,
    tokens: { input: 0, output: 0, cost_usd: 0 },
    created_at: before(0),
    pinned_at: null,
    started_at: null,
    finished_at: null,
    findings: { high: 0, medium: 0, low: 0, info: 0 },
    coverage: [],
    covered: {},
    clean: false,
    conflicts: [],
    error: null,
    source: '',
    origin: null,
    rerun_of: null,
    ...over,
  }
}

export function finding(id: number, over: Partial<FindingDto>): FindingDto {
  return {
    id,
    file: 'src/auth.ts',
    side: 'new',
    start_line: 1,
    end_line: over.start_line ?? 1,
    severity: 'medium',
    rule: 'pattern',
    title: '',
    body: '',
    quote: '',
    anchor: 'exact',
    suggestion: null,
    base: null,
    runner: 'rules',
    confidence: 0.9,
    cwe: null,
    fingerprint: `f${id}`,
    status: 'new',
    ...over,
  }
}

export function covered(files: readonly CoverageDto[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status } of files) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

export function countsOf(findings: readonly FindingDto[]): TaskDto['findings'] {
  const counts = { high: 0, medium: 0, low: 0, info: 0 }
  for (const { severity } of findings) if (severity in counts) counts[severity as keyof typeof counts] += 1
  return counts
}

export function status(over: Partial<StatusDto> = {}): StatusDto {
  return {
    version: '0.1.0',
    slots: 3,
    running: 0,
    waiting: 0,
    needs_you: 0,
    paused: false,
    stopping: false,
    data_dir: '~/.local/share/sidetrack',
    ...over,
  }
}

import type { CountsDto } from '../generated/CountsDto'
import type { TaskDto } from '../generated/TaskDto'
import { ago, countdown, duration, moment } from '../format/time'
import { t } from '../text/en'

/** Findings of all severities. */
export function total(counts: CountsDto): number {
  return counts.high + counts.medium + counts.low + counts.info
}

/** Files in the ledger, and how many of them were reviewed whole. */
export function coverageOf(task: TaskDto): { reviewed: number; files: number } {
  const files = Object.values(task.covered).reduce((sum, n) => sum + n, 0)
  const reviewed = task.covered.reviewed ?? 0
  const announced = task.kind === 'review' && task.progress.unit === 'files' ? (task.progress.total ?? 0) : 0
  const known = Math.max(files, announced)
  return { reviewed, files: known }
}

function findingsInWords(task: TaskDto): string {
  const n = total(task.findings)
  return task.findings.high > 0 ? t.row.findingsWithHigh(n, task.findings.high) : t.row.findings(n)
}

function firstSentence(text: string): string {
  return text.split('. ')[0] ?? text
}

/** What the running task is at, in words. */
export function activity(task: TaskDto): string {
  switch (task.progress.phase) {
    case 'pin':
      return task.progress.line || t.row.pinning
    case 'review':
      return task.progress.line ? t.row.reviewing(task.progress.line) : t.state.running
    case 'report':
      return task.progress.line || t.row.reporting
    default:
      return task.progress.line || t.row.starting
  }
}

/** The second line of a row, after the state's word. */
export function reasonOf(task: TaskDto): string {
  const n = total(task.findings)
  const some = n > 0 ? [t.row.findings(n)] : []
  switch (task.state) {
    case 'queued': {
      const held = task.waiting_for.find((thing) => thing.mode !== 'slot' && thing.holder)
      // The place in line, which the reason may end with, stands at the right end of the row.
      return held ? t.row.heldBy(held.resource, held.holder) : firstSentence(task.reason)
    }
    case 'running':
      if (task.throttled) return [t.row.try(task.throttled.n, task.throttled.of), ...some].join(' · ')
      // The state's word says "Stopping" already; the cause after it is news.
      if (task.reason.startsWith('Stopping'))
        return [task.reason.replace(/^Stopping:?\s*/, ''), ...some].filter(Boolean).join(' · ')
      return [task.reason || activity(task), ...some].join(' · ')
    case 'retrying':
      return [
        task.error?.message ?? task.reason,
        t.row.attempt(Math.min(task.attempt + 1, task.max_attempts), task.max_attempts),
      ]
        .filter(Boolean)
        .join(' · ')
    case 'rolling_back':
      return task.reason
    case 'done': {
      if (n > 0) return findingsInWords(task)
      if (task.clean) return t.row.noFindings
      const { reviewed, files } = coverageOf(task)
      return files > 0 ? t.row.reviewed(reviewed, files) : task.reason
    }
    case 'partial':
      return [findingsInWords(task), task.error?.message ?? task.reason].filter(Boolean).join(' · ')
    case 'failed':
      return task.error?.message ?? task.reason
    case 'cancelled':
      return n > 0 ? findingsInWords(task) : task.reason
    case 'needs_recovery':
      return task.error?.message ?? task.reason
  }
}

/** The right end of a row: elapsed time, countdown, place in line, or when it finished. */
export function aside(task: TaskDto, now: number): string {
  switch (task.state) {
    case 'queued':
      return task.position === null ? '' : t.row.place(task.position)
    case 'running':
    case 'rolling_back':
      if (task.throttled) return t.row.when(countdown(task.throttled.retry_at, now))
      return task.started_at ? duration(now - Date.parse(task.started_at)) : ''
    case 'retrying':
      return task.retry_at ? t.row.when(countdown(task.retry_at, now)) : ''
    case 'done':
    case 'partial':
    case 'failed':
    case 'cancelled':
      return moment(task.finished_at ?? task.created_at, now)
    case 'needs_recovery':
      return ago(task.finished_at ?? task.started_at ?? task.created_at, now)
  }
}

/** Share done, 0 to 1, while it is countable and means something. */
export function share(task: TaskDto): number | null {
  if (task.state !== 'running' && task.state !== 'retrying') return null
  const { done, total: all } = task.progress
  return all === null || all <= 0 ? null : Math.min(1, done / all)
}

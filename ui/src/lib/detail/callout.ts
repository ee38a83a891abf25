import type { TaskDto } from '../generated/TaskDto'
import { brief, countdown, duration } from '../format/time'
import type { App } from '../state/app.svelte'
import { coverageOf, total } from '../tasks/line'
import type { Look } from '../tasks/look'
import { t } from '../text/en'

export interface Button {
  readonly name: string
  readonly run: () => void
}

/** Three lines and at most two buttons: what happened, what is on disk, what to do. */
export interface CalloutText {
  readonly look: Look
  readonly title: string
  readonly lines: readonly string[]
  readonly fix: readonly string[]
  readonly buttons: readonly Button[]
}

/** A running task that said nothing for so long gets a callout, 60 s; before that the live line says it. */
const SILENT_CALLOUT_MS = 60_000

/** What is to be said about a task above its tabs; nothing while all goes well. */
export function calloutOf(app: App, task: TaskDto): CalloutText | null {
  const look = app.look(task)
  const now = app.clock.now
  const showLog: Button = { name: t.callout.showLog, run: () => (app.tab = 'logs') }
  const again: Button = { name: t.callout.runAgain, run: () => void app.runAgain(task) }
  const cancel = (name: string): Button => ({ name, run: () => void app.cancel(task) })
  const error = task.error
  const disk = error?.disk_effect || t.callout.untouched

  switch (look) {
    case 'done':
      return null
    case 'running': {
      const silent = app.silentFor(task)
      if (silent === null || silent < SILENT_CALLOUT_MS) return null
      return {
        look: 'retrying',
        title: t.callout.silent(brief(silent)),
        lines: [t.callout.silentHint],
        fix: [],
        buttons: [showLog, cancel(t.callout.cancel)],
      }
    }
    case 'throttled': {
      const { retry_at, n, of, cause } = task.throttled ?? { retry_at: '', n: 0, of: 0, cause: '' }
      return {
        look,
        title: cause || t.callout.throttled,
        lines: [t.callout.nextTry(n, of, countdown(retry_at, now)), t.callout.kept],
        fix: [],
        buttons: [cancel(t.callout.cancel)],
      }
    }
    case 'stopping':
      return {
        look,
        title: task.reason ? sentence(task.reason) : t.callout.stopping,
        lines: [t.callout.stoppingHint],
        fix: [],
        buttons: [],
      }
    case 'queued':
    case 'waiting':
      return queued(app, task, look, now)
    case 'retrying':
      return {
        look,
        title: error?.message || task.reason || t.callout.retrying,
        lines: [
          t.callout.nextAttempt(
            Math.min(task.attempt + 1, task.max_attempts),
            task.max_attempts,
            countdown(task.retry_at ?? '', now),
          ),
          `${disk} ${t.callout.kept}`,
        ],
        fix: [],
        buttons: [cancel(t.callout.stopRetrying), showLog],
      }
    case 'failed':
      return {
        look,
        title: error?.message || task.reason || t.callout.failed,
        lines: [disk],
        fix: error?.fix ?? [],
        buttons: [again, showLog],
      }
    case 'partial': {
      const { reviewed, files } = coverageOf(task)
      return {
        look,
        title: error?.message || task.reason || t.callout.partialTitle,
        lines: [`${t.callout.partial(total(task.findings), reviewed, files)} ${disk}`],
        fix: error?.fix ?? [],
        buttons: [again, { name: t.callout.showCoverage, run: () => (app.tab = 'coverage') }],
      }
    }
    case 'cancelled':
      return {
        look,
        title: t.callout.cancelled,
        lines: [`${t.callout.cancelledKept(total(task.findings))} ${disk}`],
        fix: [],
        buttons: [],
      }
    case 'rolling_back':
      return { look, title: task.reason || t.callout.rollingBack, lines: [], fix: [], buttons: [showLog] }
    case 'needs_recovery':
      return {
        look,
        title: error?.message || t.callout.needsRecovery,
        lines: [error?.disk_effect || t.callout.needsRecoveryHint],
        fix: error?.fix ?? [],
        buttons: [showLog],
      }
  }
}

function queued(app: App, task: TaskDto, look: Look, now: number): CalloutText {
  const status = app.engine?.status
  const held = task.waiting_for.filter((thing) => thing.mode !== 'slot')
  const waits = held.map((thing) => {
    const since = Date.parse(thing.since)
    return [
      t.callout.waitsFor(thing.resource, thing.mode),
      thing.holder && `${t.callout.heldBy(thing.holder)} ${t.callout.heldFor(duration(now - since))}.`,
    ]
      .filter(Boolean)
      .join(' ')
  })
  // The engine's reason names the place in line itself.
  const place = task.position === null || /in line/i.test(task.reason) ? '' : t.callout.place(task.position)
  const title = waits[0] ?? (status?.paused ? t.callout.paused : task.reason || t.callout.queued)
  const buttons: Button[] = []
  if (status?.paused) buttons.push({ name: t.callout.resume, run: () => void app.setPaused(false) })
  else if ((task.position ?? 1) > 1 && task.priority !== 'high')
    buttons.push({ name: t.callout.moveUp, run: () => void app.setPriority(task, 'high') })
  buttons.push({ name: t.callout.cancel, run: () => void app.cancel(task) })
  return { look, title: sentence(title), lines: [...waits.slice(1), place].filter(Boolean), fix: [], buttons }
}

function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`
}

import type { Backend, DragMessage } from '../backend'
import { asFailure, Failure } from '../failure'
import type { ErrorDto } from '../../generated/ErrorDto'
import type { TaskDto } from '../../generated/TaskDto'
import { classify } from './classify'
import { PretendEngine } from './engine'
import { FINDINGS } from './samples'
import { story } from './stories'

/** What browser tests can pull from outside. */
export interface PretendHandle {
  engine: PretendEngine
  findings: typeof FINDINGS
  drag: (message: DragMessage) => void
  openTask: (task: number) => void
  problem: (problem: ErrorDto) => void
  ready: boolean
}

declare global {
  interface Window {
    pretend?: PretendHandle
  }
}

/**
 * A backend without an engine, for tests, screenshots and work on the UI in a browser.
 * `?fake=STORY` chooses what it starts with, `&speed=N` how fast its reviews go.
 */
export function fakeBackend(params: URLSearchParams): Backend {
  const told = story(params.get('fake') ?? 'live')
  const engine = new PretendEngine(told, Number(params.get('speed') ?? 1) || 1)
  let onDrag: ((message: DragMessage) => void) | null = null
  let onProblem: ((problem: ErrorDto) => void) | null = null
  let onOpenTask: ((task: number) => void) | null = null
  const handle: PretendHandle = {
    engine,
    findings: FINDINGS,
    drag: (message) => onDrag?.(message),
    openTask: (number) => onOpenTask?.(number),
    problem: (problem) => onProblem?.(problem),
    ready: false,
  }
  window.pretend = handle

  /** Answers later, as a process beside us would. */
  const answer = async <T>(make: () => T): Promise<T> => {
    await Promise.resolve()
    try {
      return make()
    } catch (thrown) {
      throw asFailure(thrown)
    }
  }

  const submit = (item: string): TaskDto => {
    const seen = classify(item)
    if (seen.error) throw new Failure(seen.error)
    return engine.submit(seen.label, seen.label, item.startsWith('http') ? null : item)
  }

  return {
    now: () => engine.now(),
    ready: () => answer(() => void (handle.ready = true)),
    subscribe: (_since, on) =>
      answer(() => {
        engine.subscribe(on)
        return () => engine.unsubscribe()
      }),
    classify: (items) => answer(() => items.map(classify)),
    submitItems: (items) =>
      answer(() => {
        for (const item of items) {
          const { error } = classify(item)
          if (error) throw new Failure(error)
        }
        return items.map(submit)
      }),
    submitText: (_text, label) => answer(() => engine.submit('Pasted patch', label, null)),
    submitSample: () => answer(() => engine.submit('Sample: rate limiting', 'sample.patch', null)),
    browse: (kind) => answer(() => (kind === 'file' ? ['/home/dev/rate-limit.patch'] : ['/home/dev/src/api'])),
    showTask: (number) =>
      answer(() => {
        const scene = engine.scene(number)
        return { ...scene.task, coverage: [...scene.coverage] }
      }),
    findings: (number) => answer(() => [...engine.scene(number).findings]),
    log: (number, attempt, from, limit) => answer(() => engine.log(number, attempt, from, limit)),
    cancel: (number, now) => answer(() => engine.cancel(number, now)),
    retry: (number) =>
      answer(() => {
        const { task } = engine.scene(number)
        return engine.submit(task.title, task.source, task.origin, task.number)
      }),
    setPriority: (number, priority) => answer(() => engine.setPriority(number, priority)),
    setPaused: (paused) => answer(() => engine.setPaused(paused)),
    status: () => answer(() => engine.status()),
    doctor: () => answer(() => [...told.checks]),
    openInEditor: () =>
      answer(() => {
        throw new Failure({
          code: 'no_editor',
          message: 'No editor is set.',
          disk_effect: 'No files were changed.',
          fix: ['Set one with `sidetrack config set editor COMMAND`.'],
        })
      }),
    exportFindings: (number, format) =>
      answer(() => {
        const { findings, task } = engine.scene(number)
        return format === 'markdown'
          ? `# ${task.title}\n\n${findings.length} findings\n`
          : JSON.stringify(findings, null, 2)
      }),
    testNotification: () => answer(() => undefined),
    onDrag: (on) => answer(() => ((onDrag = on), () => (onDrag = null))),
    onProblem: (on) => answer(() => ((onProblem = on), () => (onProblem = null))),
    onOpenTask: (on) => answer(() => ((onOpenTask = on), () => (onOpenTask = null))),
  }
}

import type { StreamMessage } from '../backend'
import { Failure } from '../failure'
import type { EventDto } from '../../generated/EventDto'
import type { FindingDto } from '../../generated/FindingDto'
import type { LogPageDto } from '../../generated/LogPageDto'
import type { StatusDto } from '../../generated/StatusDto'
import type { TaskDto } from '../../generated/TaskDto'
import { STORY_NOW, countsOf, covered, task } from './build'
import { CLEAN_COVERAGE, FINDINGS, logLine } from './samples'
import { figures, type Scene, type Story } from './stories'

/** Bytes a line of the pretend log counts for; the real one counts its bytes. */
const LINE_BYTES = 64

type Timer = ReturnType<typeof setTimeout>

/** An engine that only pretends: rows, events with numbers, a review that finds what it was told to. */
export class PretendEngine {
  #scenes: Map<number, Scene>
  #seq = 1000
  #listener: ((message: StreamMessage) => void) | null = null
  #paused: boolean
  #story: Story
  #speed: number
  #began = performance.now()
  #timers = new Map<number, Timer>()
  #gone = false
  #subscriptions = 0

  constructor(story: Story, speed: number) {
    this.#story = story
    this.#speed = speed
    this.#paused = story.status.paused ?? false
    this.#scenes = new Map(story.scenes.map((scene) => [scene.task.number, scene]))
  }

  now(): number {
    return this.#story.runs ? STORY_NOW + (performance.now() - this.#began) * this.#speed : STORY_NOW
  }

  subscribe(listener: (message: StreamMessage) => void): void {
    this.#subscriptions += 1
    if (this.#gone || (this.#story.leaves && this.#subscriptions > 1))
      throw new Failure({ code: 'no_engine', message: '', disk_effect: '', fix: [] })
    this.#listener = listener
    const tasks = [...this.#scenes.values()].map((scene) => scene.task).sort((a, b) => b.number - a.number)
    listener({ kind: 'snapshot', body: { seq: this.#seq, tasks, status: this.status(), more: tasks.length >= 2000 } })
    if (this.#story.leaves) queueMicrotask(() => this.leave())
  }

  unsubscribe(): void {
    this.#listener = null
  }

  /** The engine ends, as when it is killed. */
  leave(): void {
    this.#gone = true
    this.#listener?.({ kind: 'gone', body: null })
    this.#listener = null
  }

  /** And is back. */
  comeBack(): void {
    this.#gone = false
    this.#story = { ...this.#story, leaves: false }
  }

  status(): StatusDto {
    return figures(
      [...this.#scenes.values()].map((scene) => scene.task),
      { ...this.#story.status, paused: this.#paused },
    )
  }

  scene(number: number): Scene {
    const scene = this.#scenes.get(number)
    if (scene) return scene
    throw new Failure({
      code: 'unknown_task',
      message: `There is no task #${number}.`,
      disk_effect: 'No files were changed.',
      fix: [],
    })
  }

  log(number: number, attempt: number, from: number, limit: number): LogPageDto {
    const { logLines } = this.scene(number)
    const first = Math.floor(from / LINE_BYTES)
    const n = Math.max(0, Math.min(limit, logLines - first))
    return {
      attempt,
      from,
      next: (first + n) * LINE_BYTES,
      size: logLines * LINE_BYTES,
      lines: Array.from({ length: n }, (_, index) => logLine(first + index)),
    }
  }

  setPaused(paused: boolean): void {
    this.#paused = paused
    this.#send([], [])
  }

  setPriority(number: number, priority: string): void {
    this.#change(number, { priority }, 'priority_changed', { priority })
  }

  submit(title: string, source: string, origin: string | null, rerunOf: number | null = null): TaskDto {
    const number = Math.max(0, ...this.#scenes.keys()) + 1
    const row = task(number, title, {
      source,
      origin,
      rerun_of: rerunOf,
      created_at: this.#stamp(),
      position: 1,
      reason: this.#paused ? 'New tasks are paused' : '',
    })
    this.#scenes.set(number, { task: row, findings: [], coverage: [], logLines: 0 })
    this.#send([this.#event(number, 'submitted', { title })], [row])
    this.#later(number, 400, () => this.#begin(number))
    return row
  }

  cancel(number: number, now: boolean): void {
    const { state } = this.scene(number).task
    if (state === 'queued' || state === 'retrying') this.settle(number, 'cancelled')
    else {
      this.#change(number, { reason: 'Stopping' }, 'stopping', { cause: 'cancelled' })
      this.#later(number, now ? 100 : 1500, () => this.settle(number, 'cancelled'))
    }
  }

  /** A finding comes in. */
  find(number: number, one: FindingDto): void {
    const scene = this.scene(number)
    const findings = [...scene.findings, one]
    const row = { ...scene.task, findings: countsOf(findings) }
    this.#scenes.set(number, { ...scene, task: row, findings, logLines: scene.logLines + 1 })
    this.#send([this.#event(number, 'finding', { finding: one })], [row])
  }

  /** The task comes to rest. */
  settle(number: number, state: 'done' | 'failed' | 'cancelled'): void {
    clearTimeout(this.#timers.get(number))
    const scene = this.scene(number)
    const clean =
      state === 'done' && scene.coverage.every(({ status }) => status === 'reviewed' || status === 'skipped')
    this.#change(
      number,
      { state, clean, reason: '', position: null, retry_at: null, finished_at: this.#stamp() },
      'settled',
      { state },
    )
  }

  #begin(number: number): void {
    if (this.#paused) {
      this.#later(number, 400, () => this.#begin(number))
      return
    }
    const at = this.#stamp()
    this.#change(
      number,
      {
        state: 'running',
        attempt: 1,
        position: null,
        started_at: at,
        reason: '',
        progress: { done: 0, total: null, unit: 'files', phase: 'pin', line: '' },
      },
      'started',
      { number: 1 },
    )
    this.#later(number, 500, () => this.#review(number, 0))
  }

  #review(number: number, done: number): void {
    const total = CLEAN_COVERAGE.length
    const scene = this.scene(number)
    if (done >= total) {
      this.#change(
        number,
        { progress: { done: total, total, unit: 'files', phase: 'report', line: '' } },
        'phase_entered',
        { phase: 'report' },
      )
      this.#later(number, 400, () => this.settle(number, 'done'))
      return
    }
    const entry = CLEAN_COVERAGE[done]
    if (!entry) return
    const coverage = [...scene.coverage, entry]
    const row: TaskDto = {
      ...scene.task,
      pinned_at: scene.task.pinned_at ?? this.#stamp(),
      covered: covered(coverage),
      progress: {
        done: done + 1,
        total,
        unit: 'files',
        phase: 'review',
        line: CLEAN_COVERAGE[done + 1]?.file ?? entry.file,
      },
    }
    this.#scenes.set(number, { ...scene, task: row, coverage, logLines: scene.logLines + 3 })
    this.#send([this.#event(number, 'covered', { entry })], [row])
    const found = FINDINGS[done / 4]
    if (found) this.find(number, { ...found, id: scene.findings.length + 1 })
    this.#later(number, 350, () => this.#review(number, done + 1))
  }

  #change(number: number, over: Partial<TaskDto>, kind: string, data: Record<string, unknown>): void {
    const scene = this.scene(number)
    const row = { ...scene.task, ...over }
    this.#scenes.set(number, { ...scene, task: row, logLines: scene.logLines + 1 })
    this.#send([this.#event(number, kind, data)], [row])
  }

  #later(number: number, ms: number, then: () => void): void {
    clearTimeout(this.#timers.get(number))
    this.#timers.set(number, setTimeout(then, ms / this.#speed))
  }

  #stamp(): string {
    return new Date(this.now()).toISOString()
  }

  #event(number: number, kind: string, data: Record<string, unknown>): EventDto {
    this.#seq += 1
    return { seq: this.#seq, task: number, at: this.#stamp(), kind, data }
  }

  #send(events: EventDto[], tasks: TaskDto[]): void {
    this.#listener?.({
      kind: 'update',
      body: { seq: this.#seq, events, tasks, status: this.status() },
    })
  }
}

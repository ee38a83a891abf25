import { getContext, setContext } from 'svelte'
import { SvelteMap, SvelteSet } from 'svelte/reactivity'
import { asFailure, type Backend, type ExportFormat, type Priority } from '../backend'
import type { CheckDto } from '../generated/CheckDto'
import type { FindingDto } from '../generated/FindingDto'
import type { TaskDto } from '../generated/TaskDto'
import type { UpdateDto } from '../generated/UpdateDto'
import { comment } from '../format/comment'
import { lookOf, type Look } from '../tasks/look'
import { t } from '../text/en'
import { press, stage, type Asked, type CancelStage } from './cancel'
import { Clock } from './clock.svelte'
import { filterCounts, isResting, lines, type Filter, type SidebarLine } from './groups'
import { Link } from './link.svelte'
import type { EngineState } from './reducer'
import { Review } from './review.svelte'
import { Submission } from './submission.svelte'
import { Toasts } from './toasts.svelte'

/** Parts of a task's page. */
export const TABS = ['findings', 'coverage', 'logs'] as const
export type Tab = (typeof TABS)[number]

/** A layer over the window. */
export type Layer = 'palette' | 'shortcuts' | 'checks'

/** A running task that said nothing for so long is called silent, 10 s. */
export const SILENT_MS = 10_000

/** The window's whole state and everything a user can do in it. */
export class App {
  readonly backend: Backend
  readonly clock: Clock
  readonly link: Link
  readonly toasts = new Toasts()
  readonly submission: Submission

  filter = $state<Filter>('all')
  selected = $state<number | null>(null)
  tab = $state<Tab>('findings')
  layer = $state<Layer | null>(null)
  review = $state.raw<Review | null>(null)
  checks = $state.raw<readonly CheckDto[] | null>(null)
  /** Text for the polite live region, and for the urgent one. */
  said = $state('')
  urgent = $state('')
  focused = $state(true)

  /** Bumped when the page of a task was asked for from outside the list: its title takes the focus. */
  titleFocus = $state(0)
  /** Tasks that came to rest while nobody looked at them. */
  readonly unread = new SvelteSet<number>()

  /** What this window asked to stop, by task number. */
  readonly #asked = new SvelteMap<number, Asked>()
  /** When an update last spoke of a running task. */
  readonly #heard = new SvelteMap<number, number>()
  /** Bumped when the open task's log may have grown. */
  logPulse = $state(0)

  readonly tasks = $derived(this.engine?.tasks ?? new Map<number, TaskDto>())
  readonly #today = $derived.by(() => this.#startOfDay())
  readonly lines: readonly SidebarLine[] = $derived([
    ...lines(this.tasks.values(), this.filter, this.#today),
    ...(this.engine?.more ? [{ kind: 'more' } as const] : []),
  ])
  readonly order: readonly TaskDto[] = $derived(this.lines.flatMap((line) => (line.kind === 'task' ? [line.task] : [])))
  readonly counts = $derived(filterCounts(this.tasks.values()))
  readonly open: TaskDto | null = $derived(this.selected === null ? null : (this.tasks.get(this.selected) ?? null))

  constructor(backend: Backend) {
    this.backend = backend
    this.clock = new Clock(() => backend.now())
    this.submission = new Submission(backend, (queued) => this.#queued(queued))
    this.link = new Link(backend, {
      snapshot: () => this.#afterSnapshot(),
      update: (update, before) => this.#afterUpdate(update, before),
    })
  }

  get engine(): EngineState | null {
    return this.link.engine
  }

  /** Connects; call once. Says that it is ready once it can hear what the shell may ask of it. */
  async start(): Promise<void> {
    void this.link.open()
    void this.runDoctor()
    await this.attempt(
      Promise.all([
        this.backend.onOpenTask((task) => this.show(task)),
        this.backend.onProblem((problem) => this.toasts.error(asFailure(problem))),
      ]),
    )
    await this.attempt(this.backend.ready())
  }

  /** Waits for a call and shows its error; tells whether it went well. */
  async attempt(promise: Promise<unknown>): Promise<boolean> {
    try {
      await promise
      return true
    } catch (thrown) {
      this.toasts.error(asFailure(thrown))
      return false
    }
  }

  look(task: TaskDto): Look {
    return lookOf(task, this.#asked.has(task.number))
  }

  /** Opens a task's page. */
  select(task: number | null): void {
    if (task === this.selected) return
    this.selected = task
    if (task !== null) this.unread.delete(task)
    this.review = task === null ? null : new Review(this.backend, task)
    void this.review?.load()
  }

  /** Opens a task from outside the list and moves the focus to its title. */
  show(task: number): void {
    this.layer = null
    this.select(task)
    this.titleFocus += 1
  }

  /** The window got or lost the focus. */
  setFocused(focused: boolean): void {
    this.focused = focused
    if (focused && this.selected !== null) this.unread.delete(this.selected)
  }

  /** Opens the next or the previous task of the list. */
  move(by: 1 | -1): void {
    const at = this.order.findIndex((task) => task.number === this.selected)
    const next = this.order[at === -1 ? (by === 1 ? 0 : this.order.length - 1) : at + by]
    if (next) this.select(next.number)
  }

  /** Shows the most urgent task that needs a person. */
  showUrgent(): void {
    const urgent = [...this.tasks.values()].find((task) => task.state === 'needs_recovery')
    if (!urgent) return
    this.filter = 'all'
    this.show(urgent.number)
  }

  cancelStage(task: TaskDto): CancelStage {
    return stage(this.#asked.get(task.number), this.clock.now)
  }

  /** A press of the cancel key or button. */
  async cancel(task: TaskDto): Promise<void> {
    if (isResting(task.state) || task.state === 'needs_recovery') return
    const before = this.#asked.get(task.number)
    const { asked, ask } = press(before, this.clock.read())
    this.#asked.set(task.number, asked)
    if (ask === null) return
    const well = await this.attempt(this.backend.cancel(task.number, ask === 'stop_now'))
    if (well) return
    if (before) this.#asked.set(task.number, before)
    else this.#asked.delete(task.number)
  }

  /** Runs a resting task again and opens the new one. */
  async runAgain(task: TaskDto): Promise<void> {
    if (!isResting(task.state)) return
    await this.attempt(this.backend.retry(task.number).then((again) => this.#queued([again])))
  }

  async setPriority(task: TaskDto, priority: Priority): Promise<void> {
    await this.attempt(this.backend.setPriority(task.number, priority))
  }

  async setPaused(paused: boolean): Promise<void> {
    await this.attempt(this.backend.setPaused(paused))
  }

  async submitSample(): Promise<void> {
    await this.attempt(this.backend.submitSample().then((task) => this.#queued([task])))
  }

  async runDoctor(): Promise<void> {
    try {
      this.checks = await this.backend.doctor()
    } catch {
      // Without an engine there is nothing to say; it is asked again with the next snapshot.
      this.checks = null
    }
  }

  async copy(text: string, done = t.toast.copied as string): Promise<boolean> {
    try {
      await navigator.clipboard.writeText(text)
      this.toasts.note(done)
      return true
    } catch {
      this.toasts.note(t.toast.notCopied)
      return false
    }
  }

  async copyReport(task: TaskDto, format: ExportFormat): Promise<void> {
    await this.attempt(this.backend.exportFindings(task.number, format).then((text) => this.copy(text)))
  }

  async copyComment(finding: FindingDto): Promise<void> {
    await this.copy(comment(finding))
  }

  async openInEditor(task: TaskDto, finding: FindingDto): Promise<void> {
    await this.attempt(this.backend.openInEditor(task.number, finding.file, Math.max(1, finding.start_line)))
  }

  async testNotification(): Promise<void> {
    if (await this.attempt(this.backend.testNotification())) this.toasts.note(t.toast.notification)
  }

  /** For how long a running task has said nothing, once that is worth saying. */
  silentFor(task: TaskDto): number | null {
    if (task.state !== 'running' || task.throttled) return null
    const heard = this.#heard.get(task.number)
    if (heard === undefined) return null
    const ms = this.clock.now - heard
    return ms >= SILENT_MS ? ms : null
  }

  /** Groups depend on the day, not on the second. */
  #startOfDay(): string {
    const day = new Date(this.clock.now)
    day.setHours(0, 0, 0, 0)
    return day.toISOString()
  }

  #queued(queued: readonly TaskDto[]): void {
    const [first] = queued
    if (!first) return
    // The rows come over the subscription; here only the selection follows.
    if (this.filter !== 'all' && this.filter !== 'active') this.filter = 'all'
    this.tab = 'findings'
    this.show(first.number)
    this.said = t.live.queued(queued.length)
  }

  #afterSnapshot(): void {
    const now = this.clock.read()
    this.#heard.clear()
    for (const task of this.tasks.values()) {
      if (task.state === 'running') this.#heard.set(task.number, now)
      this.#settleAsked(task)
    }
    if (this.selected === null) this.select(this.order[0]?.number ?? null)
    else void this.review?.load()
    if (this.checks === null) void this.runDoctor()
    this.logPulse += 1
    this.#count()
  }

  #afterUpdate(update: UpdateDto, before: EngineState): void {
    const now = this.clock.read()
    for (const task of update.tasks) {
      if (task.state === 'running') this.#heard.set(task.number, now)
      else this.#heard.delete(task.number)
      this.#settleAsked(task)
      const old = before.tasks.get(task.number)
      if (old?.state === task.state) continue
      const rested = isResting(task.state) || task.state === 'needs_recovery'
      if (!rested) this.unread.delete(task.number)
      else if (old && (task.number !== this.selected || !this.focused)) this.unread.add(task.number)
      if (task.state === 'needs_recovery') this.urgent = t.live.needsYou(task.title)
      else if (old && isResting(task.state)) this.said = t.live.moved(task.title, t.state[this.look(task)])
    }
    const open = this.review
    if (open) {
      open.hear(update)
      const row = update.tasks.find((task) => task.number === open.task)
      if (row || update.events.some((event) => event.task === open.task)) this.logPulse += 1
      // The last word on findings and coverage comes with the end.
      if (row && isResting(row.state) && before.tasks.get(row.number)?.state !== row.state) void open.load()
    }
    if (this.selected === null) this.select(this.order[0]?.number ?? null)
    this.#count()
  }

  #settleAsked(task: TaskDto): void {
    if (isResting(task.state) || task.state === 'needs_recovery') this.#asked.delete(task.number)
  }

  /** Seconds are counted only while a task on screen counts them. */
  #count(): void {
    this.clock.want([...this.tasks.values()].some((task) => !isResting(task.state) && task.state !== 'needs_recovery'))
  }
}

const KEY = Symbol('app')

export function provideApp(app: App): void {
  setContext(KEY, app)
}

/** The window's state, from any component. */
export function useApp(): App {
  return getContext<App>(KEY)
}

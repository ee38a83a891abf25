import { asFailure, type Backend } from '../backend'
import type { CoverageDto } from '../generated/CoverageDto'
import type { FindingDto } from '../generated/FindingDto'
import type { UpdateDto } from '../generated/UpdateDto'

/** How long a new finding keeps its accent, 2 s. */
const FRESH_MS = 2000

const RANK: Record<string, number> = { high: 0, medium: 1, low: 2, info: 3 }

/** Worst first, then by place. */
export function bySeverity(a: FindingDto, b: FindingDto): number {
  return (
    (RANK[a.severity] ?? 4) - (RANK[b.severity] ?? 4) ||
    a.file.localeCompare(b.file) ||
    a.start_line - b.start_line ||
    a.id - b.id
  )
}

/**
 * What is read of the open task beyond its row: findings and the coverage ledger. Sorted once, when
 * it is opened; what arrives later goes to the end, so that nothing moves under the reader.
 */
export class Review {
  readonly task: number
  findings = $state.raw<readonly FindingDto[]>([])
  coverage = $state.raw<readonly CoverageDto[]>([])
  loaded = $state(false)
  problem = $state<string | null>(null)
  /** Findings that came in the last two seconds, by id. */
  fresh = $state.raw<ReadonlySet<number>>(new Set())
  /** The finding that keys act on, by id. */
  active = $state<number | null>(null)
  severities = $state.raw<ReadonlySet<string>>(new Set(['high', 'medium', 'low', 'info']))

  readonly shown = $derived(this.findings.filter((finding) => this.severities.has(finding.severity)))

  readonly #backend: Backend
  #files = new Map<string, number>()
  #loading = false
  #again = false

  constructor(backend: Backend, task: number) {
    this.#backend = backend
    this.task = task
  }

  /** Reads all of it. Events that come meanwhile are kept. */
  async load(): Promise<void> {
    if (this.#loading) {
      this.#again = true
      return
    }
    this.#loading = true
    try {
      do {
        this.#again = false
        const [findings, shown] = await Promise.all([
          this.#backend.findings(this.task),
          this.#backend.showTask(this.task),
        ])
        this.#takeFindings(findings)
        this.#takeCoverage(shown.coverage)
        this.problem = null
        this.loaded = true
      } while (this.#again)
    } catch (thrown) {
      this.problem = asFailure(thrown).message
    } finally {
      this.#loading = false
    }
  }

  /** Takes over what an update says about this task. */
  hear(update: UpdateDto): void {
    const findings: FindingDto[] = []
    const entries: CoverageDto[] = []
    for (const event of update.events) {
      if (event.task !== this.task) continue
      if (event.kind === 'finding' && event.data.finding) findings.push(event.data.finding as FindingDto)
      if (event.kind === 'covered' && event.data.entry) entries.push(event.data.entry as CoverageDto)
    }
    const added = this.#append(findings)
    if (added.length > 0 && this.loaded) this.#freshen(added)
    if (entries.length > 0) this.#mergeCoverage(entries)
  }

  /** Steps to the next or previous shown finding. */
  step(by: 1 | -1): void {
    const at = this.shown.findIndex((finding) => finding.id === this.active)
    const next = at === -1 ? (by === 1 ? 0 : this.shown.length - 1) : at + by
    const finding = this.shown[Math.max(0, Math.min(this.shown.length - 1, next))]
    if (finding) this.active = finding.id
  }

  #takeFindings(all: readonly FindingDto[]): void {
    if (this.findings.length === 0) {
      this.findings = [...all].sort(bySeverity)
      return
    }
    const known = new Map(all.map((finding) => [finding.id, finding]))
    const kept = this.findings.map((finding) => known.get(finding.id) ?? finding)
    const seen = new Set(kept.map((finding) => finding.id))
    this.findings = [...kept, ...all.filter((finding) => !seen.has(finding.id))]
  }

  #append(arrived: readonly FindingDto[]): FindingDto[] {
    const seen = new Set(this.findings.map((finding) => finding.id))
    const added = arrived.filter((finding) => !seen.has(finding.id) && seen.add(finding.id))
    if (added.length > 0) this.findings = [...this.findings, ...added]
    return added
  }

  #freshen(added: readonly FindingDto[]): void {
    const ids = added.map((finding) => finding.id)
    this.fresh = new Set([...this.fresh, ...ids])
    setTimeout(() => {
      const left = new Set(this.fresh)
      for (const id of ids) left.delete(id)
      this.fresh = left
    }, FRESH_MS)
  }

  #takeCoverage(all: readonly CoverageDto[]): void {
    this.coverage = []
    this.#files = new Map()
    this.#mergeCoverage(all)
  }

  #mergeCoverage(entries: readonly CoverageDto[]): void {
    const next = [...this.coverage]
    for (const entry of entries) {
      const key = entry.file_b64 ?? entry.file
      const at = this.#files.get(key)
      if (at === undefined) {
        this.#files.set(key, next.length)
        next.push(entry)
      } else next[at] = entry
    }
    this.coverage = next
  }
}

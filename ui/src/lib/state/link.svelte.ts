import { asFailure, type Backend, type StreamMessage } from '../backend'
import type { UpdateDto } from '../generated/UpdateDto'
import { apply, fromSnapshot, type EngineState } from './reducer'

/** Waits between tries to reach the engine, in ms; the last one repeats. */
const BACKOFF_MS = [500, 1000, 2000, 4000, 8000]
/** Least time between two snapshots asked for because of a gap, 2 s. */
const RESNAPSHOT_MS = 2000

/** Who wants to hear what the engine says beside the rows. */
export interface Listener {
  /** After a snapshot: whatever was read before may be behind. */
  snapshot(): void
  update(update: UpdateDto, before: EngineState): void
}

/** The subscription: keeps the last state, notices gaps, comes back after the engine was away. */
export class Link {
  engine = $state.raw<EngineState | null>(null)
  phase = $state<'connecting' | 'live' | 'lost'>('connecting')
  /** Why the engine is away, in words. */
  cause = $state('')

  readonly #backend: Backend
  readonly #listener: Listener
  #generation = 0
  #tries = 0
  #timer: ReturnType<typeof setTimeout> | null = null
  #resnapshotAt = 0

  constructor(backend: Backend, listener: Listener) {
    this.#backend = backend
    this.#listener = listener
  }

  /** Subscribes; on failure tries again until it works. A new subscription takes the place of the one before. */
  async open(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    const generation = ++this.#generation
    try {
      await this.#backend.subscribe(this.engine?.seq ?? null, (message) => {
        if (generation === this.#generation) this.#hear(message)
      })
    } catch (thrown) {
      if (generation !== this.#generation) return
      this.#lost(asFailure(thrown).message)
    }
  }

  #hear(message: StreamMessage): void {
    switch (message.kind) {
      case 'snapshot':
        this.engine = fromSnapshot(message.body)
        this.phase = 'live'
        this.cause = ''
        this.#tries = 0
        if (this.#timer !== null) clearTimeout(this.#timer)
        this.#timer = null
        this.#listener.snapshot()
        return
      case 'update': {
        const before = this.engine
        if (!before) {
          // Nothing can be applied to nothing: ask for the whole.
          this.#resnapshot()
          return
        }
        const { state, outcome } = apply(before, message.body)
        if (outcome === 'stale') return
        this.engine = state
        this.#listener.update(message.body, before)
        if (outcome === 'gap') this.#resnapshot()
        return
      }
      case 'gone':
        // The shell may come back by itself with a snapshot on the same line; we ask again all the same.
        this.#lost(message.body?.message ?? '')
    }
  }

  #resnapshot(): void {
    const now = this.#backend.now()
    if (now - this.#resnapshotAt < RESNAPSHOT_MS && this.#resnapshotAt !== 0) return
    this.#resnapshotAt = now
    void this.open()
  }

  #lost(cause: string): void {
    this.phase = 'lost'
    this.cause = cause
    const wait = BACKOFF_MS[Math.min(this.#tries, BACKOFF_MS.length - 1)] ?? 8000
    this.#tries += 1
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.open(), wait)
  }
}

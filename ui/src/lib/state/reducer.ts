import type { SnapshotDto } from '../generated/SnapshotDto'
import type { StatusDto } from '../generated/StatusDto'
import type { TaskDto } from '../generated/TaskDto'
import type { UpdateDto } from '../generated/UpdateDto'

/** What the engine last said: every task as it was at `seq`. Never changed in place. */
export interface EngineState {
  readonly seq: number
  /** By short number. */
  readonly tasks: ReadonlyMap<number, TaskDto>
  readonly status: StatusDto
  /** Whether there are older tasks than these. */
  readonly more: boolean
}

/**
 * What became of an update. `stale`: older than what is known, or seen before, so it was dropped.
 * `gap`: it was applied, but events before it are missing, so a new snapshot must be asked for.
 */
export type Outcome = 'applied' | 'stale' | 'gap'

/** The state a snapshot says. */
export function fromSnapshot(snapshot: SnapshotDto): EngineState {
  return {
    seq: snapshot.seq,
    tasks: new Map(snapshot.tasks.map((task) => [task.number, task])),
    status: snapshot.status,
    more: snapshot.more ?? false,
  }
}

/**
 * Applies a batch. The rows in it are whole, so nothing is inferred here: a row replaces the row
 * before it, and with it every callout that the older row stood for.
 */
export function apply(state: EngineState, update: UpdateDto): { state: EngineState; outcome: Outcome } {
  const durable = update.events.flatMap((event) => (event.seq === undefined ? [] : [event.seq]))
  const first = durable.length > 0 ? Math.min(...durable) : null

  if (update.seq < state.seq) return { state, outcome: 'stale' }
  if (update.seq === state.seq && first !== null) return { state, outcome: 'stale' }
  const gap = first === null ? update.seq > state.seq : first > state.seq + 1

  let tasks = state.tasks
  if (update.tasks.length > 0) {
    const next = new Map(tasks)
    for (const task of update.tasks) next.set(task.number, task)
    tasks = next
  }
  return {
    state: { ...state, seq: update.seq, tasks, status: update.status ?? state.status },
    outcome: gap ? 'gap' : 'applied',
  }
}

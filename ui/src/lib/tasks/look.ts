import type { TaskDto } from '../generated/TaskDto'

/**
 * How a task looks: its state, split where the same state needs another picture and word.
 * Nothing is guessed; each split is a field of the row.
 */
export type Look =
  | 'queued'
  | 'waiting'
  | 'running'
  | 'throttled'
  | 'stopping'
  | 'retrying'
  | 'rolling_back'
  | 'done'
  | 'partial'
  | 'failed'
  | 'cancelled'
  | 'needs_recovery'

/** The look of a task. `asked` says that this window has asked it to stop and the row does not say so yet. */
export function lookOf(task: TaskDto, asked = false): Look {
  switch (task.state) {
    case 'queued':
      return task.waiting_for.some((thing) => thing.mode !== 'slot') ? 'waiting' : 'queued'
    case 'running':
      if (asked || task.reason.startsWith('Stopping')) return 'stopping'
      return task.throttled ? 'throttled' : 'running'
    case 'retrying':
    case 'rolling_back':
    case 'done':
    case 'partial':
    case 'failed':
    case 'cancelled':
    case 'needs_recovery':
      return task.state
  }
}

/** CSS variable of a look's colour. Green is for what finished well and for nothing else. */
export const COLOUR: Record<Look, string> = {
  queued: 'var(--idle)',
  waiting: 'var(--wait)',
  running: 'var(--accent)',
  throttled: 'var(--retry)',
  stopping: 'var(--idle)',
  retrying: 'var(--retry)',
  rolling_back: 'var(--idle)',
  done: 'var(--ok)',
  partial: 'var(--retry)',
  failed: 'var(--fail)',
  cancelled: 'var(--idle)',
  needs_recovery: 'var(--recover)',
}

import type { TaskDto } from '../generated/TaskDto'

export const PHASES = ['pin', 'review', 'report'] as const
export type Phase = (typeof PHASES)[number]

/** Where a phase of a task is. */
export type PhaseState = 'ahead' | 'now' | 'done' | 'stopped'

/** The phases of a task with where each is. */
export function phasesOf(task: TaskDto): { phase: Phase; state: PhaseState }[] {
  const at = PHASES.indexOf(task.progress.phase as Phase)
  return PHASES.map((phase, index) => ({ phase, state: stateOf(task, index, at) }))
}

function stateOf(task: TaskDto, index: number, at: number): PhaseState {
  switch (task.state) {
    case 'done':
      return 'done'
    case 'queued':
      return 'ahead'
    case 'running':
      return index < at ? 'done' : index === at ? 'now' : 'ahead'
    case 'retrying':
    case 'rolling_back':
    case 'partial':
    case 'failed':
    case 'cancelled':
    case 'needs_recovery':
      return index < at ? 'done' : index === at ? 'stopped' : 'ahead'
  }
}

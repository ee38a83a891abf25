import type { StateDto } from '../generated/StateDto'
import type { TaskDto } from '../generated/TaskDto'

/** Sections of the sidebar, in order. */
export const GROUPS = ['needs_you', 'running', 'waiting', 'today', 'earlier'] as const
export type Group = (typeof GROUPS)[number]

/** What the sidebar shows. */
export const FILTERS = ['all', 'needs_you', 'active', 'done'] as const
export type Filter = (typeof FILTERS)[number]

/** Whether a task has come to rest. */
export function isResting(state: StateDto): boolean {
  switch (state) {
    case 'done':
    case 'partial':
    case 'failed':
    case 'cancelled':
      return true
    case 'queued':
    case 'running':
    case 'retrying':
    case 'rolling_back':
    case 'needs_recovery':
      return false
  }
}

/**
 * The section a task belongs to. `today` is the start of the day here as RFC 3339 in UTC with
 * milliseconds, the form of every time on the wire, so that times compare as text.
 */
export function groupOf(task: TaskDto, today: string): Group {
  switch (task.state) {
    case 'needs_recovery':
      return 'needs_you'
    case 'running':
    case 'retrying':
    case 'rolling_back':
      return 'running'
    case 'queued':
      return 'waiting'
    case 'done':
    case 'partial':
    case 'failed':
    case 'cancelled':
      return (task.finished_at ?? task.created_at) >= today ? 'today' : 'earlier'
  }
}

/** Whether a filter lets a task through. */
export function passes(task: TaskDto, filter: Filter): boolean {
  switch (filter) {
    case 'all':
      return true
    case 'needs_you':
      return task.state === 'needs_recovery'
    case 'active':
      return !isResting(task.state) && task.state !== 'needs_recovery'
    case 'done':
      return isResting(task.state)
  }
}

/** How many tasks each filter lets through. */
export function filterCounts(tasks: Iterable<TaskDto>): Record<Filter, number> {
  const counts: Record<Filter, number> = { all: 0, needs_you: 0, active: 0, done: 0 }
  for (const task of tasks) for (const filter of FILTERS) if (passes(task, filter)) counts[filter] += 1
  return counts
}

/** A line of a section. */
export type Line = { kind: 'heading'; group: Group } | { kind: 'task'; task: TaskDto }

/** The same, with the note at the end that there are older tasks. */
export type SidebarLine = Line | { kind: 'more' }

function order(group: Group): (a: TaskDto, b: TaskDto) => number {
  switch (group) {
    case 'waiting':
      return (a, b) => (a.position ?? Infinity) - (b.position ?? Infinity) || a.number - b.number
    case 'running':
      // By start, so that a row stays where it is while it runs.
      return (a, b) => newer(a.started_at ?? a.created_at, b.started_at ?? b.created_at) || b.number - a.number
    case 'needs_you':
    case 'today':
    case 'earlier':
      return (a, b) => newer(a.finished_at ?? a.created_at, b.finished_at ?? b.created_at) || b.number - a.number
  }
}

function newer(a: string, b: string): number {
  return a === b ? 0 : a > b ? -1 : 1
}

/** The sidebar's lines: each section that has tasks, under its heading. */
export function lines(tasks: Iterable<TaskDto>, filter: Filter, today: string): Line[] {
  const sections = new Map<Group, TaskDto[]>(GROUPS.map((group) => [group, []]))
  for (const task of tasks) if (passes(task, filter)) sections.get(groupOf(task, today))?.push(task)
  return GROUPS.flatMap((group) => {
    const members = sections.get(group) ?? []
    if (members.length === 0) return []
    members.sort(order(group))
    return [{ kind: 'heading', group } as Line, ...members.map((task): Line => ({ kind: 'task', task }))]
  })
}

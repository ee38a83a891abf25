import type { StateDto } from '../generated/StateDto'
import type { TaskDto } from '../generated/TaskDto'
import { sameDay } from '../format/time'

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

/** The section a task belongs to. */
export function groupOf(task: TaskDto, now: number): Group {
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
      return sameDay(Date.parse(task.finished_at ?? task.created_at), now) ? 'today' : 'earlier'
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

/** A line of the sidebar. */
export type Line = { kind: 'heading'; group: Group } | { kind: 'task'; task: TaskDto }

function order(group: Group): (a: TaskDto, b: TaskDto) => number {
  switch (group) {
    case 'waiting':
      return (a, b) => (a.position ?? Infinity) - (b.position ?? Infinity) || a.number - b.number
    case 'running':
      // By start, so that a row stays where it is while it runs.
      return (a, b) => stamp(b.started_at, b) - stamp(a.started_at, a) || b.number - a.number
    case 'needs_you':
    case 'today':
    case 'earlier':
      return (a, b) => stamp(b.finished_at, b) - stamp(a.finished_at, a) || b.number - a.number
  }
}

function stamp(at: string | null, task: TaskDto): number {
  return Date.parse(at ?? task.created_at)
}

/** The sidebar's lines: each section that has tasks, under its heading. */
export function lines(tasks: Iterable<TaskDto>, filter: Filter, now: number): Line[] {
  const sections = new Map<Group, TaskDto[]>(GROUPS.map((group) => [group, []]))
  for (const task of tasks) if (passes(task, filter)) sections.get(groupOf(task, now))?.push(task)
  return GROUPS.flatMap((group) => {
    const members = sections.get(group) ?? []
    if (members.length === 0) return []
    members.sort(order(group))
    return [{ kind: 'heading', group } as Line, ...members.map((task): Line => ({ kind: 'task', task }))]
  })
}

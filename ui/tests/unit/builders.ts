import type { EventDto } from '../../src/lib/generated/EventDto'
import type { SnapshotDto } from '../../src/lib/generated/SnapshotDto'
import type { TaskDto } from '../../src/lib/generated/TaskDto'
import type { UpdateDto } from '../../src/lib/generated/UpdateDto'
import { status, task } from '../../src/lib/backend/fake/build'

export { before, after, finding, STORY_NOW, status, task } from '../../src/lib/backend/fake/build'

export function snapshot(seq: number, ...tasks: TaskDto[]): SnapshotDto {
  return { seq, tasks, status: status() }
}

export function event(
  seq: number | undefined,
  number: number,
  kind = 'note',
  data: Record<string, unknown> = {},
): EventDto {
  return seq === undefined ? { task: number, at: '', kind, data } : { seq, task: number, at: '', kind, data }
}

export function update(seq: number, events: EventDto[], ...tasks: TaskDto[]): UpdateDto {
  return { seq, events, tasks, status: null }
}

export const row = (number: number, over: Partial<TaskDto> = {}) => task(number, `Task ${number}`, over)

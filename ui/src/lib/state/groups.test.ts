import { describe, expect, it } from 'vitest'
import type { StateDto } from '../generated/StateDto'
import { before, row } from '../../../tests/unit/builders'
import { filterCounts, groupOf, lines, passes } from './groups'

const TODAY = '2026-11-30T00:00:00.000Z'
const STATES: StateDto[] = [
  'queued',
  'running',
  'retrying',
  'rolling_back',
  'done',
  'partial',
  'failed',
  'cancelled',
  'needs_recovery',
]

describe('groups', () => {
  it('puts every state into a group', () => {
    const groups = STATES.map((state) => groupOf(row(1, { state, finished_at: before(60) }), TODAY))
    expect(groups).toEqual([
      'waiting',
      'running',
      'running',
      'running',
      'today',
      'today',
      'today',
      'today',
      'needs_you',
    ])
  })

  it('tells today from earlier by the start of the day', () => {
    expect(groupOf(row(1, { state: 'done', finished_at: '2026-11-30T00:00:00.000Z' }), TODAY)).toBe('today')
    expect(groupOf(row(1, { state: 'done', finished_at: '2026-11-29T23:59:59.999Z' }), TODAY)).toBe('earlier')
  })

  it('lets every state through exactly one of the narrow filters', () => {
    for (const state of STATES) {
      const task = row(1, { state })
      expect(
        ['needs_you', 'active', 'done'].filter((filter) => passes(task, filter as 'done')),
        state,
      ).toHaveLength(1)
    }
  })

  it('counts what each filter lets through', () => {
    expect(filterCounts(STATES.map((state, n) => row(n, { state })))).toEqual({
      all: 9,
      needs_you: 1,
      active: 4,
      done: 4,
    })
  })

  it('orders waiting tasks by place and finished ones newest first, under headings that have members', () => {
    const made = lines(
      [
        row(1, { state: 'done', finished_at: before(100) }),
        row(2, { state: 'done', finished_at: before(50) }),
        row(3, { state: 'queued', position: 2 }),
        row(4, { state: 'queued', position: 1 }),
      ],
      'all',
      TODAY,
    ).map((line) => (line.kind === 'heading' ? line.group : line.task.number))
    expect(made).toEqual(['waiting', 4, 3, 'today', 2, 1])
  })
})

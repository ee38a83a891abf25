import { describe, expect, it } from 'vitest'
import { event, row, snapshot, status, update } from '../../../tests/unit/builders'
import { apply, fromSnapshot } from './reducer'

const start = () => fromSnapshot(snapshot(10, row(1, { state: 'queued' })))

describe('apply', () => {
  it('replaces the rows that an update brings and keeps the others', () => {
    const state = fromSnapshot(snapshot(10, row(1), row(2)))
    const { state: next, outcome } = apply(state, update(11, [event(11, 2)], row(2, { state: 'running' })))
    expect(outcome).toBe('applied')
    expect(next.seq).toBe(11)
    expect(next.tasks.get(2)?.state).toBe('running')
    expect(next.tasks.get(1)).toBe(state.tasks.get(1))
  })

  it('never changes the state it was given', () => {
    const state = start()
    const before = state.tasks.get(1)
    apply(state, update(11, [event(11, 1)], row(1, { state: 'running' })))
    expect(state.seq).toBe(10)
    expect(state.tasks.get(1)).toBe(before)
  })

  it('drops a batch that is older than what is known', () => {
    const { state, outcome } = apply(start(), update(9, [event(9, 1)], row(1, { state: 'failed' })))
    expect(outcome).toBe('stale')
    expect(state.tasks.get(1)?.state).toBe('queued')
  })

  it('drops a batch that was seen before', () => {
    const batch = update(11, [event(11, 1)], row(1, { state: 'running' }))
    const once = apply(start(), batch).state
    const later = apply(
      once,
      update(11, [event(undefined, 1, 'progress')], row(1, { state: 'running', reason: 'newer' })),
    ).state
    const { state, outcome } = apply(later, batch)
    expect(outcome).toBe('stale')
    expect(state.tasks.get(1)?.reason).toBe('newer')
  })

  it('applies a tick, which brings no event number of its own', () => {
    const { state, outcome } = apply(start(), update(10, [event(undefined, 1, 'progress')], row(1, { reason: 'tick' })))
    expect(outcome).toBe('applied')
    expect(state.tasks.get(1)?.reason).toBe('tick')
  })

  it('reports a gap and applies the rows all the same', () => {
    const { state, outcome } = apply(start(), update(14, [event(13, 1), event(14, 1)], row(1, { state: 'done' })))
    expect(outcome).toBe('gap')
    expect(state.tasks.get(1)?.state).toBe('done')
  })

  it('reports a gap when a tick is ahead of what is known', () => {
    expect(apply(start(), update(12, [event(undefined, 1, 'progress')])).outcome).toBe('gap')
  })

  it('takes several events in one batch without a gap', () => {
    expect(apply(start(), update(13, [event(12, 1), event(11, 1), event(13, 1)])).outcome).toBe('applied')
  })

  it('keeps the engine figures until newer ones come', () => {
    const state = start()
    expect(apply(state, update(11, [event(11, 1)])).state.status).toBe(state.status)
    const newer = status({ running: 2 })
    expect(apply(state, { ...update(11, [event(11, 1)]), status: newer }).state.status).toBe(newer)
  })

  it('ends in the same state however often batches come twice', () => {
    const batches = Array.from({ length: 30 }, (_, index) =>
      update(11 + index, [event(11 + index, 1)], row(1, { reason: `${index}` })),
    )
    const once = batches.reduce((state, batch) => apply(state, batch).state, start())
    const twice = batches
      .flatMap((batch, index) => [batch, batches[Math.max(0, index - 3)] ?? batch, batch])
      .reduce((state, batch) => apply(state, batch).state, start())
    expect(twice).toEqual(once)
  })
})

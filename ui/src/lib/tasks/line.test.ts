import { describe, expect, it } from 'vitest'
import { after, before, row, STORY_NOW } from '../../../tests/unit/builders'
import { aside, reasonOf, share } from './line'
import { lookOf } from './look'

const found = { high: 2, medium: 1, low: 0, info: 0 }

describe('a row', () => {
  it('says no findings only when the ledger allows it', () => {
    expect(reasonOf(row(1, { state: 'done', clean: true, covered: { reviewed: 29 } }))).toBe('No findings')
    expect(reasonOf(row(1, { state: 'done', clean: false, covered: { reviewed: 24, failed: 5 } }))).toBe(
      '24 of 29 files reviewed',
    )
  })

  it('counts findings and names the high ones', () => {
    expect(reasonOf(row(1, { state: 'done', findings: found }))).toBe('3 findings (2 high)')
    expect(reasonOf(row(1, { state: 'done', findings: { ...found, high: 0, medium: 1 } }))).toBe('1 finding')
  })

  it('names the resource and its holder while it waits', () => {
    const waiting = row(1, {
      waiting_for: [{ resource: 'src/a.ts', mode: 'exclusive', holder: '#4', since: before(9) }],
      position: 1,
    })
    expect(reasonOf(waiting)).toBe('src/a.ts held by #4')
    expect(lookOf(waiting)).toBe('waiting')
    expect(aside(waiting, STORY_NOW)).toBe('1st')
    expect(lookOf(row(1, { waiting_for: [{ resource: 'slot', mode: 'slot', holder: '', since: '' }] }))).toBe('queued')
  })

  it('says a thing once: the place in line at the end of the row, stopping in the state', () => {
    expect(reasonOf(row(1, { reason: 'All 2 slots are busy. 2nd in line.', position: 2 }))).toBe('All 2 slots are busy')
    expect(reasonOf(row(1, { state: 'running', reason: 'Stopping' }))).toBe('')
    expect(reasonOf(row(1, { state: 'running', reason: 'Stopping: the time limit was reached' }))).toBe(
      'the time limit was reached',
    )
  })

  it('counts down to the next attempt', () => {
    const retrying = row(1, { state: 'retrying', retry_at: after(14), attempt: 1, reason: 'Worker ended' })
    expect(aside(retrying, STORY_NOW)).toBe('in 14 s')
    expect(aside(retrying, STORY_NOW + 20_000)).toBe('any moment now')
    expect(reasonOf(retrying)).toBe('Worker ended · attempt 2 of 3')
  })

  it('shows a share only while it means something', () => {
    const progress = { done: 18, total: 29, unit: 'files', phase: 'review', line: 'a' }
    expect(share(row(1, { state: 'running', progress }))).toBeCloseTo(18 / 29)
    expect(share(row(1, { state: 'running', progress: { ...progress, total: null } }))).toBeNull()
    expect(share(row(1, { state: 'done', progress }))).toBeNull()
    expect(share(row(1, { state: 'running', progress: { ...progress, done: 40 } }))).toBe(1)
  })

  it('looks like stopping from the press of the key on', () => {
    expect(lookOf(row(1, { state: 'running' }), true)).toBe('stopping')
    expect(lookOf(row(1, { state: 'running', reason: 'Stopping' }))).toBe('stopping')
    expect(lookOf(row(1, { state: 'cancelled' }), true)).toBe('cancelled')
  })
})

import { describe, expect, it, vi } from 'vitest'
import type { Backend } from '../backend'
import type { FindingDto } from '../generated/FindingDto'
import { event, finding, row, update } from '../../../tests/unit/builders'
import { Review, bySeverity } from './review.svelte'

function reviewOf(findings: FindingDto[], coverage = [{ file: 'a', status: 'reviewed', reason: null }]) {
  const backend = {
    findings: vi.fn(() => Promise.resolve(findings)),
    showTask: vi.fn(() => Promise.resolve(row(1, { coverage }))),
  }
  return { review: new Review(backend as unknown as Backend, 1), backend }
}

const found = (...ids: number[]) =>
  update(
    1,
    ids.map((id) => event(id, 1, 'finding', { finding: finding(id, { severity: 'high' }) })),
  )

describe('Review', () => {
  it('is sorted worst first when it is opened', async () => {
    const { review } = reviewOf([finding(1, { severity: 'low' }), finding(2, { severity: 'high' })])
    await review.load()
    expect(review.findings.map((one) => one.id)).toEqual([2, 1])
  })

  it('puts what comes later at the end, whatever its severity', async () => {
    const { review } = reviewOf([finding(1, { severity: 'low' })])
    await review.load()
    review.hear(found(5))
    expect(review.findings.map((one) => one.id)).toEqual([1, 5])
    expect(review.fresh.has(5)).toBe(true)
  })

  it('shows a finding once, whether it was read, heard or both', async () => {
    const { review } = reviewOf([finding(1, {}), finding(2, {})])
    review.hear(found(2, 2))
    await review.load()
    review.hear(found(1, 2))
    expect(review.findings.map((one) => one.id).sort()).toEqual([1, 2])
  })

  it('hears nothing of other tasks', async () => {
    const { review } = reviewOf([])
    await review.load()
    review.hear(update(1, [event(1, 2, 'finding', { finding: finding(9, {}) })]))
    expect(review.findings).toEqual([])
  })

  it('replaces the line of a file in the ledger', async () => {
    const { review } = reviewOf([])
    await review.load()
    review.hear(update(1, [event(1, 1, 'covered', { entry: { file: 'a', status: 'failed', reason: 'x' } })]))
    expect(review.coverage).toEqual([{ file: 'a', status: 'failed', reason: 'x' }])
  })

  it('reads once more when it was asked to while it was reading', async () => {
    const { review, backend } = reviewOf([])
    const first = review.load()
    void review.load()
    await first
    expect(backend.findings).toHaveBeenCalledTimes(2)
  })

  it('says why it could not be read', async () => {
    const backend = {
      findings: () => Promise.reject({ code: 'x', message: 'no luck' }),
      showTask: () => Promise.resolve(row(1)),
    }
    const review = new Review(backend as unknown as Backend, 1)
    await review.load()
    expect(review.problem).toBe('no luck')
  })

  it('steps through what is shown and stays inside it', async () => {
    const { review } = reviewOf([finding(1, { severity: 'high' }), finding(2, { severity: 'low' })])
    await review.load()
    review.step(1)
    expect(review.active).toBe(1)
    review.step(1)
    review.step(1)
    expect(review.active).toBe(2)
    review.severities = new Set(['high'])
    review.step(-1)
    expect(review.active).toBe(1)
  })
})

it('orders by severity, file, line', () => {
  const sorted = [
    finding(1, { severity: 'info' }),
    finding(2, { severity: 'high', file: 'b' }),
    finding(3, { severity: 'high', file: 'a', start_line: 9 }),
    finding(4, { severity: 'high', file: 'a', start_line: 2 }),
  ].sort(bySeverity)
  expect(sorted.map((one) => one.id)).toEqual([4, 3, 2, 1])
})

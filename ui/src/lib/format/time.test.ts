import { describe, expect, it } from 'vitest'
import { after, before, STORY_NOW } from '../../../tests/unit/builders'
import { ago, brief, countdown, duration, moment, sameDay } from './time'

describe('time', () => {
  it.each([
    [0, '0:00'],
    [-5000, '0:00'],
    [7999, '0:07'],
    [221_000, '3:41'],
    [3_729_000, '1:02:09'],
  ])('writes %d ms as %s', (ms, text) => expect(duration(ms)).toBe(text))

  it.each([
    [1, '1 s'],
    [13_200, '14 s'],
    [60_000, '1:00'],
    [221_000, '3:41'],
  ])('says %d ms briefly as %s', (ms, text) => expect(brief(ms)).toBe(text))

  it('counts to an absolute instant, so that a sleep leaves nothing to catch up', () => {
    expect(countdown(after(14), STORY_NOW)).toEqual({ kind: 'in', ms: 14_000 })
    expect(countdown(after(14), STORY_NOW + 3_600_000)).toEqual({ kind: 'due' })
    expect(countdown(after(0), STORY_NOW)).toEqual({ kind: 'due' })
  })

  it('names the clock when it is more than ten minutes off', () => {
    expect(countdown(after(600), STORY_NOW).kind).toBe('in')
    expect(countdown(after(9428), STORY_NOW).kind).toBe('at')
  })

  it('calls a broken time due rather than showing NaN', () => {
    expect(countdown('never', STORY_NOW)).toEqual({ kind: 'due' })
    expect(moment('never', STORY_NOW)).toBe('')
  })

  it('names the time today and the date before', () => {
    expect(moment(before(60), STORY_NOW)).toMatch(/^\d\d:\d\d$/)
    expect(moment(before(86_400 * 3), STORY_NOW)).toMatch(/^\d{1,2} Nov$/)
    expect(moment(before(86_400 * 400), STORY_NOW)).toContain('2025')
  })

  it('says roughly how long ago', () => {
    expect([10, 372, 7300, 200_000].map((seconds) => ago(before(seconds), STORY_NOW))).toEqual([
      'now',
      '6m',
      '2h',
      '2d',
    ])
  })

  it('tells days by the calendar here', () => {
    const noon = new Date(2026, 10, 30, 12).getTime()
    expect(sameDay(noon, new Date(2026, 10, 30, 0).getTime())).toBe(true)
    expect(sameDay(noon, new Date(2026, 10, 29, 23, 59).getTime())).toBe(false)
  })
})

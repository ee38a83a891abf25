import { expect, it } from 'vitest'
import { count, nth, plural } from './plural'

it('agrees with the number', () => {
  const files = { one: 'file', other: 'files' }
  expect([0, 1, 2, 12_400].map((n) => plural(n, files))).toEqual(['0 files', '1 file', '2 files', '12,400 files'])
})

it('writes places in line', () => {
  expect([1, 2, 3, 4, 11, 12, 13, 21, 101].map(nth)).toEqual([
    '1st',
    '2nd',
    '3rd',
    '4th',
    '11th',
    '12th',
    '13th',
    '21st',
    '101st',
  ])
})

it('groups thousands', () => {
  expect(count(100_000)).toBe('100,000')
})

import { expect, it } from 'vitest'
import { finding } from '../../../tests/unit/builders'
import { comment, place } from './comment'

it('names the place by file, line or range', () => {
  expect(place(finding(1, { file: 'a.ts', start_line: 0, end_line: 0 }))).toBe('a.ts')
  expect(place(finding(1, { file: 'a.ts', start_line: 3 }))).toBe('a.ts:3')
  expect(place(finding(1, { file: 'a.ts', start_line: 3, end_line: 5 }))).toBe('a.ts:3-5')
})

it('writes a comment that can be pasted into a pull request', () => {
  const text = comment(
    finding(1, {
      file: 'a.ts',
      start_line: 3,
      severity: 'high',
      title: 'Bad',
      body: 'Because.',
      suggestion: { patch: '@@ -1 +1 @@\n-a\n+b\n' },
    }),
  )
  expect(text).toBe('**High: Bad** (`a.ts:3`)\n\nBecause.\n\n```diff\n@@ -1 +1 @@\n-a\n+b\n```')
})

it('uses a fence that the patch does not hold', () => {
  expect(comment(finding(1, { suggestion: { patch: '+```js\n' } }))).toContain('````diff')
})

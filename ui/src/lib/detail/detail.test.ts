import { describe, expect, it } from 'vitest'
import { row } from '../../../tests/unit/builders'
import { cut, findLines, levelOf } from './find'
import { patchLines } from './patch'
import { phasesOf } from './phases'

describe('phases', () => {
  const states = (over: Parameters<typeof row>[1]) => phasesOf(row(1, over)).map(({ state }) => state)
  const at = (phase: string) => ({ done: 0, total: null, unit: 'files', phase, line: '' })

  it('marks what is done, what runs and where it stopped', () => {
    expect(states({ state: 'queued' })).toEqual(['ahead', 'ahead', 'ahead'])
    expect(states({ state: 'running', progress: at('review') })).toEqual(['done', 'now', 'ahead'])
    expect(states({ state: 'failed', progress: at('review') })).toEqual(['done', 'stopped', 'ahead'])
    expect(states({ state: 'done', progress: at('report') })).toEqual(['done', 'done', 'done'])
    expect(states({ state: 'running', progress: at('') })).toEqual(['ahead', 'ahead', 'ahead'])
  })
})

describe('find', () => {
  it('finds lines in any case', () => {
    expect(findLines(['a Warn', 'b', 'WARN'], 'warn')).toEqual([0, 2])
    expect(findLines(['a'], '')).toEqual([])
  })

  it('cuts a line at every match and loses no character', () => {
    const parts = cut('abAbx', 'ab')
    expect(parts).toEqual([
      { text: 'ab', hit: true },
      { text: 'Ab', hit: true },
      { text: 'x', hit: false },
    ])
    expect(cut('plain', 'zz')).toEqual([{ text: 'plain', hit: false }])
  })

  it('knows the level of a line by its place', () => {
    expect(levelOf('11:42:01.552 warn  rules: x')).toBe('warn')
    expect(levelOf('11:42:01.552 error x')).toBe('error')
    expect(levelOf('2026-11-30 11:42 WARNING x')).toBe('warn')
    expect(levelOf('ERROR: x')).toBe('error')
    expect(levelOf('11:42:01.552 info  read error.ts and find no error here')).toBeNull()
  })
})

describe('patchLines', () => {
  it('keeps the hunks and drops the file headers', () => {
    expect(patchLines('--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n\\ No newline at end of file\n')).toEqual([
      { kind: 'same', text: 'same' },
      { kind: 'remove', text: 'old' },
      { kind: 'add', text: 'new' },
    ])
  })

  it('keeps a removed line that looks like a header', () => {
    expect(patchLines('--- a/x\n+++ b/x\n@@ -1 +0,0 @@\n--- comment\n')).toEqual([
      { kind: 'remove', text: '-- comment' },
    ])
  })
})

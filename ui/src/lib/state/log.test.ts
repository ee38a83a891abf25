import { expect, it, vi } from 'vitest'
import type { Backend } from '../backend'
import { LogReader } from './log.svelte'

/** A log of `size` lines, a byte a line, given out by pages. */
function logOf(lines: string[]) {
  return {
    log: vi.fn((_task: number, attempt: number, from: number, limit: number) => {
      const page = lines.slice(from, from + limit)
      return Promise.resolve({ attempt, from, next: from + page.length, size: lines.length, lines: page })
    }),
  }
}

it('reads page by page to the end', async () => {
  const lines = Array.from({ length: 12_001 }, (_, n) => `line ${n}`)
  const backend = logOf(lines)
  const reader = new LogReader(backend as unknown as Backend, 1, 1)
  await reader.pull()
  expect(reader.lines).toEqual(lines)
  expect(backend.log).toHaveBeenCalledTimes(3)
})

it('goes on from where it was and reads nothing twice', async () => {
  const lines = ['a', 'b']
  const reader = new LogReader(logOf(lines) as unknown as Backend, 1, 1)
  await reader.pull()
  lines.push('c')
  await Promise.all([reader.pull(), reader.pull(), reader.pull()])
  expect(reader.lines).toEqual(['a', 'b', 'c'])
})

it('does not spin when a page does not move on', async () => {
  const log = vi.fn(() => Promise.resolve({ attempt: 1, from: 0, next: 0, size: 10, lines: [] }))
  const reader = new LogReader({ log } as unknown as Backend, 1, 1)
  await reader.pull()
  expect(log).toHaveBeenCalledTimes(1)
  expect(reader.loaded).toBe(true)
})

it('drops an answer that comes after it was closed', async () => {
  const reader = new LogReader(logOf(['a']) as unknown as Backend, 1, 1)
  const pulled = reader.pull()
  reader.close()
  await pulled
  expect(reader.lines).toEqual([])
})

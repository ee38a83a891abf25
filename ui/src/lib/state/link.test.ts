import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Backend, StreamMessage } from '../backend'
import { event, row, snapshot, update } from '../../../tests/unit/builders'
import { Link } from './link.svelte'

let lines: ((message: StreamMessage) => void)[] = []
let refuse = false
const heard = { snapshot: vi.fn(), update: vi.fn() }
const backend = {
  now: () => Date.now(),
  subscribe: vi.fn((_since: number | null, on: (message: StreamMessage) => void) => {
    if (refuse) return Promise.reject({ code: 'no_engine', message: 'no engine' })
    lines.push(on)
    return Promise.resolve(() => {})
  }),
}
const say = (message: StreamMessage, line = lines.length - 1) => lines[line]?.(message)

beforeEach(() => {
  vi.useFakeTimers()
  lines = []
  refuse = false
})

afterEach(() => {
  vi.useRealTimers()
  vi.clearAllMocks()
})

async function opened() {
  const link = new Link(backend as unknown as Backend, heard)
  await link.open()
  say({ kind: 'snapshot', body: snapshot(10, row(1)) })
  return link
}

describe('Link', () => {
  it('is live after a snapshot and follows updates', async () => {
    const link = await opened()
    expect(link.phase).toBe('live')
    say({ kind: 'update', body: update(11, [event(11, 1)], row(1, { state: 'running' })) })
    expect(link.engine?.tasks.get(1)?.state).toBe('running')
    expect(heard.update).toHaveBeenCalledTimes(1)
  })

  it('asks for a new snapshot at a gap, not twice in two seconds', async () => {
    const link = await opened()
    say({ kind: 'update', body: update(15, [event(15, 1)]) }, 0)
    await vi.advanceTimersByTimeAsync(0)
    expect(backend.subscribe).toHaveBeenCalledTimes(2)
    say({ kind: 'update', body: update(20, [event(20, 1)]) }, 1)
    expect(backend.subscribe).toHaveBeenCalledTimes(2)
    expect(link.engine?.seq).toBe(20)
  })

  it('ignores what an older subscription still says', async () => {
    const link = await opened()
    await link.open()
    say({ kind: 'update', body: update(11, [event(11, 1)], row(1, { state: 'failed' })) }, 0)
    expect(link.engine?.tasks.get(1)?.state).toBe('queued')
  })

  it('is lost when the engine goes, asks again by itself, and is live when it is back', async () => {
    const link = await opened()
    refuse = true
    say({ kind: 'gone', body: null })
    expect(link.phase).toBe('lost')
    await vi.advanceTimersByTimeAsync(600)
    expect(link.phase).toBe('lost')
    expect(link.cause).toBe('no engine')
    refuse = false
    await vi.advanceTimersByTimeAsync(1100)
    say({ kind: 'snapshot', body: snapshot(30, row(1)) })
    expect(link.phase).toBe('live')
    expect(link.cause).toBe('')
  })

  it('takes a snapshot that comes down the same line after the engine was away, and stops asking', async () => {
    const link = await opened()
    say({ kind: 'gone', body: null })
    say({ kind: 'snapshot', body: snapshot(12, row(1)) })
    expect(link.phase).toBe('live')
    await vi.advanceTimersByTimeAsync(60_000)
    expect(backend.subscribe).toHaveBeenCalledTimes(1)
  })
})

import { describe, expect, it, vi } from 'vitest'
import type { Backend } from '../backend'
import { classify } from '../backend/fake/classify'
import type { TaskDto } from '../generated/TaskDto'
import { row } from '../../../tests/unit/builders'
import { Submission } from './submission.svelte'

function rig() {
  const submitted: string[] = []
  const queued: TaskDto[] = []
  const backend = {
    classify: vi.fn((items: string[]) => Promise.resolve(items.map(classify))),
    submitItems: vi.fn((items: string[]) => {
      submitted.push(...items)
      return Promise.resolve(items.map(() => row(submitted.length)))
    }),
    submitText: vi.fn((text: string) => {
      submitted.push(text)
      return Promise.resolve(row(submitted.length))
    }),
    browse: vi.fn(() => Promise.resolve(['/x/y.patch'])),
  }
  const submission = new Submission(backend as unknown as Backend, (tasks) => queued.push(...tasks))
  return { submission, backend, submitted, queued }
}

const PATCH = 'diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n'

describe('Submission', () => {
  it('starts at once what can be reviewed', async () => {
    const { submission, submitted, queued } = rig()
    await submission.drop(['/a/one.patch', '/a/two.diff'])
    expect(submitted).toEqual(['/a/one.patch', '/a/two.diff'])
    expect(queued).toHaveLength(2)
    expect(submission.open).toBe(false)
    expect(submission.entries).toEqual([])
  })

  it('opens the sheet and starts nothing when something can’t be reviewed', async () => {
    const { submission, submitted } = rig()
    await submission.drop(['/a/one.patch', '/a/two.zip'])
    expect(submitted).toEqual([])
    expect(submission.open).toBe(true)
    expect(submission.ready).toBe(false)
    const bad = submission.entries.find((entry) => entry.seen?.error)
    submission.remove(bad?.key ?? -1)
    expect(submission.ready).toBe(true)
  })

  it('starts at most ten and says so', async () => {
    const { submission, submitted } = rig()
    await submission.drop(Array.from({ length: 12 }, (_, n) => `/a/${n}.patch`))
    expect(submitted).toEqual([])
    expect(submission.entries).toHaveLength(10)
    expect(submission.remark).toContain('10')
  })

  it('keeps on the list exactly what was not queued when one is refused', async () => {
    const { submission, backend, submitted, queued } = rig()
    submission.show()
    await submission.addItems(['/a/one.patch', '/a/two.patch', '/a/three.patch'])
    backend.submitItems.mockImplementationOnce((items) => {
      submitted.push(...items)
      return Promise.resolve([row(1)])
    })
    backend.submitItems.mockImplementationOnce(() =>
      Promise.reject({ code: 'low_disk', message: 'No space', disk_effect: 'Nothing.', fix: ['Free some.'] }),
    )
    await submission.start()
    expect(queued).toHaveLength(1)
    expect(submission.failure?.message).toBe('No space')
    expect(submission.open).toBe(true)
    expect(submission.entries.map((entry) => entry.seen?.label)).toEqual(['two.patch', 'three.patch'])
    await submission.start()
    expect(submitted).toEqual(['/a/one.patch', '/a/two.patch', '/a/three.patch'])
  })

  it('does not list a thing twice', async () => {
    const { submission } = rig()
    await submission.addItems(['/a/one.patch', '/a/one.patch'])
    await submission.addItems(['/a/one.patch'])
    expect(submission.entries).toHaveLength(1)
    expect(submission.remark).not.toBe('')
  })

  it('takes pasted patches and says no to other text', async () => {
    const { submission, submitted } = rig()
    expect(await submission.pasteOrShow(PATCH)).toBe(true)
    expect(submitted).toEqual([PATCH])
    expect(await submission.pasteOrShow('one line\nand another')).toBe(false)
    expect(submitted).toHaveLength(1)
  })

  it('shows what hovers, and forgets it when it leaves before the answer', async () => {
    const { submission } = rig()
    const seen = submission.enter(['/a/one.patch'])
    submission.leave()
    await seen
    expect(submission.hover).toBeNull()
    await submission.enter(['/a/one.patch'])
    expect(submission.hover?.seen?.[0]?.kind).toBe('patch')
  })

  it('turns a failing classifier into an error on each item', async () => {
    const { submission, backend } = rig()
    backend.classify.mockImplementationOnce(() =>
      Promise.reject({ code: 'no_engine', message: 'No engine', disk_effect: '', fix: [] }),
    )
    await submission.addItems(['/a/one.patch'])
    expect(submission.entries[0]?.seen?.error?.message).toBe('No engine')
    expect(submission.ready).toBe(false)
  })
})

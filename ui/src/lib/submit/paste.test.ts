import { describe, expect, it } from 'vitest'
import { classifyPaste, fromFileUri, isPatch, measurePatch } from './paste'

const GIT = 'diff --git a/x.ts b/x.ts\nindex 1..2 100644\n--- a/x.ts\n+++ b/x.ts\n@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d\n'
const PLAIN = '--- old.c\t2026-01-01\n+++ new.c\t2026-01-02\n@@ -3 +3 @@\n-x\n+y\n'

describe('classifyPaste', () => {
  it.each([
    ['a git patch', GIT],
    ['a plain one', PLAIN],
    ['one with CRLF', GIT.replaceAll('\n', '\r\n')],
    ['a mail with a patch', `From 1234\nSubject: [PATCH] x\n\ntext\n---\n x.ts | 3 +-\n\n${GIT}`],
    ['a rename without a hunk', 'diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n'],
  ])('takes %s for a patch', (_, text) => {
    expect(classifyPaste(text)).toEqual({ kind: 'patch', text })
  })

  it.each([
    ['https://github.com/acme/api/pull/482', ['https://github.com/acme/api/pull/482']],
    ['  /home/dev/a b.patch  \n', ['/home/dev/a b.patch']],
    ['"/home/dev/a.patch"', ['/home/dev/a.patch']],
    ['~/src/api@main..feature', ['~/src/api@main..feature']],
    ['feature/branch', ['feature/branch']],
    ['# copied\r\nfile:///home/dev/caf%C3%A9%201.patch\r\n', ['/home/dev/café 1.patch']],
    ['/a/one.patch\n/b/two.patch', ['/a/one.patch', '/b/two.patch']],
    [
      'C:\\work\\a.patch\nhttps://github.com/acme/api/pull/1',
      ['C:\\work\\a.patch', 'https://github.com/acme/api/pull/1'],
    ],
  ])('takes %j for a list', (text, items) => {
    expect(classifyPaste(text)).toEqual({ kind: 'items', items })
  })

  it.each([[''], ['   \n\n'], ['Dear all,\nplease review.'], ['x'.repeat(5000)], ['# only a comment']])(
    'takes %j for nothing',
    (text) => {
      expect(classifyPaste(text).kind).toBe('nothing')
    },
  )

  it('leaves an address alone that names no UTF-8 path', () => {
    expect(fromFileUri('file:///tmp/caf%E9.patch')).toBe('file:///tmp/caf%E9.patch')
  })

  it('does not take prose about a diff for one', () => {
    expect(isPatch('the --- and +++ lines name the files')).toBe(false)
    expect(isPatch('--- a\n+++ b\nno hunk')).toBe(false)
  })
})

describe('measurePatch', () => {
  it('counts files and lines', () => {
    expect(measurePatch(GIT)).toEqual({ files: 1, added: 2, removed: 1 })
    expect(measurePatch(GIT + PLAIN.replace('old.c', 'a/z'))).toMatchObject({ added: 3, removed: 2 })
  })

  it('does not take a removed comment for a file header', () => {
    const sql = '--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1 @@\n--- a comment\n x\n'
    expect(measurePatch(sql)).toEqual({ files: 1, added: 0, removed: 1 })
  })
})

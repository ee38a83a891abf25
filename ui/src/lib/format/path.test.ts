import { expect, it } from 'vitest'
import { shortName } from './path'

it('calls a path by its last part', () => {
  expect(shortName('/home/a/rate limit.patch')).toBe('rate limit.patch')
  expect(shortName('/home/a/api/')).toBe('api')
  expect(shortName('file:///tmp/caf%E9.patch')).toBe('caf%E9.patch')
  expect(shortName('/')).toBe('/')
})

it('leaves links and ranges as they are', () => {
  expect(shortName('https://example.org/a/b/pull/1')).toBe('https://example.org/a/b/pull/1')
  expect(shortName('.@main..feature')).toBe('.@main..feature')
})

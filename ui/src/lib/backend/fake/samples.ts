import type { CoverageDto } from '../../generated/CoverageDto'
import type { FindingDto } from '../../generated/FindingDto'
import { finding } from './build'

/** What the pretend review finds, in the order in which it finds it. */
export const FINDINGS: readonly FindingDto[] = [
  finding(1, {
    file: 'src/auth.ts',
    start_line: 88,
    end_line: 89,
    severity: 'high',
    rule: 'js.client-controlled-key',
    title: 'Limiter keyed by client-supplied header',
    body: '`X-Forwarded-For` is trusted without a proxy allow-list, so any caller can pick a new key per request and bypass the limit.',
    quote: "  const key = req.headers['x-forwarded-for'] ?? req.ip\n  const left = await limiter.take(String(key))",
    cwe: 'CWE-807',
    suggestion: {
      patch:
        "--- a/src/auth.ts\n+++ b/src/auth.ts\n@@ -88,2 +88,2 @@\n-  const key = req.headers['x-forwarded-for'] ?? req.ip\n+  const key = req.ip\n   const left = await limiter.take(String(key))\n",
    },
  }),
  finding(2, {
    file: 'src/middleware/limit.ts',
    start_line: 31,
    severity: 'high',
    rule: 'js.check-then-act',
    title: 'Counter is not atomic across workers',
    body: 'Reading and then writing leaves a window between two workers. Use `INCR` with `EXPIRE` in one script.',
    quote: '    await store.set(key, (await store.get(key)) + 1)',
    cwe: 'CWE-362',
  }),
  finding(3, {
    file: 'src/auth.ts',
    start_line: 142,
    severity: 'medium',
    rule: 'http.retry-after',
    title: '429 without Retry-After',
    body: 'Clients back off blindly.',
    quote: '    return res.status(429).end()',
  }),
  finding(4, {
    file: 'test/limit.test.ts',
    start_line: 12,
    severity: 'medium',
    rule: 'test.sleep',
    title: 'Test sleeps 1 s per case',
    body: 'Use a fake clock.',
    quote: '  await new Promise((done) => setTimeout(done, 1000))',
  }),
  finding(5, {
    file: 'README.md',
    start_line: 0,
    end_line: 0,
    severity: 'low',
    rule: 'docs.env-var',
    title: 'New environment variable LIMIT_RPM is undocumented',
    anchor: 'file',
  }),
  finding(6, {
    file: 'config/default.toml',
    side: 'old',
    start_line: 7,
    severity: 'info',
    rule: 'config.removed-key',
    title: 'A key was removed that other files still read',
    body: 'See `src/config.ts`. <b>Raw HTML</b> stays text, and [a link](https://example.com/x) leads nowhere.',
    quote: 'trust_proxy = false',
    confidence: 0.4,
  }),
]

const REVIEWED = [
  'src/auth.ts',
  'src/config.ts',
  'src/index.ts',
  'src/middleware/limit.ts',
  'src/middleware/session.ts',
  'src/middleware/headers.ts',
  'src/routes/account.ts',
  'src/routes/login.ts',
  'src/routes/logout.ts',
  'src/routes/reset.ts',
  'src/store/memory.ts',
  'src/store/redis.ts',
  'src/util/clock.ts',
  'src/util/hash.ts',
  'test/auth.test.ts',
  'test/limit.test.ts',
  'test/session.test.ts',
  'README.md',
  'config/default.toml',
  'Dockerfile',
  '.github/workflows/ci.yml',
  'scripts/seed.ts',
  'scripts/migrate.ts',
  'src/types.ts',
]

const SKIPPED: readonly CoverageDto[] = [
  { file: 'package-lock.json', status: 'skipped', reason: 'Lock file' },
  { file: 'docs/flow.png', status: 'skipped', reason: 'Binary content' },
  { file: 'dist/bundle.min.js', status: 'skipped', reason: 'Generated, minified or vendored' },
]

/** A ledger of 29 files with one line of each kind. */
export const COVERAGE: readonly CoverageDto[] = [
  ...REVIEWED.map((file): CoverageDto => ({ file, status: 'reviewed', reason: null })),
  ...SKIPPED,
  { file: 'src/legacy/schema.sql', status: 'partial', reason: 'Lines 2,001 to 9,412 are past the limit of one file' },
  { file: 'src/legacy/parser.ts', status: 'failed', reason: 'The parser stopped at its time limit' },
]

/** A ledger with nothing left out but by rule. */
export const CLEAN_COVERAGE: readonly CoverageDto[] = [
  ...REVIEWED.map((file): CoverageDto => ({ file, status: 'reviewed', reason: null })),
  ...SKIPPED,
]

/** Lines of a log, made up one by one so that a hundred thousand cost nothing until they are read. */
export function logLine(index: number): string {
  const file = REVIEWED[index % REVIEWED.length] ?? ''
  const at = `11:42:${String(Math.floor(index / 60) % 60).padStart(2, '0')}.${String((index * 37) % 1000).padStart(3, '0')}`
  if (index === 0) return `${at} info  pin: 29 files, 6 changed hunks, frozen in 41 ms`
  if (index % 97 === 96) return `${at} warn  rules: ${file}: no grammar for this language, pattern checks only`
  if (index % 463 === 462) return `${at} error rules: ${file}: parser stopped at its time limit`
  return `${at} info  rules: ${file}: ${(index * 13) % 140} lines, ${(index * 7) % 42} checks`
}

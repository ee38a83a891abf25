import type { Page } from '@playwright/test'
import { SHOTS, expect, expectAccessible, open, openTask, test } from './rig'

type Shot = { name: string; story: string; set?: (page: Page) => Promise<void> }

const tab = (page: Page, name: string) => page.getByRole('tab', { name }).click()

/** One screen a state, and one a layer. */
const SHOTS_OF: Shot[] = [
  { name: 'empty', story: 'empty' },
  { name: 'running', story: 'all', set: (page) => openTask(page, 42) },
  { name: 'retrying', story: 'all', set: (page) => openTask(page, 43) },
  { name: 'throttled', story: 'all', set: (page) => openTask(page, 44) },
  { name: 'rolling-back', story: 'all', set: (page) => openTask(page, 40) },
  { name: 'waiting', story: 'all', set: (page) => openTask(page, 45) },
  { name: 'queued', story: 'all', set: (page) => openTask(page, 46) },
  { name: 'done-clean', story: 'all', set: (page) => openTask(page, 39) },
  { name: 'done', story: 'all', set: (page) => openTask(page, 38) },
  { name: 'done-not-covered', story: 'all', set: (page) => openTask(page, 37) },
  { name: 'partial', story: 'all', set: (page) => openTask(page, 36) },
  { name: 'failed', story: 'all', set: (page) => openTask(page, 35) },
  { name: 'cancelled', story: 'all', set: (page) => openTask(page, 34) },
  { name: 'needs-recovery', story: 'all', set: (page) => openTask(page, 41) },
  {
    name: 'stopping',
    story: 'all',
    set: async (page) => {
      await openTask(page, 42)
      await page.keyboard.press('Control+.')
      await expect(page.getByRole('button', { name: 'Stopping…' })).toBeVisible()
    },
  },
  { name: 'paused', story: 'paused', set: (page) => openTask(page, 46) },
  {
    name: 'lost',
    story: 'lost',
    set: async (page) => {
      await expect(page.getByText('Engine is not running. Starting…')).toBeVisible()
    },
  },
  {
    name: 'coverage',
    story: 'all',
    set: async (page) => {
      await openTask(page, 38)
      await tab(page, 'Coverage')
    },
  },
  {
    name: 'logs',
    story: 'all',
    set: async (page) => {
      await openTask(page, 42)
      await tab(page, 'Logs')
      await expect(page.locator('[data-log]')).toContainText('11:42')
    },
  },
  {
    name: 'logs-find',
    story: 'all',
    set: async (page) => {
      await openTask(page, 38)
      await tab(page, 'Logs')
      await page.keyboard.press('Control+f')
      await page.keyboard.type('grammar')
      await expect(page.getByText('1 of 9')).toBeVisible()
    },
  },
  {
    name: 'drop',
    story: 'all',
    set: async (page) => {
      await openTask(page, 42)
      await page.evaluate(() => window.pretend?.drag({ kind: 'enter', items: ['/home/dev/rate-limit.patch'] }))
      await expect(page.getByText('6 files, +148 −31')).toBeVisible()
    },
  },
  {
    name: 'drop-several',
    story: 'all',
    set: async (page) => {
      await openTask(page, 42)
      await page.evaluate(() =>
        window.pretend?.drag({
          kind: 'enter',
          items: ['/home/dev/one.patch', '/home/dev/src/api', 'https://github.com/acme/api/pull/482'],
        }),
      )
      await expect(page.getByText('3 items → 3 reviews')).toBeVisible()
    },
  },
  {
    name: 'drop-bad',
    story: 'all',
    set: async (page) => {
      await openTask(page, 42)
      await page.evaluate(() => window.pretend?.drag({ kind: 'enter', items: ['/home/dev/build.zip'] }))
      await expect(page.getByText('Can’t review a .zip')).toBeVisible()
    },
  },
  {
    name: 'sheet',
    story: 'all',
    set: async (page) => {
      await openTask(page, 42)
      await page.keyboard.press('n')
      for (const item of ['/home/dev/rate-limit.patch', '/home/dev/src/api', '/home/dev/notes.pdf']) {
        await page.keyboard.type(item)
        await page.keyboard.press('Enter')
      }
      await expect(page.getByText('Can’t review a .pdf')).toBeVisible()
    },
  },
  {
    name: 'palette',
    story: 'all',
    set: async (page) => {
      await openTask(page, 42)
      await page.keyboard.press('Control+k')
      await expect(page.getByRole('listbox')).toBeVisible()
    },
  },
  {
    name: 'menu',
    story: 'all',
    set: async (page) => {
      await openTask(page, 42)
      await page.locator('[data-task="46"]').click({ button: 'right' })
      await expect(page.getByRole('menu')).toBeVisible()
    },
  },
  {
    name: 'shortcuts',
    story: 'all',
    set: async (page) => {
      await page.keyboard.press('?')
      await expect(page.getByRole('dialog')).toBeVisible()
    },
  },
  {
    name: 'checks',
    story: 'empty',
    set: async (page) => {
      await page.getByRole('button', { name: 'All checks' }).click()
      await expect(page.getByRole('dialog')).toBeVisible()
    },
  },
  {
    name: 'error',
    story: 'all',
    set: async (page) => {
      await openTask(page, 38)
      await page.keyboard.press(']')
      await page.keyboard.press('e')
      await expect(page.getByText('No editor is set.')).toBeVisible()
    },
  },
  {
    name: 'small',
    story: 'all',
    set: async (page) => {
      await page.setViewportSize({ width: 960, height: 600 })
      await openTask(page, 42)
    },
  },
]

for (const scheme of ['dark', 'light'] as const) {
  test.describe(scheme, () => {
    test.use({ colorScheme: scheme, contextOptions: { reducedMotion: 'reduce' } })
    for (const { name, story, set } of SHOTS_OF) {
      test(`${name} is accessible @screens`, async ({ page }) => {
        await open(page, story)
        await set?.(page)
        await page.screenshot({ path: `${SHOTS}${scheme}-${name}.png` })
        await expectAccessible(page)
      })
    }
  })
}

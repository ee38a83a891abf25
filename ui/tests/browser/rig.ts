import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import AxeBuilder from '@axe-core/playwright'
import { expect, test as base, type Page } from '@playwright/test'
import type { PretendHandle } from '../../src/lib/backend/fake'

declare global {
  interface Window {
    pretend?: PretendHandle
    violations?: string[]
  }
}

/** Where screenshots go; not kept in the repository. */
export const SHOTS = fileURLToPath(new URL('../../../artifacts/ui/', import.meta.url))
mkdirSync(SHOTS, { recursive: true })

/** A page that fails its test on any error in the console and any breach of the content policy. */
export const test = base.extend<{ errors: string[] }>({
  errors: [
    async ({ page }, use) => {
      const errors: string[] = []
      page.on('console', (message) => {
        if (message.type() === 'error' || message.type() === 'warning') errors.push(message.text())
      })
      page.on('pageerror', (error) => errors.push(String(error)))
      await page.addInitScript(() => {
        // The desktop shell freezes the prototypes too (`freezePrototype`).
        Object.freeze(Object.prototype)
        window.violations = []
        document.addEventListener('securitypolicyviolation', (event) =>
          window.violations?.push(`${event.violatedDirective}: ${event.blockedURI}`),
        )
      })
      await use(errors)
      expect(errors, 'console errors').toEqual([])
      expect(await page.evaluate(() => window.violations), 'policy violations').toEqual([])
    },
    { auto: true },
  ],
})

export { expect }

/** Opens a story and waits for its first frame and its fonts. */
export async function open(page: Page, story: string, more = ''): Promise<void> {
  await page.goto(`/?fake=${story}${more}`)
  await page.waitForFunction(() => window.pretend?.ready === true)
  await page.evaluate(() => document.fonts.ready)
}

/** Opens a task by its number. */
export async function openTask(page: Page, number: number): Promise<void> {
  await page.locator(`[data-task="${number}"]`).click()
  await expect(page.locator('main .meta')).toContainText(`#${number}`)
  await page.mouse.move(640, 790)
}

/** No violation of WCAG 2.2 AA, best practices included. */
export async function expectAccessible(page: Page): Promise<void> {
  // A colour caught in the middle of a transition is no colour of ours.
  await page.evaluate(() =>
    Promise.all(
      document
        .getAnimations()
        .filter((a) => a.effect?.getTiming().iterations !== Infinity)
        .map((a) => a.finished.catch(() => {})),
    ),
  )
  const { violations } = await new AxeBuilder({ page })
    .withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'])
    .disableRules(['region']) // Menus stand at the end of the body, outside all landmarks, while they are open.
    .analyze()
  expect(
    violations.map(
      (one) => `${one.id}: ${one.nodes.map((node) => `${node.target.join(' ')} (${node.failureSummary})`).join('; ')}`,
    ),
  ).toEqual([])
}

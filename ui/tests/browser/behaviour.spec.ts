import { expect, expectAccessible, open, openTask, test } from './rig'

test.use({ contextOptions: { reducedMotion: 'reduce' } })

const PATCH = 'diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n'

test('a review is submitted, watched and cancelled with the keyboard alone', async ({ page }) => {
  await open(page, 'live', '&speed=2')
  await page.keyboard.press('n')
  await page.keyboard.type('/home/dev/rate-limit.patch')
  await page.keyboard.press('Enter')
  await expect(page.getByText('Patch · 6 files, +148 −31')).toBeVisible()
  await page.keyboard.press('Control+Enter')
  await expect(page.getByRole('heading', { level: 1, name: 'rate-limit.patch' })).toBeFocused()
  await expect(page.locator('[data-finding="1"]')).toBeVisible()
  await page.keyboard.press(']')
  await expect(page.locator('[data-finding="1"]')).toBeFocused()
  await page.keyboard.press('Control+.')
  await expect(page.locator('[data-task="1"]')).toContainText('Stopping')
  await expect(page.locator('[data-task="1"]')).toContainText('Cancelled')
  await expect(page.getByText('No files were changed.')).toBeVisible()
  // What was found before is kept.
  await expect(page.locator('[data-finding="1"]')).toBeVisible()
  await expectAccessible(page)
})

test('the sample runs to its end and says what was and was not reviewed', async ({ page }) => {
  await open(page, 'live', '&speed=20')
  await page.getByRole('button', { name: 'Try a sample patch' }).click()
  await expect(page.locator('[data-task="1"]')).toContainText('6 findings (2 high)')
  await expect(page.locator('main .live')).toContainText('24 of 27 files reviewed')
  await page.keyboard.press('2')
  await expect(page.getByRole('row', { name: /package-lock\.json/ })).toContainText('Lock file')
})

test('no findings is said only where the ledger allows it', async ({ page }) => {
  await open(page, 'all')
  await openTask(page, 33 + 6)
  await expect(page.getByText('No findings. 24 files reviewed, 3 left out by a stated rule.')).toBeVisible()
  await openTask(page, 37)
  await expect(page.getByRole('heading', { name: '24 of 29 files were reviewed.' })).toBeVisible()
  await expect(page.getByText('No findings.')).toHaveCount(0)
})

test('a second press of cancel offers to stop now', async ({ page }) => {
  await open(page, 'all')
  await openTask(page, 42)
  await page.keyboard.press('Control+.')
  await expect(page.getByRole('button', { name: 'Stopping…' })).toBeVisible()
  await page.keyboard.press('Control+.')
  await page.getByRole('button', { name: 'Stop now' }).click()
  await expect(page.locator('[data-task="42"]')).toContainText('Cancelled')
})

test('new findings come in below without moving the reader', async ({ page }) => {
  await open(page, 'all')
  await openTask(page, 42)
  const first = page.locator('[data-finding="1"]')
  const before = await first.boundingBox()
  await page.evaluate(() => {
    for (const id of [101, 102, 103]) {
      const sample = window.pretend?.findings[0]
      if (sample) window.pretend?.engine.find(42, { ...sample, id, title: `Later finding ${id}` })
    }
  })
  await expect(page.getByRole('button', { name: '3 new' })).toBeVisible()
  expect(await first.boundingBox()).toEqual(before)
  await page.getByRole('button', { name: '3 new' }).click()
  await expect(page.getByText('Later finding 103')).toBeVisible()
  await expect(page.getByRole('button', { name: '3 new' })).toHaveCount(0)
})

test('a finding is text, whatever it holds', async ({ page }) => {
  await open(page, 'all')
  await openTask(page, 42)
  await page.evaluate(() => {
    const sample = window.pretend?.findings[0]
    if (sample)
      window.pretend?.engine.find(42, {
        ...sample,
        id: 500,
        severity: 'high',
        title: '<img src=x onerror=alert(1)>',
        body: '<script>alert(1)</script> [go](javascript:alert(1)) ![x](https://example.com/p.png)',
        quote: '</code><script>alert(1)</script>',
        file: 'a"><img src=x>.ts',
      })
  })
  await page.keyboard.press('[')
  await page.keyboard.press('[')
  await page.getByRole('button', { name: '1 new' }).click()
  const card = page.locator('[data-finding="500"]')
  await expect(card).toContainText('<img src=x onerror=alert(1)>')
  await expect(card).toContainText('<script>alert(1)</script>')
  expect(await card.locator('img, script, a').count()).toBe(0)
})

test('paste starts a review of a patch, and of nothing else', async ({ page }) => {
  await open(page, 'all')
  const paste = (text: string) =>
    page.evaluate((data) => {
      const clipboardData = new DataTransfer()
      clipboardData.setData('text/plain', data)
      document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }))
    }, text)
  await paste(PATCH)
  await expect(page.getByRole('heading', { level: 1, name: 'Pasted patch' })).toBeVisible()
  await paste('some words\nand more of them')
  await expect(page.getByText('Nothing in the clipboard can be reviewed.')).toBeVisible()
  await paste('https://github.com/acme/api/pull/9')
  await expect(page.getByRole('heading', { level: 1, name: 'acme/api #9' })).toBeVisible()
  await paste('/home/dev/photo.jpg')
  await expect(page.getByText('Can’t review a .jpg')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Start review' })).toBeDisabled()
})

test('a native drop starts one review an item and shows the first', async ({ page }) => {
  await open(page, 'all')
  await page.evaluate(() => {
    const items = ['/home/dev/café 1.patch', '/home/dev/src/api', 'https://github.com/acme/api/pull/482']
    window.pretend?.drag({ kind: 'enter', items })
    window.pretend?.drag({ kind: 'over' })
    window.pretend?.drag({ kind: 'drop', items })
  })
  await expect(page.getByText('Drop to review')).toHaveCount(0)
  await expect(page.getByRole('heading', { level: 1, name: 'café 1.patch' })).toBeVisible()
  for (const name of ['café 1.patch', 'api', 'acme/api #482'])
    await expect(page.locator(`[data-task][aria-label^="${name},"]`)).toHaveCount(1)
})

test('a link dropped as text starts a review, once', async ({ page }) => {
  await open(page, 'all')
  await page.evaluate(() => {
    const dataTransfer = new DataTransfer()
    dataTransfer.setData('text/plain', 'https://github.com/acme/api/pull/7')
    for (const type of ['dragenter', 'dragover', 'drop'])
      document.body.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }))
  })
  await expect(page.getByRole('heading', { level: 1, name: 'acme/api #7' })).toBeVisible()
  await expect(page.locator('[data-task][aria-label^="acme/api #7"]')).toHaveCount(1)
})

test('the engine goes and comes back', async ({ page }) => {
  await open(page, 'all')
  await page.evaluate(() => window.pretend?.engine.leave())
  await expect(page.getByText('Engine is not running. Starting…')).toBeVisible()
  await expectAccessible(page)
  // The list stays readable meanwhile.
  await openTask(page, 38)
  await page.evaluate(() => window.pretend?.engine.comeBack())
  await expect(page.getByText('Engine is not running. Starting…')).toHaveCount(0)
  await expect(page.getByText('Engine ready')).toBeVisible()
})

test('a task asked for from outside opens with its title in focus; problems from outside are shown', async ({
  page,
}) => {
  await open(page, 'all')
  await page.evaluate(() => window.pretend?.openTask(35))
  await expect(page.getByRole('heading', { level: 1, name: 'Audit OAuth scopes' })).toBeFocused()
  await page.evaluate(() =>
    window.pretend?.problem({
      code: 'not_found',
      message: 'There is no file x.patch',
      disk_effect: 'Nothing was changed.',
      fix: ['Check the name.'],
    }),
  )
  await expect(page.getByRole('alert').filter({ hasText: 'There is no file x.patch' })).toContainText('Check the name.')
})

test('tasks that end unseen stay marked until they are opened', async ({ page }) => {
  await open(page, 'all')
  await openTask(page, 38)
  await page.evaluate(() => window.pretend?.engine.settle(42, 'done'))
  const row = page.locator('[data-task="42"]')
  await expect(row).toHaveAccessibleName(/, new$/)
  await row.click()
  await expect(row).not.toHaveAccessibleName(/, new$/)
})

test('J and K move, filters narrow, the palette finds, Escape closes the top layer only', async ({ page }) => {
  await open(page, 'all')
  await expect(page.locator('[data-task="41"]')).toHaveAttribute('aria-current', 'true')
  await page.keyboard.press('j')
  await expect(page.locator('[data-task="44"]')).toHaveAttribute('aria-current', 'true')
  await page.keyboard.press('ArrowDown')
  await expect(page.locator('[data-task="42"]')).toHaveAttribute('aria-current', 'true')
  await page.keyboard.press('k')
  await expect(page.locator('[data-task="44"]')).toHaveAttribute('aria-current', 'true')

  await page.getByRole('radio', { name: /Done/ }).click()
  await expect(page.locator('[data-task="42"]')).toHaveCount(0)
  await page.keyboard.press('ArrowLeft')
  await expect(page.getByRole('radio', { name: /Active/ })).toHaveAttribute('aria-checked', 'true')
  await expect(page.locator('[data-task="42"]')).toHaveCount(1)

  await page.keyboard.press('n')
  await expect(page.getByRole('heading', { name: 'New review' })).toBeVisible()
  await page.keyboard.press('Control+k')
  // Keys belong to the window until the field has the focus.
  await expect(page.getByRole('combobox')).toBeFocused()
  await page.keyboard.type('billing')
  await page.keyboard.press('Escape')
  await expect(page.getByRole('listbox')).toHaveCount(0)
  await expect(page.getByRole('heading', { name: 'New review' })).toBeVisible()
  await page.keyboard.press('Escape')
  await expect(page.getByRole('heading', { name: 'New review' })).toHaveCount(0)

  await page.keyboard.press('Control+k')
  // Keys belong to the window until the field has the focus.
  await expect(page.getByRole('combobox')).toBeFocused()
  await page.keyboard.type('billing')
  await expect(page.getByRole('option', { name: /Refactor billing webhooks/ })).toHaveAttribute('aria-selected', 'true')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('heading', { level: 1, name: 'Refactor billing webhooks' })).toBeFocused()
})

test('a menu acts on the row it was opened on', async ({ page }) => {
  await open(page, 'all')
  await openTask(page, 42)
  await page.locator('[data-task="46"]').click({ button: 'right' })
  await page.getByRole('menuitem', { name: 'Cancel' }).click()
  await expect(page.locator('[data-task="46"]')).toContainText('Cancelled')
  await expect(page.locator('[data-task="42"]')).toContainText('Running')
})

test('paused work is let go from the banner', async ({ page }) => {
  await open(page, 'paused')
  await page.getByRole('button', { name: 'Resume' }).first().click()
  await expect(page.getByText('Engine ready')).toBeVisible()
})

test('two thousand tasks need few rows, from top to bottom', async ({ page }) => {
  await open(page, 'many')
  const rows = page.locator('[data-task]')
  expect(await rows.count()).toBeLessThan(60)
  await page.locator('[data-task="1999"]').hover()
  let most = 0
  // A busy browser folds turns of the wheel together, so it is turned until the end is there.
  await expect(async () => {
    await page.mouse.wheel(0, 3000)
    most = Math.max(most, await rows.count())
    await expect(page.locator('[data-task="1"]')).toBeVisible({ timeout: 50 })
  }).toPass({ intervals: [1], timeout: 20_000 })
  expect(most).toBeLessThan(60)
  // What the snapshot left out is said.
  await expect(page.getByText('Older tasks are kept but not shown.')).toBeVisible()
})

test('a hundred thousand log lines need few rows; find and follow work', async ({ page }) => {
  await open(page, 'biglog')
  await openTask(page, 42)
  await page.keyboard.press('3')
  await expect(page.getByText('100,000 lines')).toBeVisible()
  const lines = page.locator('[data-log] .line')
  // A running task is followed.
  await expect(page.getByRole('button', { name: 'Follow' })).toHaveAttribute('aria-pressed', 'true')
  await expect(lines.last()).toContainText('lines')
  expect(await lines.count()).toBeLessThan(90)
  await page.keyboard.press('Control+f')
  await expect(page.getByRole('searchbox').or(page.getByRole('textbox'))).toBeFocused()
  await page.keyboard.type('no grammar')
  await expect(page.getByText('1 of 1,030')).toBeVisible()
  await expect(page.locator('[data-log] .current')).toBeVisible()
  await page.keyboard.press('Enter')
  await expect(page.getByText('2 of 1,030')).toBeVisible()
  await page.keyboard.press('Escape')
  await page.keyboard.press('f')
  await expect(page.getByRole('button', { name: 'Follow' })).toHaveAttribute('aria-pressed', 'true')
  expect(await lines.count()).toBeLessThan(90)
})

test('only the open task’s glyph moves, and not while the window is out of focus', async ({ page }) => {
  await page.emulateMedia({ reducedMotion: 'no-preference' })
  await open(page, 'all')
  await openTask(page, 42)
  const moving = () =>
    page.evaluate(() =>
      document
        .getAnimations()
        .filter((one) => one.effect?.getTiming().iterations === Infinity)
        .map((one) => one.playState),
    )
  expect(await moving()).toEqual(['running'])
  await page.evaluate(() => window.dispatchEvent(new Event('blur')))
  expect(await moving()).toEqual(['paused'])
  await page.evaluate(() => window.dispatchEvent(new Event('focus')))
  expect(await moving()).toEqual(['running'])
  await page.emulateMedia({ reducedMotion: 'reduce' })
  expect(await moving()).toEqual([])
})

test('the width of the list can be set with the keyboard and is kept', async ({ page }) => {
  await open(page, 'all')
  const handle = page.getByRole('separator', { name: 'Width of the task list' })
  await handle.focus()
  await page.keyboard.press('ArrowRight')
  await expect(handle).toHaveAttribute('aria-valuenow', '332')
  await page.reload()
  await expect(handle).toHaveAttribute('aria-valuenow', '332')
})

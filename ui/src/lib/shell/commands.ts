import type { App } from '../state/app.svelte'
import { isResting } from '../state/groups'
import { t } from '../text/en'

/** A command of the palette. */
export interface PaletteCommand {
  readonly id: string
  readonly name: string
  readonly keys?: string
  readonly run: () => void
}

/** What can be done now, in the order in which it is most often wanted. */
export function commandsFor(app: App): PaletteCommand[] {
  const task = app.open
  const commands: PaletteCommand[] = [
    { id: 'new', name: t.topbar.newReview, keys: 'N', run: () => app.submission.show() },
    { id: 'browse-file', name: t.palette.browseFile, run: () => void app.attempt(app.submission.browse('file')) },
    { id: 'browse-folder', name: t.palette.browseFolder, run: () => void app.attempt(app.submission.browse('folder')) },
  ]
  if (task && !isResting(task.state) && task.state !== 'needs_recovery')
    commands.push({
      id: 'cancel',
      name: task.kind === 'review' ? t.detail.cancelReview : t.detail.cancelTask,
      keys: 'Ctrl .',
      run: () => void app.cancel(task),
    })
  if (task && isResting(task.state))
    commands.push({ id: 'again', name: t.detail.runAgain, keys: 'R', run: () => void app.runAgain(task) })
  if (task)
    commands.push(
      { id: 'markdown', name: t.palette.copyMarkdown, run: () => void app.copyReport(task, 'markdown') },
      { id: 'sarif', name: t.palette.copySarif, run: () => void app.copyReport(task, 'sarif') },
      { id: 'json', name: t.palette.copyJson, run: () => void app.copyReport(task, 'json') },
    )
  const paused = app.engine?.status.paused ?? false
  commands.push(
    { id: 'pause', name: paused ? t.palette.resume : t.palette.pause, run: () => void app.setPaused(!paused) },
    { id: 'sample', name: t.palette.sample, run: () => void app.submitSample() },
    { id: 'checks', name: t.palette.checks, run: () => (app.layer = 'checks') },
    { id: 'notification', name: t.palette.notification, run: () => void app.testNotification() },
    { id: 'shortcuts', name: t.palette.shortcuts, keys: '?', run: () => (app.layer = 'shortcuts') },
  )
  return commands
}

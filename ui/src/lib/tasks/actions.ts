import type { TaskDto } from '../generated/TaskDto'
import type { App } from '../state/app.svelte'
import { isResting } from '../state/groups'
import { t } from '../text/en'

/** An entry of a task's menu; `null` is a line between groups. */
export type Action = {
  readonly name: string
  readonly keys?: string
  readonly danger?: boolean
  readonly run: () => void
} | null

/** What can be done with a task, for the menus of the list and of its page. */
export function actionsFor(app: App, task: TaskDto): Action[] {
  const first: Action[] = []
  // The keys act on the open task; on another row they would be a lie.
  const keys = (name: string) => (task.number === app.selected ? name : undefined)
  if (isResting(task.state)) first.push({ name: t.menu.runAgain, keys: keys('R'), run: () => void app.runAgain(task) })
  else if (task.state !== 'needs_recovery')
    first.push({ name: t.menu.cancel, keys: keys('Ctrl .'), danger: true, run: () => void app.cancel(task) })
  const priorities: Action[] =
    task.state === 'queued'
      ? [
          null,
          ...(['high', 'normal', 'low'] as const)
            .filter((priority) => priority !== task.priority)
            .map((priority) => ({
              name: { high: t.menu.raise, normal: t.menu.normal, low: t.menu.lower }[priority],
              run: () => void app.setPriority(task, priority),
            })),
        ]
      : []
  return [
    ...first,
    ...priorities,
    ...(first.length + priorities.length > 0 ? [null] : []),
    { name: t.menu.copyMarkdown, run: () => void app.copyReport(task, 'markdown') },
    { name: t.menu.copySarif, run: () => void app.copyReport(task, 'sarif') },
    { name: t.menu.copyJson, run: () => void app.copyReport(task, 'json') },
    { name: t.menu.copyNumber, run: () => void app.copy(`#${task.number}`) },
  ]
}

import { TABS, type App } from '../state/app.svelte'
import { isResting } from '../state/groups'
import { commandKey, inField } from '../ui/keys'

/**
 * Keys that work everywhere. Single letters only outside fields and layers; Escape closes the top
 * layer and never stops a task. Lists, tabs and menus handle their own arrows.
 */
export function handleKey(app: App, event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return
  if (commandKey(event) && !event.altKey) {
    withCommandKey(app, event)
    return
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return
  if (event.key === 'Escape') {
    if (app.layer === null && app.submission.open) {
      event.preventDefault()
      app.submission.close()
    }
    return
  }
  if (app.layer !== null || inField(event.target) || inMenu(event.target)) return
  single(app, event)
}

function withCommandKey(app: App, event: KeyboardEvent): void {
  switch (event.key) {
    case 'k':
    case 'K':
      event.preventDefault()
      app.layer = app.layer === 'palette' ? null : 'palette'
      return
    case 'n':
      event.preventDefault()
      app.layer = null
      app.submission.show()
      return
    case '.':
      if (!app.open || app.layer !== null) return
      event.preventDefault()
      void app.cancel(app.open)
      return
    default:
  }
}

function single(app: App, event: KeyboardEvent): void {
  const task = app.open
  const review = app.review
  const take = () => event.preventDefault()
  switch (event.key) {
    case 'n':
      take()
      app.submission.show()
      return
    case '?':
      take()
      app.layer = 'shortcuts'
      return
    case 'j':
      take()
      app.move(1)
      return
    case 'k':
      take()
      app.move(-1)
      return
    case 'ArrowDown':
    case 'ArrowUp':
      // In a scrolled region the arrows scroll; on the bare window and in the list they move.
      if (!freeOfArrows(event.target)) return
      take()
      app.move(event.key === 'ArrowDown' ? 1 : -1)
      return
    case '1':
    case '2':
    case '3': {
      const tab = TABS[Number(event.key) - 1]
      if (!tab || !task) return
      take()
      app.tab = tab
      return
    }
    case '[':
    case ']':
      if (!review) return
      take()
      app.tab = 'findings'
      review.step(event.key === ']' ? 1 : -1)
      return
    case 'c':
    case 'e': {
      const finding = review?.findings.find((one) => one.id === review.active)
      if (!task || !finding || app.tab !== 'findings') return
      take()
      if (event.key === 'c') void app.copyComment(finding)
      else if (task.origin !== null) void app.openInEditor(task, finding)
      return
    }
    case 'r':
      if (!task || !isResting(task.state)) return
      take()
      void app.runAgain(task)
      return
    default:
  }
}

function freeOfArrows(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return true
  if (target.closest('[data-tasks]')) return true
  return target === document.body
}

function inMenu(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('[role="menu"], [role="dialog"]') !== null
}

/** Whether the command key of this platform is ⌘. */
export const APPLE = typeof navigator !== 'undefined' && /mac/i.test(navigator.platform)

/** A key's name as this platform writes it. */
export function keyName(name: string): string {
  return APPLE ? name.replace(/Ctrl\s?/, '⌘').replace(/Shift\s?/, '⇧') : name
}

/** Whether the platform's command key is held. */
export function commandKey(event: KeyboardEvent): boolean {
  return APPLE ? event.metaKey : event.ctrlKey
}

/** Whether typing goes into a field. */
export function inField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable="true"]') !== null
}

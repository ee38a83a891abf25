/**
 * Every command the desktop shell answers, by name. `tauri.ts` can call nothing else, and a test
 * compares this list with the handlers registered on the other side.
 */
export const COMMANDS = [
  'ui_ready',
  'subscribe',
  'unsubscribe',
  'classify_items',
  'submit_items',
  'submit_text',
  'submit_sample',
  'browse',
  'show_task',
  'task_findings',
  'task_log',
  'cancel_task',
  'retry_task',
  'set_priority',
  'set_paused',
  'engine_status',
  'doctor',
  'open_in_editor',
  'export_findings',
  'test_notification',
] as const

/** Name of a command of the shell. */
export type Command = (typeof COMMANDS)[number]

/** Events the shell sends by itself; rare ones only, everything frequent comes over the subscription. */
export const SHELL_EVENTS = ['open-task', 'problem', 'drop-enter', 'drop-over', 'drop-leave', 'drop'] as const

/** Name of an event of the shell. */
export type ShellEvent = (typeof SHELL_EVENTS)[number]

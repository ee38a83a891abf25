import { Channel, invoke } from '@tauri-apps/api/core'
import { listen } from '@tauri-apps/api/event'
import type { Backend, DragMessage, Stop, StreamMessage } from './backend'
import type { Command, ShellEvent } from './commands'
import { asFailure } from './failure'

async function call<T>(command: Command, args: Record<string, unknown> = {}): Promise<T> {
  try {
    return await invoke<T>(command, args)
  } catch (thrown) {
    throw asFailure(thrown)
  }
}

async function hear<T>(event: ShellEvent, on: (payload: T) => void): Promise<Stop> {
  return listen<T>(event, (message) => on(message.payload))
}

/** The desktop shell, which speaks to the engine. */
export function tauriBackend(): Backend {
  return {
    now: () => Date.now(),
    ready: () => call('ui_ready'),
    async subscribe(since, on) {
      const channel = new Channel<StreamMessage>()
      let open = true
      channel.onmessage = (message) => {
        if (open) on(message)
      }
      await call<void>('subscribe', { channel, since })
      return () => {
        if (open) void call('unsubscribe').catch(() => {})
        open = false
      }
    },
    classify: (items) => call('classify_items', { items }),
    submitItems: (items) => call('submit_items', { items }),
    submitText: (text, label) => call('submit_text', { text, label }),
    submitSample: () => call('submit_sample'),
    browse: (kind) => call('browse', { kind }),
    showTask: (task) => call('show_task', { task }),
    findings: (task) => call('task_findings', { task }),
    log: (task, attempt, from, limit) => call('task_log', { task, attempt, from, limit }),
    cancel: (task, now) => call('cancel_task', { task, now }),
    retry: (task) => call('retry_task', { task }),
    setPriority: (task, priority) => call('set_priority', { task, priority }),
    setPaused: (paused) => call('set_paused', { paused }),
    status: () => call('engine_status'),
    doctor: () => call('doctor'),
    openInEditor: (task, file, line) => call('open_in_editor', { task, file, line }),
    exportFindings: (task, format) => call('export_findings', { task, format }),
    testNotification: () => call('test_notification'),
    async onDrag(on) {
      const heard = await Promise.all([
        hear<{ items: string[] }>('drop-enter', ({ items }) => on({ kind: 'enter', items })),
        hear<unknown>('drop-over', () => on({ kind: 'over' })),
        hear<unknown>('drop-leave', () => on({ kind: 'leave' } satisfies DragMessage)),
        hear<{ items: string[] }>('drop', ({ items }) => on({ kind: 'drop', items })),
      ])
      return () => heard.forEach((stop) => stop())
    },
    onProblem: (on) => hear('problem', on),
    onOpenTask: (on) => hear<{ task: number }>('open-task', ({ task }) => on(task)),
  }
}

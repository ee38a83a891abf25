import type { Failure } from '../backend'

/** A notice in the corner. Errors stay until they are dismissed; the rest goes by itself. */
export interface Toast {
  readonly id: number
  readonly kind: 'note' | 'error'
  readonly message: string
  readonly diskEffect: string
  readonly fix: readonly string[]
}

/** How long a note stays, 4 s. */
const NOTE_MS = 4000
/** Most notices at once; the oldest note makes room. */
const MAX = 4

export class Toasts {
  list = $state.raw<readonly Toast[]>([])
  #next = 1

  note(message: string): void {
    const id = this.#add({ kind: 'note', message, diskEffect: '', fix: [] })
    setTimeout(() => this.dismiss(id), NOTE_MS)
  }

  error(failure: Failure): void {
    if (this.list.some((toast) => toast.kind === 'error' && toast.message === failure.message)) return
    this.#add({ kind: 'error', message: failure.message, diskEffect: failure.diskEffect, fix: failure.fix })
  }

  dismiss(id: number): void {
    this.list = this.list.filter((toast) => toast.id !== id)
  }

  #add(toast: Omit<Toast, 'id'>): number {
    const id = this.#next++
    this.list = [...this.list, { ...toast, id }].slice(-MAX)
    return id
  }
}

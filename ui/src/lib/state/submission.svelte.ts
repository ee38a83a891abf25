import { asFailure, type Backend } from '../backend'
import type { ErrorDto } from '../generated/ErrorDto'
import type { ItemDto } from '../generated/ItemDto'
import type { TaskDto } from '../generated/TaskDto'
import { MAX_ITEMS, classifyPaste, measurePatch } from '../submit/paste'
import { t } from '../text/en'

/** Something on the list of the sheet. */
export interface Entry {
  readonly key: number
  /** What is sent: a path, address or name; or the text of a patch. */
  readonly source: { kind: 'item'; item: string } | { kind: 'patch'; text: string }
  /** What it turned out to be; none while it is looked at. */
  readonly seen: ItemDto | null
}

/** What hovers over the window. */
export interface Hover {
  readonly items: readonly string[]
  readonly seen: readonly ItemDto[] | null
}

const PATCH_LABEL = 'pasted.patch'

/** All ways in: drop, paste, browse, the sheet. */
export class Submission {
  open = $state(false)
  entries = $state.raw<readonly Entry[]>([])
  /** Said beside the field: too many, or already there. */
  remark = $state('')
  busy = $state(false)
  failure = $state.raw<ErrorDto | null>(null)
  hover = $state.raw<Hover | null>(null)

  readonly ready = $derived(
    this.entries.length > 0 &&
      !this.busy &&
      this.entries.every((entry) => entry.seen !== null && entry.seen.error === null),
  )

  readonly #backend: Backend
  readonly #queued: (tasks: readonly TaskDto[]) => void
  #next = 1

  constructor(backend: Backend, queued: (tasks: readonly TaskDto[]) => void) {
    this.#backend = backend
    this.#queued = queued
  }

  /** Opens the sheet. */
  show(): void {
    this.open = true
  }

  /** Closes the sheet and forgets the list. */
  close(): void {
    this.open = false
    this.entries = []
    this.remark = ''
    this.failure = null
  }

  /** Puts text from the field or the clipboard on the list; false when there is nothing in it. */
  addText(text: string): boolean {
    const pasted = classifyPaste(text)
    switch (pasted.kind) {
      case 'nothing':
        return false
      case 'patch':
        this.#addPatch(pasted.text)
        return true
      case 'items':
        void this.addItems(pasted.items)
        return true
    }
  }

  /** Puts paths, addresses or names on the list and has them looked at. */
  async addItems(items: readonly string[]): Promise<void> {
    this.remark = ''
    this.failure = null
    const known = new Set(this.entries.flatMap((entry) => (entry.source.kind === 'item' ? [entry.source.item] : [])))
    const fresh = [...new Set(items)].filter((item) => !known.has(item))
    if (fresh.length < items.length) this.remark = t.sheet.twice
    const taken = fresh.slice(0, Math.max(0, MAX_ITEMS - this.entries.length))
    if (taken.length < fresh.length) this.remark = t.sheet.tooMany(MAX_ITEMS)
    if (taken.length === 0) return
    const added = taken.map((item): Entry => ({ key: this.#next++, source: { kind: 'item', item }, seen: null }))
    this.entries = [...this.entries, ...added]
    let seen: readonly ItemDto[]
    try {
      seen = await this.#backend.classify(taken)
    } catch (thrown) {
      const { code, message, diskEffect, fix } = asFailure(thrown)
      const error = { code, message, disk_effect: diskEffect, fix: [...fix] }
      seen = taken.map((item) => ({ label: item, kind: null, summary: '', error }))
    }
    const byKey = new Map(added.map((entry, index) => [entry.key, seen[index] ?? null]))
    this.entries = this.entries.map((entry) =>
      byKey.has(entry.key) ? { ...entry, seen: byKey.get(entry.key) ?? null } : entry,
    )
  }

  remove(key: number): void {
    this.entries = this.entries.filter((entry) => entry.key !== key)
    this.remark = ''
    this.failure = null
  }

  /** Queues what is on the list, one by one. What was queued leaves it, so that a second try can't queue it twice. */
  async start(): Promise<void> {
    if (!this.ready) return
    this.busy = true
    this.failure = null
    const queued: TaskDto[] = []
    try {
      for (const entry of this.entries) {
        const { source } = entry
        if (source.kind === 'item') queued.push(...(await this.#backend.submitItems([source.item])))
        else queued.push(await this.#backend.submitText(source.text, PATCH_LABEL))
        this.entries = this.entries.filter((other) => other.key !== entry.key)
      }
      this.close()
    } catch (thrown) {
      const { code, message, diskEffect, fix } = asFailure(thrown)
      this.failure = { code, message, disk_effect: diskEffect, fix: [...fix] }
    } finally {
      this.busy = false
    }
    if (queued.length > 0) this.#queued(queued)
  }

  /** Drop and paste outside the sheet: starts at once when all of it can be reviewed, else opens the sheet on it. */
  async startOrShow(items: readonly string[]): Promise<void> {
    if (this.open || this.entries.length > 0) {
      this.open = true
      await this.addItems(items)
      return
    }
    await this.addItems(items)
    if (this.ready && this.remark === '') {
      await this.start()
      if (this.failure) this.open = true
    } else this.open = true
  }

  /** The same for pasted text. */
  async pasteOrShow(text: string): Promise<boolean> {
    const pasted = classifyPaste(text)
    switch (pasted.kind) {
      case 'nothing':
        return false
      case 'items':
        await this.startOrShow(pasted.items)
        return true
      case 'patch':
        this.#addPatch(pasted.text)
        if (this.open) return true
        await this.start()
        if (this.failure) this.open = true
        return true
    }
  }

  /** Asks the system for a file or folder and puts it on the list. */
  async browse(kind: 'file' | 'folder'): Promise<void> {
    const picked = await this.#backend.browse(kind)
    if (picked.length === 0) return
    this.open = true
    await this.addItems(picked)
  }

  /** Something came over the window. */
  async enter(items: readonly string[]): Promise<void> {
    const hover: Hover = { items, seen: items.length === 0 ? [] : null }
    this.hover = hover
    if (items.length === 0 || items.length > MAX_ITEMS) return
    let seen: readonly ItemDto[]
    try {
      seen = await this.#backend.classify([...items])
    } catch (thrown) {
      const { code, message, diskEffect, fix } = asFailure(thrown)
      const error = { code, message, disk_effect: diskEffect, fix: [...fix] }
      seen = items.map((label) => ({ label, kind: null, summary: '', error }))
    }
    // It may have left meanwhile.
    if (this.hover === hover) this.hover = { items, seen }
  }

  leave(): void {
    this.hover = null
  }

  /** It was let go. */
  async drop(items: readonly string[]): Promise<void> {
    this.hover = null
    if (items.length > 0) await this.startOrShow(items)
  }

  #addPatch(text: string): void {
    this.remark = ''
    this.failure = null
    if (this.entries.length >= MAX_ITEMS) {
      this.remark = t.sheet.tooMany(MAX_ITEMS)
      return
    }
    if (this.entries.some((entry) => entry.source.kind === 'patch' && entry.source.text === text)) {
      this.remark = t.sheet.twice
      return
    }
    const { files, added, removed } = measurePatch(text)
    const seen: ItemDto = {
      label: t.sheet.pasted,
      kind: 'text',
      summary: t.sheet.pastedSummary(files, added, removed),
      error: null,
    }
    this.entries = [...this.entries, { key: this.#next++, source: { kind: 'patch', text }, seen }]
  }
}

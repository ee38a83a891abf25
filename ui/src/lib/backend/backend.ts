import type { CheckDto } from '../generated/CheckDto'
import type { ErrorDto } from '../generated/ErrorDto'
import type { FindingDto } from '../generated/FindingDto'
import type { ItemDto } from '../generated/ItemDto'
import type { LogPageDto } from '../generated/LogPageDto'
import type { SnapshotDto } from '../generated/SnapshotDto'
import type { StatusDto } from '../generated/StatusDto'
import type { TaskDto } from '../generated/TaskDto'
import type { UpdateDto } from '../generated/UpdateDto'

/** A message of the subscription. `gone` says that the engine went away; a snapshot follows when it is back. */
export type StreamMessage =
  | { kind: 'snapshot'; body: SnapshotDto }
  | { kind: 'update'; body: UpdateDto }
  | { kind: 'gone'; body: ErrorDto | null }

/** What the window manager says about something dragged over the window; `items` are paths and addresses. */
export type DragMessage =
  { kind: 'enter'; items: string[] } | { kind: 'over' } | { kind: 'leave' } | { kind: 'drop'; items: string[] }

/** How urgent a task is. */
export type Priority = 'low' | 'normal' | 'high'

/** Form of an exported review. */
export type ExportFormat = 'markdown' | 'sarif' | 'json'

/** Ends what was begun. */
export type Stop = () => void

/**
 * Everything the UI asks of the world outside it. Calls that fail reject with a `Failure`.
 */
export interface Backend {
  /** Wall clock in milliseconds; fixed in tests. */
  now(): number
  /** Says that the first frame is drawn. */
  ready(): Promise<void>
  /**
   * A snapshot, then updates after it, in place of any subscription before. `since` is the newest
   * event number already known.
   */
  subscribe(since: number | null, on: (message: StreamMessage) => void): Promise<Stop>
  /** What the given paths, addresses or names are, in the given order. Submits nothing. */
  classify(items: string[]): Promise<ItemDto[]>
  /** Queues one review an item: all of them, or none and an error. */
  submitItems(items: string[]): Promise<TaskDto[]>
  /** Queues a review of a patch given as text. */
  submitText(text: string, label: string): Promise<TaskDto>
  /** Queues a review of the sample that comes with the app. */
  submitSample(): Promise<TaskDto>
  /** Lets the user pick in the system's dialog; empty when they changed their mind. */
  browse(kind: 'file' | 'folder'): Promise<string[]>
  /** One task with its coverage ledger. */
  showTask(task: number): Promise<TaskDto>
  /** All findings of a task so far. */
  findings(task: number): Promise<FindingDto[]>
  /** Whole lines of an attempt's log from a byte offset on, at most `limit` lines. */
  log(task: number, attempt: number, from: number, limit: number): Promise<LogPageDto>
  /** Stops a task; `now` skips the grace period. */
  cancel(task: number, now: boolean): Promise<void>
  /** Runs a resting task again, as a new one. */
  retry(task: number): Promise<TaskDto>
  /** Moves a waiting task up or down. */
  setPriority(task: number, priority: Priority): Promise<void>
  /** Holds new tasks, or lets them go on. */
  setPaused(paused: boolean): Promise<void>
  /** The engine as it is now. */
  status(): Promise<StatusDto>
  /** What this machine can do. */
  doctor(): Promise<CheckDto[]>
  /** Opens a reviewed file at a line. */
  openInEditor(task: number, file: string, line: number): Promise<void>
  /** A task's findings as text. */
  exportFindings(task: number, format: ExportFormat): Promise<string>
  /** Raises one notification. */
  testNotification(): Promise<void>
  /** Drag and drop as the window manager reports it, with real paths. */
  onDrag(on: (message: DragMessage) => void): Promise<Stop>
  /** Something outside the window (a notification, the tray, a second launch) asks for a task. */
  onOpenTask(on: (task: number) => void): Promise<Stop>
  /** Something the user asked for outside the window went wrong. */
  onProblem(on: (problem: ErrorDto) => void): Promise<Stop>
}

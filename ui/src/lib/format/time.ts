const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const date = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })
const dateWithYear = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })
const full = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })

/** Whether two instants fall on one calendar day here. */
export function sameDay(a: number, b: number): boolean {
  const left = new Date(a)
  const right = new Date(b)
  return (
    left.getFullYear() === right.getFullYear() &&
    left.getMonth() === right.getMonth() &&
    left.getDate() === right.getDate()
  )
}

/** A length as `0:07`, `3:41`, `1:02:09`. Never negative. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / SECOND))
  const s = String(seconds % 60).padStart(2, '0')
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes}:${s}`
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}:${s}`
}

/** An instant as `11:02` today, `28 Nov` this year, else with the year. */
export function moment(at: string, now: number): string {
  const ms = Date.parse(at)
  if (Number.isNaN(ms)) return ''
  if (sameDay(ms, now)) return clock.format(ms)
  return new Date(ms).getFullYear() === new Date(now).getFullYear() ? date.format(ms) : dateWithYear.format(ms)
}

/** An instant in full, for tooltips. */
export function instant(at: string): string {
  const ms = Date.parse(at)
  return Number.isNaN(ms) ? '' : full.format(ms)
}

/** What is left until an absolute instant. Counting from it, not down, so that a sleep or a late frame can't skew it. */
export type Countdown = { kind: 'due' } | { kind: 'in'; ms: number } | { kind: 'at'; clock: string }

/** Above this a countdown becomes a clock time, 10 min. */
export const COUNTDOWN_MAX_MS = 10 * MINUTE

/** The countdown to `at`. */
export function countdown(at: string, now: number): Countdown {
  const left = Date.parse(at) - now
  if (Number.isNaN(left) || left <= 0) return { kind: 'due' }
  if (left > COUNTDOWN_MAX_MS) return { kind: 'at', clock: moment(at, now) }
  return { kind: 'in', ms: left }
}

/** A short length in words: `14 s`, `3:41`. */
export function brief(ms: number): string {
  const seconds = Math.ceil(ms / SECOND)
  return seconds < 60 ? `${seconds} s` : duration(seconds * SECOND)
}

/** How long ago, roughly: `now`, `6m`, `3h`, `2d`. */
export function ago(at: string, now: number): string {
  const ms = Math.max(0, now - Date.parse(at))
  if (Number.isNaN(ms)) return ''
  if (ms < MINUTE) return 'now'
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)}m`
  if (ms < 24 * HOUR) return `${Math.floor(ms / HOUR)}h`
  return `${Math.floor(ms / (24 * HOUR))}d`
}

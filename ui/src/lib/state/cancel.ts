/** Within this after the first press, a second press offers to stop without grace; after it, it is offered anyway. 10 s. */
export const GRACE_MS = 10_000

/** What this window asked of a task. */
export interface Asked {
  /** When the first press came. */
  readonly at: number
  /** Presses so far. */
  readonly presses: number
}

/** What the cancel button is. */
export type CancelStage = 'cancel' | 'stopping' | 'stop_now'

/** The stage of the button: cancel, then stopping, then stop now. */
export function stage(asked: Asked | undefined, now: number): CancelStage {
  if (!asked) return 'cancel'
  return asked.presses > 1 || now - asked.at >= GRACE_MS ? 'stop_now' : 'stopping'
}

/** One press: what to ask of the engine, and what is remembered. */
export function press(asked: Asked | undefined, now: number): { asked: Asked; ask: 'cancel' | 'stop_now' | null } {
  switch (stage(asked, now)) {
    case 'cancel':
      return { asked: { at: now, presses: 1 }, ask: 'cancel' }
    case 'stopping':
      return { asked: { at: asked?.at ?? now, presses: 2 }, ask: null }
    case 'stop_now':
      return { asked: { at: asked?.at ?? now, presses: (asked?.presses ?? 1) + 1 }, ask: 'stop_now' }
  }
}

import { describe, expect, it } from 'vitest'
import { GRACE_MS, press, stage } from './cancel'

describe('cancel', () => {
  it('asks once, then offers to stop now at a second press, then stops now', () => {
    const first = press(undefined, 1000)
    expect(first.ask).toBe('cancel')
    expect(stage(first.asked, 1500)).toBe('stopping')
    const second = press(first.asked, 2000)
    expect(second.ask).toBeNull()
    expect(stage(second.asked, 2000)).toBe('stop_now')
    expect(press(second.asked, 2500).ask).toBe('stop_now')
  })

  it('offers to stop now by itself when the grace period is over', () => {
    const { asked } = press(undefined, 0)
    expect(stage(asked, GRACE_MS - 1)).toBe('stopping')
    expect(stage(asked, GRACE_MS)).toBe('stop_now')
    expect(press(asked, GRACE_MS).ask).toBe('stop_now')
  })

  it('is a plain cancel before any press', () => {
    expect(stage(undefined, 0)).toBe('cancel')
  })
})

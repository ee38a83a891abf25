/**
 * The time as the screen shows it: once a second, only while the window is seen and somebody counts.
 * A hidden or idle window wakes for nothing.
 */
export class Clock {
  /** Milliseconds; a multiple of nothing, straight from the source. */
  now = $state(0)
  readonly #source: () => number
  #timer: ReturnType<typeof setInterval> | null = null
  #wanted = false

  constructor(source: () => number) {
    this.#source = source
    this.now = source()
    document.addEventListener('visibilitychange', () => this.#settle())
  }

  /** Whether anything on screen counts seconds. */
  want(wanted: boolean): void {
    this.#wanted = wanted
    this.#settle()
  }

  /** The exact time now, beside the ticks. */
  read(): number {
    return this.#source()
  }

  #settle(): void {
    const run = this.#wanted && document.visibilityState === 'visible'
    this.now = this.#source()
    if (run && this.#timer === null) this.#timer = setInterval(() => (this.now = this.#source()), 1000)
    if (!run && this.#timer !== null) {
      clearInterval(this.#timer)
      this.#timer = null
    }
  }
}

import { asFailure, type Backend } from '../backend'

/** Lines asked for at once; the engine gives at most so many. */
const PAGE = 5000

/** An attempt's log, pulled page by page from a byte offset on. */
export class LogReader {
  readonly task: number
  readonly attempt: number
  lines = $state.raw<readonly string[]>([])
  loaded = $state(false)
  problem = $state<string | null>(null)

  readonly #backend: Backend
  #next = 0
  #pulling = false
  #again = false
  #closed = false

  constructor(backend: Backend, task: number, attempt: number) {
    this.#backend = backend
    this.task = task
    this.attempt = attempt
  }

  /** Reads on to the end of the log. Calls that come meanwhile fold into one more round. */
  async pull(): Promise<void> {
    if (this.#pulling) {
      this.#again = true
      return
    }
    this.#pulling = true
    try {
      for (;;) {
        this.#again = false
        const page = await this.#backend.log(this.task, this.attempt, this.#next, PAGE)
        if (this.#closed) return
        const moved = page.next > this.#next
        if (page.lines.length > 0) this.lines = this.lines.concat(page.lines)
        this.#next = page.next
        this.problem = null
        if (page.next >= page.size || !moved) {
          this.loaded = true
          if (!this.#again) return
        }
      }
    } catch (thrown) {
      this.problem = asFailure(thrown).message
      this.loaded = true
    } finally {
      this.#pulling = false
    }
  }

  /** Drops late answers. */
  close(): void {
    this.#closed = true
  }
}

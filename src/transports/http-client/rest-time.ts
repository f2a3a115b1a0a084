// How long a connection may rest before it is used again, as far as its server lets us know.
//
// Many servers close connections that rest, and do not say after what time. A request
// that meets such an end may be lost, and most may not be sent twice. So what has
// happened once is believed for a while: connections rest for half of the time after
// which one was closed, or not at all. A server that was only started anew gets
// its trust back soon, and one that goes on so ever later.

/** A connection that may rest for less is closed at once. */
const REST_MS_MIN = 20

const BELIEVED_MS_MIN = 60_000
const BELIEVED_MS_MAX = 3_600_000

/** Learns from the ends of connections that rested. */
export class RestTime {
  readonly #msMax: number
  readonly #now: () => number
  #ms: number
  #believedMs = BELIEVED_MS_MIN
  #until = 0

  constructor(msMax: number, now: () => number) {
    this.#msMax = msMax
    this.#ms = msMax
    this.#now = now
  }

  /** How long a connection may rest now; 0 when it may not. */
  get ms(): number {
    if (this.#ms !== this.#msMax && this.#now() >= this.#until) this.#ms = this.#msMax
    return this.#ms
  }

  now(): number {
    return this.#now()
  }

  /** The server has closed a connection that had rested since then. */
  ended(restedSince: number): void {
    const now = this.#now()
    const half = (now - restedSince) / 2
    const { ms } = this
    if (half >= ms) return
    // Those that end together, or on the way of one belief, are one event.
    if (now >= this.#until) {
      const isAgain = this.#until > 0 && now - this.#until < this.#believedMs
      this.#believedMs = isAgain ? Math.min(this.#believedMs * 4, BELIEVED_MS_MAX) : BELIEVED_MS_MIN
      this.#until = now + this.#believedMs
    }
    this.#ms = half < REST_MS_MIN ? 0 : half
  }
}

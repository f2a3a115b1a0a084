// Warnings about heavy use, each kind at most once a minute, with a count of the others.

/** How often the same is said at most. */
const NOTICE_MS = 60_000

interface Notice {
  readonly saidMs: number
  /** How often it was not said since. */
  unsaid: number
}

/** Says things of a few kinds, each now and then. */
export class RareWarnings<Kind extends string> {
  readonly #now: () => number
  readonly #say: (message: string) => void
  readonly #notices = new Map<Kind, Notice>()

  constructor(now: () => number, say: (message: string) => void) {
    this.#now = now
    this.#say = say
  }

  note(kind: Kind, message: string): void {
    const nowMs = this.#now()
    const last = this.#notices.get(kind)
    if (last !== undefined && nowMs - last.saidMs < NOTICE_MS) {
      last.unsaid++
      return
    }
    const before =
      last === undefined || last.unsaid === 0 ? '' : `; so ${last.unsaid} times more since the last such line`
    this.#notices.set(kind, { saidMs: nowMs, unsaid: 0 })
    this.#say(message + before)
  }
}

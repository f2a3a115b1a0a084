// Warnings about requests and connections: each kind, from each origin, at most once a minute, with a count of the others.

import type { HttpEnvironment } from './endpoint.js'

const INTERVAL_MS = 60_000

/** The number of separate origins. Beyond that many within a minute, all others of a kind share one line a minute. */
const ORIGINS_MAX = 100

/** Refused pages, names and tokens; connections that are closed for new ones. */
type WarningKind = 'page' | 'name' | 'token' | 'full'

interface Warned {
  readonly atMs: number
  unsaid: number
}

export class RareWarnings {
  readonly #environment: Pick<HttpEnvironment, 'now' | 'warn'>
  /** By kind and origin, the oldest first. */
  readonly #warned = new Map<string, Warned>()

  constructor(environment: Pick<HttpEnvironment, 'now' | 'warn'>) {
    this.#environment = environment
  }

  /** `origin` is who causes the warning: an address, a name, a page. */
  note(kind: WarningKind, message: string, origin = ''): void {
    const nowMs = this.#environment.now()
    const key = this.#keyFor(kind, origin, nowMs)
    const last = this.#warned.get(key)
    if (last !== undefined && nowMs - last.atMs < INTERVAL_MS) {
      last.unsaid++
      return
    }
    const before =
      last === undefined || last.unsaid === 0 ? '' : `; so ${last.unsaid} times more since the last such line`
    this.#warned.delete(key)
    this.#warned.set(key, { atMs: nowMs, unsaid: 0 })
    this.#environment.warn(message + before)
  }

  #keyFor(kind: WarningKind, origin: string, nowMs: number): string {
    const own = `${kind} ${origin}`
    if (this.#warned.has(own) || this.#warned.size < ORIGINS_MAX) return own
    for (const [key, { atMs }] of this.#warned) {
      if (nowMs - atMs < INTERVAL_MS) break
      this.#warned.delete(key)
    }
    return this.#warned.size < ORIGINS_MAX ? own : kind
  }
}

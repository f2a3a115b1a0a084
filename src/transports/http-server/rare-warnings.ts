// Warnings about requests and connections, at most once a minute for each kind and origin.

import type { HttpEnvironment } from './endpoint.js'

const INTERVAL_MS = 60_000

/** The number of separate origins. Above it, all other origins of a kind share one line a minute. */
const ORIGINS_MAX = 100

/** Refused pages, names and tokens, and connections that were closed for new ones. */
type WarningKind = 'page' | 'name' | 'token' | 'full'

export class RareWarnings {
  readonly #environment: Pick<HttpEnvironment, 'now' | 'warn'>
  /** The times of the warnings of the last minute, by kind and origin; the oldest first. */
  readonly #warnedMs = new Map<string, number>()

  constructor(environment: Pick<HttpEnvironment, 'now' | 'warn'>) {
    this.#environment = environment
  }

  /** `origin` is the cause of the warning: an address, a name, or a page. */
  note(kind: WarningKind, message: string, origin = ''): void {
    const nowMs = this.#environment.now()
    for (const [key, atMs] of this.#warnedMs) {
      if (nowMs - atMs < INTERVAL_MS) break
      this.#warnedMs.delete(key)
    }
    const own = `${kind} ${origin}`
    const key = this.#warnedMs.has(own) || this.#warnedMs.size < ORIGINS_MAX ? own : kind
    if (this.#warnedMs.has(key)) return
    this.#warnedMs.set(key, nowMs)
    this.#environment.warn(message)
  }
}

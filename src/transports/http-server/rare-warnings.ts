// Warnings about heavy use, each kind at most once a minute, with a count of the others.

import type { HttpSurroundings } from './endpoint.js'

/** How often the same is said at most. */
const NOTICE_MS = 60_000

/** Requests of pages or for names that are refused; connections that go for new ones. */
type WarningKind = 'page' | 'name' | 'full' | 'network'

/** Says things of a few kinds, each now and then. */
export class RareWarnings {
  readonly #around: Pick<HttpSurroundings, 'now' | 'warn'>
  /** When each was said, and how often it was not said since. */
  readonly #notices = new Map<WarningKind, { readonly saidMs: number; unsaid: number }>()

  constructor(around: Pick<HttpSurroundings, 'now' | 'warn'>) {
    this.#around = around
  }

  note(kind: WarningKind, message: string): void {
    const nowMs = this.#around.now()
    const last = this.#notices.get(kind)
    if (last !== undefined && nowMs - last.saidMs < NOTICE_MS) {
      last.unsaid++
      return
    }
    const before =
      last === undefined || last.unsaid === 0 ? '' : `; so ${last.unsaid} times more since the last such line`
    this.#notices.set(kind, { saidMs: nowMs, unsaid: 0 })
    this.#around.warn(message + before)
  }
}

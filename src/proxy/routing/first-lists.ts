// How long a list waits for servers that are starting and of which nothing is known.
//
// Most clients list once, right after `initialize`. What is not there then, they
// never see.

import type { ListKind } from '../../mcp/methods/method-row.js'
import type { Runtime } from '../../runtime/runtime.js'
import type { CallTarget } from '../../upstream/contracts/upstream.js'
import { within } from '../../runtime/within.js'

export interface FirstListsParts {
  /** In configuration order; a reload changes them. */
  lanes(): readonly Pick<CallTarget, 'view' | 'knows'>[]
  /** How long lists wait from the start of the servers on. */
  readonly startupGraceMs: number
  readonly runtime: Runtime
}

/** The waits of one client's lists. */
export class FirstLists {
  readonly #parts: FirstListsParts
  #endsAt: number
  /** One for all lists of the same kinds. */
  readonly #waits = new Map<string, Promise<void>>()

  constructor(parts: FirstListsParts) {
    this.#parts = parts
    this.#endsAt = this.#graceEnd()
  }

  /** Resolves when every server has listed these or could not, or the grace is over; undefined when that is so. */
  shown(kinds: readonly ListKind[]): Promise<void> | undefined {
    this.#wake(kinds)
    const pending = this.#parts
      .lanes()
      .flatMap((lane) => kinds.flatMap((kind) => lane.view.pending(kind) ?? []))
    return this.#within(`shown ${kinds.join(' ')}`, pending)
  }

  /** The same, for a call that must not rely on what was kept of an earlier start. */
  said(kinds: readonly ListKind[]): Promise<void> | undefined {
    this.#wake(kinds)
    const expected = this.#parts.lanes().filter((lane) => lane.view.expected)
    const reading = expected.flatMap((lane) =>
      kinds.flatMap((kind) => (lane.knows(kind) ? [] : (lane.view.reading(kind) ?? []))),
    )
    return this.#within(`said ${kinds.join(' ')}`, reading)
  }

  /** Resolves when all that is on its way has come, or the grace is over; undefined when nothing is. */
  settled(): Promise<void> | undefined {
    const coming = this.#parts.lanes().filter(({ view }) => view.expected)
    return this.#within(
      'settled',
      coming.flatMap(({ view }) => view.listed ?? []),
    )
  }

  /** Servers that start when somebody wants to know what they have start now, and have the whole grace. */
  #wake(kinds: readonly ListKind[]): void {
    const woken = this.#parts.lanes().filter((lane) => lane.view.wake(kinds))
    if (woken.length > 0) this.#endsAt = this.#graceEnd()
  }

  #within(what: string, pending: readonly Promise<void>[]): Promise<void> | undefined {
    const { runtime } = this.#parts
    const leftMs = this.#endsAt - runtime.now()
    if (pending.length === 0 || leftMs <= 0) return undefined
    const key = `${what} ${this.#endsAt}`
    const known = this.#waits.get(key)
    if (known !== undefined) return known
    const wait = within(Promise.all(pending), leftMs, runtime).then(() => void this.#waits.delete(key))
    this.#waits.set(key, wait)
    return wait
  }

  #graceEnd(): number {
    return this.#parts.runtime.now() + this.#parts.startupGraceMs
  }
}

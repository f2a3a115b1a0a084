// Clients that share all of their servers see the same names, so they share the tables of them too.
//
// A session that only makes one call would spend more on these tables than on the call.

import { Catalog } from './catalog.js'
import type { LogSink } from '../../runtime/runtime.js'
import type { Lane } from '../../upstream/contracts/upstream.js'

/** The catalogs of a proxy's clients. */
export class Catalogs {
  readonly #log: LogSink
  readonly #next = (): number => ++this.#last
  /** Counts the states of all catalogs: a cursor of one is none of another. */
  #last = 0
  #shared: { readonly lanes: readonly Lane[]; readonly catalog: Catalog } | undefined

  constructor(log: LogSink) {
    this.#log = log
  }

  /** What a client with these lanes can call. */
  of(lanes: readonly Lane[]): Catalog {
    if (!lanes.every((lane) => lane.shared)) return this.#make(lanes)
    if (this.#shared !== undefined && isSame(this.#shared.lanes, lanes)) {
      this.#shared.catalog.catchUp()
      return this.#shared.catalog
    }
    const catalog = this.#make(lanes)
    this.#shared = { lanes, catalog }
    return catalog
  }

  /** What is shown of the servers may differ from now on. */
  renew(): void {
    this.#shared = undefined
  }

  #make(lanes: readonly Lane[]): Catalog {
    return new Catalog(lanes, this.#log, this.#next)
  }
}

function isSame(lanes: readonly Lane[], others: readonly Lane[]): boolean {
  return lanes.length === others.length && lanes.every((lane, at) => lane === others[at])
}

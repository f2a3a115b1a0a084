// The ids that the proxy lends to one connection.
//
// A client chooses its ids freely, so two clients may both have a request 1 in
// flight. An upstream that serves several never sees either: it sees integers
// minted here, and the client's own id bytes wait in the entry until the
// response comes back. Where a connection carries one client, the client's own
// id is lent as long as it is free and every writer would echo it unchanged, so
// that nothing has to be edited.

import { BriefMap } from './brief-map.js'
import { type MintedId, type RequestId, canonical, isCanonical, numericId } from './request-id.js'

/** How many given-up ids are remembered, so that a late answer finds no other request. */
const RETIRED_MAX = 1024

/** Clients that count do not come this far; beyond it there would be nothing left to mint. */
const LENT_MAX = 2 ** 48

/** Requests sent to a peer that has not answered them yet. */
export class Inflight<E> {
  readonly #entries = new BriefMap<RequestId, E>()
  readonly #retired = new Set<RequestId>()
  readonly #inflightMax: number
  #last = 0

  constructor(inflightMax: number) {
    this.#inflightMax = inflightMax
  }

  get size(): number {
    return this.#entries.size
  }

  /**
   * Lends an id for a request and remembers who asked.
   *
   * Lends `own` itself where that is given and free. Lends nothing once
   * `inflightMax` requests are out: only the caller knows how to say so.
   */
  mint(entry: E, own?: RequestId): MintedId | undefined {
    if (this.#entries.size >= this.#inflightMax) return undefined
    const lent = own !== undefined && this.#isFree(own) && isCanonical(own)
    if (lent) this.#noteLent(own)
    const id = lent ? own : this.#next()
    this.#entries.set(id, entry)
    return id
  }

  /** The entry that an answer with this id settles; gone afterwards. */
  take(id: RequestId): E | undefined {
    const entry = this.#entries.take(id)
    if (entry !== undefined) return entry
    const key = canonical(id)
    this.#retired.delete(key)
    return this.#entries.take(key)
  }

  get(id: RequestId): E | undefined {
    return this.#entries.get(id) ?? this.#entries.get(canonical(id))
  }

  /** Stops waiting for an answer that may still come. */
  retire(id: RequestId): void {
    if (this.#entries.take(id) === undefined) return
    this.#retired.add(id)
    if (this.#retired.size <= RETIRED_MAX) return
    for (const oldest of this.#retired) {
      this.#retired.delete(oldest)
      return
    }
  }

  values(): IterableIterator<E> {
    return this.#entries.values()
  }

  /** Everything that waits, for the one reason why nothing will be answered any more. */
  drain(): E[] {
    return this.#entries.drain()
  }

  /** What is minted for others must not be what a late or second answer to this one has. */
  #noteLent(own: RequestId): void {
    const count = Number(own)
    if (count > this.#last && count < LENT_MAX) this.#last = count
  }

  #isFree(id: RequestId): boolean {
    return !this.#entries.has(id) && !this.#retired.has(id)
  }

  #next(): MintedId {
    let id = numericId(++this.#last)
    while (!this.#isFree(id)) id = numericId(++this.#last)
    return id
  }
}

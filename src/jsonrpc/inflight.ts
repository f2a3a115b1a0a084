// The ids that the proxy lends to one connection.
//
// A client chooses its ids freely, so two clients may both have a request 1 in
// flight. An upstream that serves several never sees either: it sees integers
// minted here, and the client's own id bytes wait in the entry until the
// response comes back. On a connection of one client, the client's own
// id is lent as long as it is free and every writer would echo it unchanged, so
// that nothing has to be edited.

import { ChurnMap } from './churn-map.js'
import { type RequestId, canonical, isCanonical, numericId, ofOtherType } from './request-id.js'

/** How many ids are remembered that were given up, or minted where clients' own are lent. */
const SPENT_MAX = 2048

/** Requests sent to a peer that has not answered them yet. */
export class Inflight<E> {
  readonly #entries = new ChurnMap<RequestId, E>()
  /**
   * Ids that are not lent, so that an answer which comes late, or twice, finds no other request.
   *
   * Undefined until the first: most connections have none.
   */
  #spent: RecentSet<RequestId> | undefined
  readonly #inflightMax: number
  #last = 0

  constructor(inflightMax: number) {
    this.#inflightMax = inflightMax
  }

  get size(): number {
    return this.#entries.size
  }

  /**
   * Lends an id for a request and remembers its entry.
   *
   * Lends the client's id `own` itself where that is given and free; `wasLent` says that the other end has had it before,
   * so that it is not lent again.
   * Returns undefined once `inflightMax` such requests are out.
   */
  mint(entry: E, own?: RequestId, wasLent = false): RequestId | undefined {
    if (this.size >= this.#inflightMax) return undefined
    const lent = own !== undefined && !wasLent && this.#isFree(own) && isCanonical(own)
    const count = lent ? Number(own) : 0
    if (count > this.#last && count < LENT_MAX) this.#last = count
    const id = lent ? own : own === undefined ? this.#next() : this.#aside()
    this.#entries.set(id, entry)
    return id
  }

  /** An id for a request of the proxy's own, which no client's will be; there is room for these beside the others. */
  mintOwn(entry: E): RequestId | undefined {
    if (this.size >= 2 * this.#inflightMax) return undefined
    const id = this.#next()
    this.#entries.set(id, entry)
    this.#spend(id)
    return id
  }

  /** The entry that an answer with this id settles; gone afterwards. */
  take(id: RequestId): E | undefined {
    return this.#entries.take(this.#entries.has(id) ? id : this.#otherKey(id))
  }

  get(id: RequestId): E | undefined {
    return this.#entries.get(id) ?? this.#entries.get(this.#otherKey(id))
  }

  get ids(): RequestId[] {
    return [...this.#entries.keys()]
  }

  get only(): RequestId | undefined {
    const [only] = this.size === 1 ? this.#entries.keys() : []
    return only
  }

  /** Stops waiting for an answer that may still come; gives who waited. */
  retire(written: RequestId): E | undefined {
    const id = this.#entries.has(written) ? written : this.#otherKey(written)
    const entry = this.#entries.take(id)
    if (entry !== undefined) this.#spend(id)
    return entry
  }

  /** The client's own id is in use. The id minted here is far from those that the client will choose next. */
  #aside(): RequestId {
    this.#last = Math.max(this.#last, MINTED_FROM)
    const id = this.#next()
    this.#spend(id)
    return id
  }

  #spend(id: RequestId): void {
    this.#spent ??= new RecentSet(SPENT_MAX)
    this.#spent.add(id)
  }

  /** The key of an id that is spelled differently: some servers answer the number 7 as "7". */
  #otherKey(id: RequestId): RequestId {
    const key = canonical(id)
    const isKnown = this.#entries.has(key) || this.#spent?.all.has(key) === true
    return isKnown ? key : ofOtherType(key)
  }

  #isFree(id: RequestId): boolean {
    return !this.#entries.has(id) && this.#spent?.all.has(id) !== true
  }

  #next(): RequestId {
    let id = numericId(++this.#last)
    while (!this.#isFree(id)) id = numericId(++this.#last)
    return id
  }
}

// Lent ids and lent progress tokens share two rules: the number from which they are minted beside the ones that a
// peer chose, and a memory of the latest ones that were given up.

/**
 * The first number that is minted beside the numbers that clients chose.
 *
 * Clients that count do not come this far for long, and servers that keep numbers in 32 bits are at ease with it.
 */
export const MINTED_FROM = 1_000_000_000

/**
 * A borrowed id below this raises the mint counter, so that a minted id never equals a borrowed one that the peer may
 * still mention.
 *
 * Clients that count do not come this far; beyond it there would be nothing left to mint.
 */
export const LENT_MAX: number = 2 ** 48

/** The last few values of a kind, which a late message may still name; beyond `max` the oldest is forgotten. */
export class RecentSet<T> {
  readonly #max: number
  readonly #ones = new Set<T>()
  readonly all: ReadonlySet<T> = this.#ones

  constructor(max: number) {
    this.#max = max
  }

  add(one: T): void {
    this.#ones.add(one)
    if (this.#ones.size <= this.#max) return
    for (const oldest of this.#ones) {
      this.#ones.delete(oldest)
      return
    }
  }
}

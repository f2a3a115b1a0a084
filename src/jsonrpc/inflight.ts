// The requests on one connection that wait for an answer.
//
// Clients choose their ids freely, so two clients may both have a request 1 in flight. Their server sees
// integers minted here, each once on a connection, so that an answer which comes late, or twice, finds no other request. The
// sender gets back the bytes of its own id.

import { ChurnMap } from './churn-map.js'
import { type RequestId, canonical, numericId, ofOtherType, textId } from './request-id.js'

/** Requests sent to a peer that has not answered them yet. */
export class Inflight<E> {
  readonly #entries = new ChurnMap<RequestId, E>()
  readonly #inflightMax: number
  readonly #prefix: string | undefined
  #last = 0

  /** With a prefix, the ids are texts that begin with it. */
  constructor(inflightMax: number, prefix?: string) {
    this.#inflightMax = inflightMax
    this.#prefix = prefix
  }

  get size(): number {
    return this.#entries.size
  }

  /** Remembers the entry of a request; gives its id, or undefined once `inflightMax` requests are out, or twice as many where it `isOwn`. */
  mint(entry: E, isOwn = false): RequestId | undefined {
    if (this.size >= this.#inflightMax * (isOwn ? 2 : 1)) return undefined
    const number = ++this.#last
    const id = this.#prefix === undefined ? numericId(number) : textId(`${this.#prefix}:${number}`)
    this.#entries.set(id, entry)
    return id
  }

  /** The entry that an answer with this id settles; gone afterwards. */
  take(id: RequestId): E | undefined {
    return this.#entries.take(id) ?? this.#entries.take(numeric(id))
  }

  get(id: RequestId): E | undefined {
    return this.#entries.get(id) ?? this.#entries.get(numeric(id))
  }

  get ids(): RequestId[] {
    return [...this.#entries.keys()]
  }

  get only(): RequestId | undefined {
    const [only] = this.size === 1 ? this.#entries.keys() : []
    return only
  }
}

/** The id as it was minted: some servers answer the number 7 as 7.0 or "7". */
function numeric(id: RequestId): RequestId {
  const key = canonical(id)
  return key.startsWith('"') ? ofOtherType(key) : key
}

// The requests on one connection that wait for an answer.
//
// Clients choose their ids freely, so two clients may both have a request 1 in flight. The server sees
// integers that the proxy assigns, each once per connection. So a late or repeated answer matches no other
// request. The client gets back the bytes of the id that it sent.

import { ChurnMap } from './churn-map.js'
import { type RequestId, canonical, numericId, ofOtherType, textId } from './request-id.js'

/** Requests sent to a peer that has not answered them yet. */
export class Inflight<E> {
  readonly #entries = new ChurnMap<RequestId, E>()
  readonly #inflightMax: number
  readonly #prefix: string | undefined
  #last = 0

  /** With a prefix, the ids are strings that begin with it. */
  constructor(inflightMax: number, prefix?: string) {
    this.#inflightMax = inflightMax
    this.#prefix = prefix
  }

  get size(): number {
    return this.#entries.size
  }

  /** Stores a request and returns its new id; undefined above `inflightMax`, or twice that for the proxy's requests. */
  mint(entry: E, isOwn = false): RequestId | undefined {
    if (this.size >= this.#inflightMax * (isOwn ? 2 : 1)) return undefined
    const number = ++this.#last
    const id = this.#prefix === undefined ? numericId(number) : textId(`${this.#prefix}:${number}`)
    this.#entries.set(id, entry)
    return id
  }

  /** Removes and returns the entry of the request with this id. */
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

/** Returns the id as the proxy assigned it: some servers answer the number 7 as 7.0 or "7". */
function numeric(id: RequestId): RequestId {
  const key = canonical(id)
  return key.startsWith('"') ? ofOtherType(key) : key
}

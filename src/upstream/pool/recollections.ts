// The kept facts of one server, for each of its lanes.

import { type ClientCapabilities, capabilitySet } from '../../mcp/capabilities.js'
import type { ServerFacts } from '../../mcp/eras/leg.js'
import { Descriptions } from './described.js'
import type { KeptServer } from '../contracts/kept.js'
import type { Listing } from './listing.js'
import { Recollection } from './recollection.js'

/** Makes the recollections of a server's lanes. */
export class Recollections {
  readonly #kept: KeptServer | undefined
  readonly #descriptions: Descriptions
  readonly #peers = new Map<string, Set<Recollection>>()

  /** `recall` reads the result of a handshake. */
  constructor(kept: KeptServer | undefined, recall: (handshake: Uint8Array) => ServerFacts | undefined) {
    this.#kept = kept
    this.#descriptions = new Descriptions(recall)
  }

  /** Whether something can be shown of the server before it has started. */
  get isDescribed(): boolean {
    return this.#kept?.isDescribed ?? false
  }

  /** Of a lane whose server is told that its clients can do this. */
  of(listing: Listing, declared: ClientCapabilities): Recollection {
    const set = capabilitySet(declared)
    const peers = this.#peers.get(set) ?? new Set()
    this.#peers.set(set, peers)
    return new Recollection({ listing, kept: this.#kept, set, descriptions: this.#descriptions, peers })
  }
}

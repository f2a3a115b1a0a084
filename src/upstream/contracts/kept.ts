// The interface to kept facts.

import type { ListKind } from '../../mcp/methods/method-row.js'
import type { ServerConfig } from './server-config.js'

/** A server's own words, as raw JSON; none of them has a line feed outside of its tokens that matters. */
export interface SelfDescription {
  /** The result of the handshake. */
  readonly handshake: Uint8Array
  /** The items of each list that was read, in the server's order. */
  readonly lists: ReadonlyMap<ListKind, readonly Uint8Array[]>
  /** Whether it did not answer what it speaks, or has ended on that question. */
  readonly isShy: boolean
}

/** The kept facts of one server for clients with one set of capabilities. */
export interface KeptFacts {
  /** Whether it answered when it was started last; one that did not is not waited for. */
  readonly answered: boolean
  /** Undefined when it has never said, or has not answered twice in a row. */
  readonly description: SelfDescription | undefined
}

/** The kept facts of one server, by sets of capabilities (`capabilitySet`). */
export interface KeptServer {
  /** Whether something can be shown of it, to clients of any set. */
  readonly isDescribed: boolean
  /** Whether it is better not asked what it speaks, whatever its clients can be asked. */
  readonly isShy: boolean
  recall(set: string): KeptFacts | undefined
  /** Takes the place of what was kept for this set; the buffers are not changed by anybody afterwards. */
  keep(set: string, facts: KeptFacts): void
}

/** The store of kept facts; made outside of this layer, because it may use a disk. */
export interface KeptServers {
  /** Of a server as it is configured; undefined when nothing is to be kept of it. */
  of(config: ServerConfig): KeptServer | undefined
}

// The interface to kept facts.

import type { ListKind } from '../../mcp/methods.js'
import type { ServerConfig } from './server-config.js'

/** A server's own words: raw JSON, as the server sent it. */
export interface SelfDescription {
  /** The result of the handshake. */
  readonly handshake: Uint8Array
  /** The items of each list that was read, in the server's order. */
  readonly lists: ReadonlyMap<ListKind, readonly Uint8Array[]>
  /** Whether it did not answer the question which revisions it speaks, or has ended on it. */
  readonly probeFailed: boolean
}

/** The kept facts of one server. */
export interface KeptFacts {
  /** Why its last start failed, unless the proxy ended it early. Lists do not wait for a server whose last start failed. */
  readonly failure: string | undefined
  /** Undefined when it has never listed, or has failed twice in a row. */
  readonly description: SelfDescription | undefined
}

export interface KeptServer {
  /** Undefined before its first start. */
  readonly facts: KeptFacts | undefined
  /** Replaces them; the caller does not change the buffers afterwards. */
  keep(facts: KeptFacts): void
}

/** The store of kept facts; made outside of this layer, because it may use a disk. */
export interface KeptServers {
  of(config: ServerConfig): KeptServer
  flush(): void
}

// The interface to the facts that the proxy keeps from one start to the next.

import type { ListKind } from '../../mcp/methods.js'
import type { ServerConfig } from './server-config.js'

/** The answers in which a server describes itself: raw JSON, as the server sent it. */
export interface SelfDescription {
  readonly handshake: Uint8Array
  /** The items of each list that was read, in the server's order. */
  readonly lists: ReadonlyMap<ListKind, readonly Uint8Array[]>
  /** Whether the server gave no answer to `server/discover`, or ended on it. */
  readonly probeFailed: boolean
}

export interface KeptFacts {
  /** Why the last start failed, unless the proxy ended it early. Lists do not wait for such a server. */
  readonly failure: string | undefined
  /** Undefined if the server has never listed, or has failed twice in a row. */
  readonly description: SelfDescription | undefined
}

export interface KeptServer {
  /** Undefined before the first start of the server. */
  readonly facts: KeptFacts | undefined
  /** Replaces the facts; the caller does not change the buffers afterwards. */
  keep(facts: KeptFacts): void
}

/** The store of kept facts. It is made outside of this layer, because it may use a disk. */
export interface KeptServers {
  of(config: ServerConfig): KeptServer
  flush(): void
}

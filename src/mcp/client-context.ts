// The facts of a client at the time of a call.

import type { TransportName } from '../jsonrpc/connection.js'
import type { ClientCapabilities, ClientInfo } from './capabilities.js'
import type { Revision } from './revisions.js'

/** The properties of a client that are known before its first message. */
export interface ClientOrigin {
  /** The protocol revision of one that may call without initializing. */
  readonly version?: string | undefined
  /** The identity that the front has found, the same on every instance, and never a secret. */
  readonly principal?: string | undefined
  /** Whether several clients may share the principal, as those do that show one token. */
  readonly isSeveral?: boolean
  /** The part of the servers that it sees, as in `profile:review` or `server:github`; undefined is everything. */
  readonly view?: string | undefined
  readonly address?: string | undefined
  /** Undefined where its connection does not say. */
  readonly transport?: TransportName | undefined
  /** How long the client had waited when it was attached: one on stdio counts from the start of the process. */
  readonly waitedMs?: number
}

/** The properties of a client at the time of a call. */
export interface CallContext {
  /** Of its connection. */
  readonly origin?: ClientOrigin | undefined
  readonly principal?: string | undefined
  /** As it says of itself. */
  readonly info?: ClientInfo | undefined
  readonly revision: Revision
  readonly capabilities: ClientCapabilities
  /** The least severe log messages that it wants of this call; undefined where its session says, and for none. */
  readonly logLevel?: string | undefined
  /** Whether several clients may send its requests, since they share a principal. */
  readonly isSeveral?: boolean
  /** Whether it has a session, of a revision with tasks, in which a task can be its own. */
  readonly hasTasks?: boolean
}

/** The context of a request that says by itself what its client is. */
export interface StatelessContext extends CallContext {
  readonly principal: string
  readonly isSeveral: boolean
}

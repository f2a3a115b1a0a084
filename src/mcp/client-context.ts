// The facts of a client at the time of a call.

import type { TransportName } from '../jsonrpc/connection.js'
import type { ClientCapabilities, ClientInfo } from './capabilities.js'
import type { Revision } from './revisions.js'

/** The properties of a client that are known before its first message. */
export interface ClientOrigin {
  /** The protocol revision of a client that calls without `initialize`. */
  readonly version?: string | undefined
  /** The identity that the front has found. It is the same on every instance, and never a secret. */
  readonly principal?: string | undefined
  /** Whether several clients may share the principal, because they send the same token. */
  readonly isSeveral?: boolean
  /** The servers that the client sees, such as `profile:review` or `server:github`; undefined for all. */
  readonly view?: string | undefined
  readonly address?: string | undefined
  /** Undefined if the connection does not name its transport. */
  readonly transport?: TransportName | undefined
  /** How long the client had waited before it was attached. On stdio it waits from the process start. */
  readonly waitedMs?: number
}

export interface CallContext {
  readonly origin?: ClientOrigin | undefined
  readonly principal?: string | undefined
  readonly info?: ClientInfo | undefined
  readonly revision: Revision
  readonly capabilities: ClientCapabilities
  /** The lowest level of log messages for this call; undefined for none, and where the session sets it. */
  readonly logLevel?: string | undefined
  /** Whether several clients share the principal, and each may send requests about the call. */
  readonly isSeveral?: boolean
  /** Whether the client has a session of a revision with tasks, so that a task can belong to the session. */
  readonly hasTasks?: boolean
}

/** The context of a stateless request, which describes its client. */
export interface StatelessContext extends CallContext {
  readonly principal: string
  readonly isSeveral: boolean
}

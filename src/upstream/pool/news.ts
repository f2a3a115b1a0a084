// What is reported of servers: starts, failures, stops, lists.

import type { EraEvidence } from '../../mcp/eras/leg.js'
import type { FailureReason } from '../../mcp/error-codes.js'
import type { ListKind } from '../../mcp/methods/method-row.js'
import type { ServerConfig } from '../contracts/server-config.js'

/** Why the proxy has ended a process or a session of a server. */
export type StopCause =
  /** Nobody has used it for a while. */
  | 'idle'
  /** The one client that it belonged to has left. */
  | 'client-gone'
  /** To be started anew at once. */
  | 'restart'
  /** It has left the configuration, or was stopped or replaced. */
  | 'retired'
  /** The proxy closes. */
  | 'closing'

/** Which process of a server, or which session with a remote one. */
interface ServerProcessNews {
  readonly server: string
  readonly kind: ServerConfig['kind']
  /** Of the child process, where there is one. */
  readonly pid: number | undefined
  /** The client that it belongs to; undefined when clients share it. */
  readonly client: number | undefined
  /** Milliseconds since it was started. */
  readonly ms: number
}

/** A change of state of one process of a server, or of one session with a remote one. */
export type ServerNews = ServerProcessNews &
  (
    | { readonly state: 'starting' }
    /** It takes calls, and its lists have been read, or could not be. */
    | {
        readonly state: 'ready'
        /** The protocol version that it speaks. */
        readonly revision: string
        /** How that was found out. */
        readonly evidence: EraEvidence
        readonly tools: number
        /** How many went before it for the same clients. */
        readonly restarts: number
      }
    /** It should be ready by now; it is waited for all the same. */
    | { readonly state: 'late' }
    /** It could not be started, for want of a variable perhaps, or has ended by itself. */
    | { readonly state: 'failed'; readonly reason: FailureReason; readonly message: string }
    /** The proxy has ended it. */
    | { readonly state: 'stopped'; readonly cause: StopCause; readonly message: string }
  )

/** The lists of a server have changed, or were read for the first time. */
export interface ListsNews {
  readonly server: string
  /** The client that the process belongs to; undefined when clients share it. */
  readonly client: number | undefined
  readonly changed: readonly ListKind[]
  /** How many the server has now, whatever is shown of them. */
  readonly counts: Readonly<Record<ListKind, number>>
}

/** The listener for news of servers. */
export interface UpstreamNews {
  server(news: ServerNews): void
  lists(news: ListsNews): void
}

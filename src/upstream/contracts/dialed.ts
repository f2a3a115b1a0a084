// One connection to a server: a child process, or a session with a remote server.

import type { Connection } from '../../jsonrpc/connection.js'
import type { FailureReason } from '../../mcp/error-codes.js'
import type { MarkedParams } from '../../mcp/http-headers.js'
import type { Revision } from '../../mcp/revisions.js'

/** A new connection to a server, before its first message. Without a process its members are absent. */
export interface Dialed {
  readonly connection: Connection
  readonly pid?: number | undefined
  /** The last measured resident memory of the process and its descendants; undefined without a watch. */
  readonly memoryBytes?: number | undefined
  /** Resolves with the reason when the process has ended. */
  readonly ended?: Promise<DialEnd>
  /** Stops the process by steps from the end of its stdin to SIGKILL; resolves when it has ended. */
  stop?(): Promise<void>
}

export interface DialEnd {
  readonly reason: FailureReason
  readonly message: string
  /** Further members of `error.data`. */
  readonly details?: Readonly<Record<string, unknown>> | undefined
}

/** Facts about a server that its connections need. */
export interface KnownServer {
  /** The era of the server; undefined before the proxy knows it. */
  readonly era: () => Revision['era'] | undefined
  /** Returns the arguments of a tool that header fields repeat; `tool` is the server's own name of it. */
  readonly marked: MarkedParams
  /** Called when no connection can be made now; the dialer tries again by itself. */
  readonly onUnreachable: () => void
}

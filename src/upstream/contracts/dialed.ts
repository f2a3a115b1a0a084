// One connection to a server: a child process, or a session with a remote server.

import type { Connection } from '../../jsonrpc/connection.js'
import type { FailureReason } from '../../mcp/error-codes.js'
import type { MarkedParams } from '../../mcp/http-headers.js'
import type { Revision } from '../../mcp/revisions.js'

/** A server that is connected, before the first message; the members of a process are absent where there is none. */
export interface Dialed {
  readonly connection: Connection
  readonly pid?: number | undefined
  /** Resident memory of the process and its descendants, as it was measured last; undefined where it is not watched. */
  readonly memoryBytes?: number | undefined
  /** Resolves when the process is gone, with what happened, in words. */
  readonly ended?: Promise<DialEnd>
  /** Ends the process in order; resolves when it is gone. */
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
  /** How it writes its messages; undefined before it was asked. */
  readonly era: Revision['era'] | undefined
  /** The arguments of a tool that header fields repeat, by the server's own name of it. */
  readonly marked: MarkedParams
  /** No connection can be made at the moment; the dialer tries again by itself. */
  readonly onUnreachable: () => void
}

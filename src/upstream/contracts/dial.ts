// A way to reach one server once: a process, later an origin.

import type { Connection } from '../../jsonrpc/connection.js'
import type { FailureReason } from '../../mcp/error-codes.js'

/** A server that is connected, before the first message. */
export interface Dialed {
  readonly connection: Connection
  /** Of the child process, where there is one. */
  readonly pid: number | undefined
  /** Resolves when the server is gone, with what happened, in words. */
  readonly ended: Promise<DialEnd>
  /** Ends it in order; resolves when it is gone. */
  stop(): Promise<void>
}

export interface DialEnd {
  readonly reason: FailureReason
  readonly message: string
  /** What a client may be told besides. */
  readonly details?: Readonly<Record<string, unknown>> | undefined
}

export type Dial = () => Dialed

// A client as the status shows it.

import type { ClientInfo } from '../../mcp/capabilities.js'

/** A process that serves one client only. */
export interface SessionProcess {
  readonly server: string
  readonly pid: number
}

/** One client: who it says it is, and which processes run for it alone. */
export interface SessionStatus {
  /** Cut to 200 characters each; undefined for one that calls without `initialize`. */
  readonly client: ClientInfo | undefined
  /** The protocol version that was negotiated, or is assumed until then. */
  readonly revision: string
  /** When it was attached, in milliseconds since 1970. */
  readonly connectedAtMs: number
  /** Empty for a client that shares every process it uses. */
  readonly processes: readonly SessionProcess[]
  /** Bytes that it has not read yet; 0 for one without a session, whose connections may be those of others too. */
  readonly unreadBytes: number
}

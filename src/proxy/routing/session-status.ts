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
  /** Its view, as in `profile:review` or `server:github`; undefined is everything. */
  readonly view?: string | undefined
  /** How many tools it sees; undefined before it has asked for something, and for one that calls without `initialize`. */
  readonly tools?: number | undefined
  /** The protocol version that was negotiated, or is assumed until then. */
  readonly revision: string
  /** When it was attached, in milliseconds since 1970. */
  readonly connectedAtMs: number
  /** Empty for a client that shares every process it uses. */
  readonly processes: readonly SessionProcess[]
  /** Bytes that it has not read yet; 0 for one without a session, whose connections may be those of others too. */
  readonly unreadBytes: number
}

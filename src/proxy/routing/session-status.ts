// A client as the status shows it.

import type { ClientInfo } from '../../mcp/capabilities.js'

/** A process that serves one client only. */
export interface SessionProcess {
  readonly server: string
  readonly pid: number
}

/** One client: its claimed name and version, and the processes that run for it alone. */
export interface SessionStatus {
  /** Name and version, cut to 200 characters each; undefined for a client that calls without `initialize`. */
  readonly client: ClientInfo | undefined
  /** The client's view, such as `profile:review` or `server:github`; undefined if the client sees everything. */
  readonly view?: string | undefined
  /** How many tools the client sees; undefined before its first call, and for a client without `initialize`. */
  readonly tools?: number | undefined
  /** The protocol version that was negotiated, or is assumed until then. */
  readonly revision: string
  /** When the client attached, in milliseconds since 1970. */
  readonly connectedAtMs: number
  /** Empty for a client that shares every process that it uses. */
  readonly processes: readonly SessionProcess[]
  /** Bytes that the client has not read yet; 0 for a client without a session, which may share its connections. */
  readonly unreadBytes: number
}

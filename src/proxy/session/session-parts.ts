// The options of a session, and how it ended.

import type { ClientReports } from './client-reports.js'
import type { TransportError } from '../../jsonrpc/errors.js'
import type { Peer, PeerOptions } from '../../jsonrpc/peer.js'
import type { SessionLimits } from '../../limits.js'
import type { ClientLeg } from '../../mcp/eras/leg.js'
import type { Question } from './questions.js'
import type { ClientRoutes } from '../routing/client-routes.js'
import type { SessionPort } from './session-port.js'
import type { Unread } from './unread.js'
import type { LogSink, Runtime } from '../../runtime/runtime.js'

export interface SessionParts {
  /** Tells the client from all others of the proxy. */
  readonly serial: number
  readonly leg: ClientLeg
  readonly limits: SessionLimits
  /** How long calls may still finish once the client ends the session. */
  readonly drainMs: number
  readonly runtime: Runtime
  readonly unread: Unread
  readonly log: LogSink
  readonly reports: ClientReports
  readonly watch: Pick<PeerOptions, 'wire' | 'forwarded'>
  /** What the client reaches, once it has said who it is. */
  reach(port: SessionPort, peer: Peer<Question>): ClientRoutes
  /** The client is gone; called once. */
  ended(serial: number): void
}

/** How a session ended. */
export interface SessionEnd {
  /** 0, unless the client sent `exit` without `shutdown`. */
  readonly exitCode: number
  readonly cause: TransportError | undefined
}

// What a lane is made of.

import type { Call } from '../../mcp/call.js'
import type { ClientCapabilities } from '../../mcp/capabilities.js'
import type { Dialed } from '../contracts/dial.js'
import type { ServerParts } from './pool-parts.js'
import type { Recollections } from './recollection.js'
import type { ServerReports } from './server-reports.js'
import type { Sharing } from './sharing.js'

/** Whose processes a lane has. */
export interface LaneUse {
  readonly sharing: Sharing
  /** What its servers are told that clients can do. */
  readonly declared: ClientCapabilities
  /** The request by which its one client has opened its session, where that opens the server too. */
  readonly opening: Call | undefined
  /** The serial of the one client; undefined where several share. */
  readonly client: number | undefined
  /** Whether its processes start with a call, and end when the client has been idle, whatever it follows. */
  readonly yields: boolean
  /** Resolves when it is known whether clients need processes of their own; undefined when it is, or nobody finds out. */
  readonly verdict?: () => Promise<void> | undefined
}

/** The pool of a lane. */
export interface LaneOwner {
  /** Whether a server that was started elsewhere waits for its first lane. */
  readonly hasAdopted: boolean
  /** That server, or another one. @throws UpstreamError when there is no room for one more */
  take(): Dialed
  /** A server has shaken hands. */
  connected(): void
}

/** What a lane and its processes have. */
export interface LaneParts extends ServerParts, LaneUse {
  readonly pool: LaneOwner
  readonly recollections: Recollections
  readonly reports: ServerReports
}

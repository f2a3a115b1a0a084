// The options of a lane.

import type { Call } from '../../mcp/call.js'
import type { ClientCapabilities } from '../../mcp/capabilities.js'
import type { ServerFacts } from '../../mcp/eras/leg.js'
import type { ListKind } from '../../mcp/methods/method-row.js'
import type { Link, LinkOwner } from './link.js'
import type { Listing } from './listing.js'
import type { PoolSurroundings, Pooling } from './pool-parts.js'
import type { ServerInstance } from './server-instance.js'
import type { Recollection } from './recollection.js'
import type { Sharing } from './sharing.js'
import type { ServerConfig } from '../contracts/server-config.js'

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
}

/** A process of a lane has shaken hands; calls start afterwards. */
export type LaneOpened = (link: Link, facts: ServerFacts) => void

/** How a lane gets its processes, and what it tells when it ends. */
export interface LaneParts
  extends
    LaneUse,
    Pick<Pooling, 'onTimeout' | 'staysForClients'>,
    Pick<PoolSurroundings, 'runtime' | 'log' | 'lateMs' | 'limits' | 'room'> {
  /** As it is now: what is shown of a server may change while it runs. */
  config(): ServerConfig
  readonly listing: Listing
  readonly recollection: Recollection
  readonly membersMax: number
  /** Whether the first process is there already. */
  readonly isStarted: boolean
  /** A process whose links report to `owner`. */
  member(owner: LinkOwner, opened: LaneOpened): ServerInstance
  /** A process has shaken hands, and its lists have been read or could not be. */
  ready(link: Link, facts: ServerFacts): void
  announced(changed: readonly ListKind[]): void
  /** Nobody uses the lane any more. */
  abandoned(): void
}

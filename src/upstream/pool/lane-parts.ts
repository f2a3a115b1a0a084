// The options of a lane.

import type { Call } from '../../mcp/call.js'
import type { ClientCapabilities } from '../../mcp/capabilities.js'
import type { ServerFacts } from '../../mcp/eras/leg.js'
import type { ListKind } from '../../mcp/methods/method-row.js'
import type { LogSink, Runtime } from '../../runtime/runtime.js'
import type { Link } from './link.js'
import type { LinkOwner } from './link-parts.js'
import type { Listing } from './listing.js'
import type { ServerInstance } from './server-instance.js'
import type { Recollection } from './recollection.js'
import type { ServerConfig } from '../contracts/server-config.js'

/** Which clients share the processes of a lane. */
export type Sharing =
  /** Clients that can be asked nothing. */
  | 'plain'
  /** One client. */
  | 'own'
  /** Everybody; what a server asks belongs to the one askable call that runs. */
  | 'shared'

/** How a lane gets its processes, and what it tells when it ends. */
export interface LaneParts {
  /** As it is now: what is shown of a server may change while it runs. */
  config(): ServerConfig
  readonly sharing: Sharing
  /** What its servers are told that clients can do. */
  readonly declared: ClientCapabilities
  /** The request by which its one client has opened its session, where that opens the server too. */
  readonly opening: Call | undefined
  readonly listing: Listing
  readonly runtime: Runtime
  readonly log: LogSink
  /** Whether a process starts with the lane, or when somebody wants something of it. */
  readonly starts: 'at-once' | 'when-asked'
  /** Whether its processes end when the client has been idle, whatever it follows: they come back with its next call. */
  readonly yields: boolean
  readonly recollection: Recollection
  /** A server that has not answered after so long is not waited for at the next start. */
  readonly lateMs: number
  readonly onTimeout: 'cancel' | 'restart'
  readonly staysForClients: boolean
  readonly membersMax: number
  /** Resources that the clients of this lane may follow. */
  readonly subscriptionsMax: number
  /** A process whose links report to `owner`; `opened` is awaited before calls start. */
  member(owner: LinkOwner, opened: (link: Link, facts: ServerFacts) => void): ServerInstance
  /** A process has shaken hands, and its lists have been read or could not be. */
  ready(link: Link, facts: ServerFacts): void
  announced(changed: readonly ListKind[]): void
  /** Nobody uses the lane any more. */
  abandoned(): void
}

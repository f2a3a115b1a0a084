// What a session is made of, besides its connection.

import type { ClientReports } from './client-reports.js'
import type { PeerWatch } from '../../jsonrpc/peer.js'
import type { SessionLimits } from '../../limits.js'
import type { ClientLeg } from '../../mcp/eras/leg.js'
import type { ClientRoutes } from '../routing/client-routes.js'
import type { ClientDirectory } from './client-directory.js'
import type { CatalogView } from '../routing/catalog-view.js'
import type { RoutedClient } from '../routing/routed-client.js'
import type { LogSink, Runtime } from '../../runtime/runtime.js'
import type { Unread } from './flow.js'

export interface ChannelParts {
  /** Tells the client from all others of the proxy. */
  readonly serial: number
  /** In milliseconds since 1970. */
  readonly connectedAtMs: number
  readonly leg: ClientLeg
  /** What its client, and every client whose requests it brings, sees of the servers. */
  readonly view: CatalogView
  readonly limits: SessionLimits
  /** How long calls may still finish once the client ends the session. */
  readonly drainMs: number
  readonly runtime: Runtime
  readonly unread: Unread
  readonly log: LogSink
  readonly reports: ClientReports
  readonly watch: PeerWatch
  /** Whose requests are that say by themselves what their client is. */
  readonly directory: ClientDirectory
  /** What the client reaches, once it has said who it is. */
  reach(client: RoutedClient): ClientRoutes
  /** The client is gone; called once. */
  ended(): void
}

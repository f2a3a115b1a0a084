// How a pool is put together.

import type { PeerOptions } from '../jsonrpc/peer.js'
import type { Call } from '../mcp/call.js'
import type { ClientCapabilities } from '../mcp/capabilities.js'
import type { ServerFacts, ServerLeg } from '../mcp/eras/leg.js'
import type { Discretion } from '../transports/discretion.js'
import type { Dial } from './dial.js'
import type { LogSink, Runtime } from './host.js'
import type { Sharing } from './lane-parts.js'
import type { UpstreamLimits } from './limits.js'
import type { Link } from './link.js'
import type { UpstreamNews } from './news.js'

/** What a pool gets from the proxy. */
export interface PoolSurroundings {
  readonly runtime: Runtime
  readonly log: LogSink
  readonly news: UpstreamNews
  /** Whether somebody wants to hear of every request over the network. */
  readonly verbose: boolean
  readonly limits: UpstreamLimits
  readonly leg: () => ServerLeg
  /** The taps of a new connection to this server. */
  readonly watch: (service: string) => Pick<PeerOptions, 'wire' | 'forwarded'>
  /** Takes one of the processes that may run in all; undefined when there are too many. */
  readonly admit: () => (() => void) | undefined
}

/** How a server of one kind is pooled. */
export interface Pooling {
  /** For what the server says that people are shown. */
  readonly discretion: Discretion
  readonly dial: Dial
  readonly isolation: 'auto' | 'shared' | 'session'
  readonly concurrency: number
  readonly processes: number
  readonly idleTimeoutMs: number | undefined
  readonly restart: boolean
  readonly restartDelayMs: number
}

/** A process of a lane has shaken hands. */
export type LaneOpened = (link: Link, facts: ServerFacts) => void

/** Whose processes a lane has. */
export interface LaneUse {
  readonly sharing: Sharing
  readonly declared: ClientCapabilities
  /** The request by which its one client has opened its session, where that opens the server too. */
  readonly opening: Call | undefined
  /** The serial of the one client; undefined where several share. */
  readonly client: number | undefined
}

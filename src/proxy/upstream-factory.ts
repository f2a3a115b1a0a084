// Opens servers, with everything that they share.

import type { Common } from './common.js'
import type { Limits } from '../limits.js'
import type { ServerLeg } from '../mcp/eras/leg.js'
import type { LogSink, Runtime } from '../runtime/runtime.js'
import type { KeptServers } from '../upstream/contracts/kept.js'
import { openUpstream } from '../upstream/kinds/kinds.js'
import type { PoolSurroundings } from '../upstream/pool/pool-parts.js'
import type { UpstreamNews } from '../upstream/pool/news.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'
import type { StdioSurroundings } from '../upstream/kinds/stdio.js'
import { unavailableUpstream } from '../upstream/kinds/unavailable.js'
import type { Upstream } from '../upstream/contracts/upstream.js'
import { warmUp } from './warmup-client.js'

export interface OpenerParts {
  readonly runtime: Runtime
  readonly log: LogSink
  readonly news: UpstreamNews
  /** Whether somebody wants to hear of every request over the network. */
  readonly verbose: boolean
  readonly limits: Limits['upstream']
  readonly common: Common
  /** Variables of the proxy's own for every process that is started. */
  readonly marks: Readonly<Record<string, string>>
  /** Opens every server before the first client comes. */
  readonly eager: boolean
  readonly kept: KeptServers
  readonly ownStart: PoolSurroundings['ownStart']
  /** After how long the next start does not wait for a server. */
  lateMs(): number
  /** How long a process of one client outlives its last word; undefined is as long as the client. */
  sessionIdleMs(): number | undefined
  /** How a new connection to a server is spoken. */
  leg(): ServerLeg
}

/** Opens servers. */
export class UpstreamFactory {
  readonly #parts: OpenerParts

  constructor(parts: OpenerParts) {
    this.#parts = parts
  }

  /** Opens a server and starts what its first client will need. */
  open(config: ServerConfig): Upstream {
    // The configuration has warned of what it found itself.
    if (config.unavailable !== undefined) return this.#unavailable(config, config.unavailable)
    const upstream = openUpstream(config, this.#around())
    upstream.warm()
    if (this.#parts.eager) warmUp(upstream)
    return upstream
  }

  #unavailable(config: ServerConfig, message: string): Upstream {
    const { name: server, kind } = config
    const process = { server, kind, pid: undefined, client: undefined, ms: 0 }
    this.#parts.news.server({ ...process, state: 'failed', reason: 'unavailable', message })
    return unavailableUpstream(config, message)
  }

  #around(): StdioSurroundings {
    const { runtime, log, news, verbose, limits, common, marks, kept, ownStart } = this.#parts
    return {
      runtime,
      log,
      news,
      verbose,
      limits,
      marks,
      leg: () => this.#parts.leg(),
      watch: (service) => common.taps.watch('upstream', service),
      kept: (config) => kept.of(config),
      ownStart,
      lateMs: this.#parts.lateMs(),
      sessionIdleMs: this.#parts.sessionIdleMs(),
      places: common.room,
    }
  }
}

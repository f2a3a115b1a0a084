// The kinds `http` and `sse`: servers that are reached over the network.
//
// A lane of the pool is one HTTP session. Everything that speaks HTTP is loaded
// when the first connection is made, so that a start without such servers does
// not pay for it.

import { Discretion } from '../transports/discretion.js'
import { DeferredConnection } from '../transports/deferred.js'
import type { DialEnd, Dialed } from './dial.js'
import { fromTransport } from './errors.js'
import { discreetLog } from './discreet-log.js'
import type { HttpDialer } from './http-dialer.js'
import { CredentialsLeg } from './credentials-leg.js'
import { Pool } from './pool.js'
import type { PoolSurroundings } from './pool-parts.js'
import type { HttpServerConfig } from './server-config.js'
import type { Upstream } from './upstream.js'

export function open(config: HttpServerConfig, proxy: PoolSurroundings): Upstream {
  const discretion = new Discretion(config.secrets)
  const around = { ...proxy, log: discreetLog(proxy.log, discretion) }
  let dialer: Promise<HttpDialer> | undefined
  const dial = (): Dialed => {
    dialer ??= import('./http-dialer.js').then((module) => module.HttpDialer.of(config, around, discretion))
    return new HttpDialed(config.name, new DeferredConnection(dialer.then((made) => made.connect())))
  }
  const pooling = {
    dial,
    discretion,
    isolation: 'auto',
    concurrency: around.limits.remoteConcurrency,
    processes: 1,
    idleTimeoutMs: around.limits.remoteRestMs,
    restart: true,
    restartDelayMs: config.kind === 'sse' ? config.reconnectIntervalMs : config.retryDelayMs,
  } as const
  return new Pool(config, pooling, {
    ...around,
    leg: () => new CredentialsLeg(config, around.leg()),
    // A session is no process of ours.
    places: { take: () => () => {}, offer: () => () => {}, free: () => undefined },
  })
}

/** One session with a remote server. */
class HttpDialed implements Dialed {
  readonly connection: DeferredConnection
  readonly pid = undefined
  readonly ended: Promise<DialEnd>

  constructor(service: string, connection: DeferredConnection) {
    this.connection = connection
    this.ended = connection.ended.then((cause) => {
      if (cause === undefined) return { reason: 'closed', message: `'${service}' closed its connection` }
      const { reason, message, details } = fromTransport(service, cause)
      return { reason, message, details }
    })
  }

  stop(): Promise<void> {
    return this.connection.close()
  }
}

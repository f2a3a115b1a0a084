// The kinds `http` and `sse`: servers that are reached over the network.
//
// A worker has one HTTP session at a time. Everything that speaks HTTP is loaded
// when the first connection is made, so that a start without such servers does
// not pay for it.

import { LazyValue } from '../../runtime/deferred.js'
import { Redactor } from '../../text/redactor.js'
import type { Dialed, KnownServer } from '../contracts/dialed.js'
import type { HttpDialer } from '../http/http-dialer.js'
import { Server } from '../server/configured-server.js'
import type { ProxyContext } from '../server/context.js'
import type { HttpServerConfig } from '../contracts/server-config.js'

export function openHttp(config: HttpServerConfig, proxy: ProxyContext): Server {
  const redactor = new Redactor(config.secrets, (added) => proxy.onSecrets?.(added, config.name))
  const around = { ...proxy, log: redactedLog(proxy.log, redactor) }
  let dialer: LazyValue<HttpDialer> | undefined
  let made: HttpDialer | undefined
  const dial = async (known: KnownServer): Promise<Dialed> => {
    dialer ??= new LazyValue(async () => {
      const { httpDialer } = await import('../http/http-dialer.js')
      made = await httpDialer(config, around, redactor, known)
      return made
    })
    return { connection: (await dialer.get()).connect() }
  }
  const behaviour = {
    dial,
    logins: () => made?.logins,
    redactor,
    isolation: 'auto',
    concurrency: around.limits.remoteConcurrency,
    processes: 1,
    // Streamable HTTP answers each call on a separate response, and asks there too.
    questionsNameTheirCall: config.kind === 'http',
    idleTimeoutMs: around.limits.remoteRestMs,
    restart: true,
    startsAfterProbe: true,
    onTimeout: 'cancel',
    staysForClients: true,
    // Silence over the network says nothing of what a server knows.
    probeMs: Infinity,
    restartDelayMs: config.kind === 'sse' ? config.reconnectIntervalMs : config.retryDelayMs,
  } as const
  return new Server(config, behaviour, {
    ...around,
    open: (spoken, memory, opening) =>
      around.open(config.kind === 'sse' ? { ...spoken, protocol: 'handshake' } : spoken, memory, opening),
  })
}

/**
 * Redacts the log lines about a server.
 *
 * Methods, ids and errors are its own words, and cookies and session ids are no part
 * of a configuration, so that the log itself does not know them.
 */
function redactedLog(log: ProxyContext['log'], redactor: Redactor): ProxyContext['log'] {
  const clean = (value: unknown): unknown => (typeof value === 'string' ? redactor.clean(value) : value)
  return ({ details, ...record }) => {
    const members = Object.entries(details ?? {}).map(([key, value]) => [key, clean(value)] as const)
    const message = redactor.clean(record.message)
    log({ ...record, message, ...(details && { details: Object.fromEntries(members) }) })
  }
}

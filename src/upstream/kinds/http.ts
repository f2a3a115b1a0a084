// The kinds `http` and `sse`: servers on the network.
//
// A worker has one HTTP session at a time. The first connection loads all code for HTTP,
// so that a start without such servers does not pay for it.

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
    // Streamable HTTP carries the answer to each call, and the requests during it, in a separate response.
    questionsNameTheirCall: config.kind === 'http',
    idleTimeoutMs: around.limits.remoteRestMs,
    restart: true,
    onTimeout: 'cancel',
    // A slow network is no evidence that the server ignores the question.
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
 * Methods, ids and errors are texts of the server. The log itself does not know cookies and session
 * ids, because they are not in the configuration.
 */
function redactedLog(log: ProxyContext['log'], redactor: Redactor): ProxyContext['log'] {
  const clean = (value: unknown): unknown => (typeof value === 'string' ? redactor.clean(value) : value)
  return ({ details, ...record }) => {
    const members = Object.entries(details ?? {}).map(([key, value]) => [key, clean(value)] as const)
    const message = redactor.clean(record.message)
    log({ ...record, message, ...(details && { details: Object.fromEntries(members) }) })
  }
}

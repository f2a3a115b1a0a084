// Every enabled schema on one port, until the process is ended.

import { needsToken } from '../config/front.js'
import { openGateway } from '../gateway/gateway.js'
import { limits } from '../limits.js'
import type { EventSource, ProxyEvents } from '../index.js'
import { version } from '../version.js'
import type { HttpTask } from './run-http.js'
import { httpBanner } from './banner.js'
import type { Run } from './run.js'
import { tightLimits } from './control-group.js'
import type { Inspection } from './inspect.js'
import { announce, serveUntil } from './serve-until.js'

/** Serves until a signal comes; gives the exit code. Listens when `beforeListening` has resolved, where there is such a condition. */
export async function serveHttp(
  run: Run<HttpTask>,
  beforeListening?: (events: EventSource<ProxyEvents>) => Promise<void>,
): Promise<number> {
  const { command, config, endings, telemetry, options, logger } = run
  const { host, port, allowUnauthenticated } = command
  for (const message of tightLimits(config.processesMax ?? limits.upstream.processesMax))
    logger.sink({ level: 'warn', message })
  const inspection = await inspectionOf(run)
  const gateway = await openGateway(config, {
    ...options,
    person: 'here',
    ...inspection?.options,
    handler: inspection && ((path) => inspection.pages.find(path)),
    host,
    port,
    allowUnauthenticated,
    beforeListening,
    ...(config.server.metrics && telemetry && { metrics: telemetry.page }),
  })
  telemetry?.watch(() => gateway.proxies)
  const talk = async (): Promise<void> => {
    const { name } = config.server
    const { host, origin, proxies } = gateway
    announce(run, httpBanner({ name, version, config, host, origin, needsToken: needsToken(config.server) }))
    await inspection?.open(proxies, gateway, origin)
    await endings.ended
    await inspection?.close()
  }
  await serveUntil(run, gateway, talk, (next) => inspection?.showEntries(next, gateway.origin))
  return 0
}

async function inspectionOf(run: Run<HttpTask>): Promise<Inspection | undefined> {
  const { command, config } = run
  if (command.uiPort === undefined) return undefined
  const { Inspection, refuseOpenPages } = await import('./inspect.js')
  refuseOpenPages(config, command.host ?? config.server.host)
  return new Inspection(run)
}

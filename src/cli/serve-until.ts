// The work of a serving process, from its start to its end.

import process from 'node:process'
import type { Configuration, SchemaConfig } from '../config/configuration.js'
import { type EventSource, type ProxyEvents, limits } from '../index.js'
import { type Banner, bannerRecord, bannerText } from './banner.js'
import { ConfigFollower, tellWarnings } from './config-follower.js'
import { faultGraceMs, closeMsMax } from './endings.js'
import type { Run } from './run.js'

/** A server of a configuration, which can change to another one. */
interface Server extends EventSource<ProxyEvents> {
  reload(config: Configuration): Promise<unknown>
  close(graceMs?: number): Promise<void>
}

/** Logs calls and follows the configuration until `talk` is over, and closes the server then; `reloaded` gets each new configuration. */
export async function serveUntil<T>(
  run: Run,
  server: Server,
  talk: () => Promise<T>,
  reloaded?: (config: Configuration) => void,
): Promise<T> {
  const { config, feedback, endings, audit } = run
  feedback.watchCalls(server)
  audit.follow(server)
  const follower = new ConfigFollower(run, async (next) => {
    await server.reload(next)
    reloaded?.(next)
  })
  try {
    return await talk()
  } finally {
    follower.stop()
    const drainMs = config.server.drainTimeoutMs ?? limits.drainMs
    endings.endWithin(drainMs + longestStopMs([...config.schemas.values()]) + closeMsMax)
    await (endings.isFaulty ? server.close(faultGraceMs) : server.close())
  }
}

/** All servers are stopped at the same time, so the most patient one decides. */
function longestStopMs(schemas: readonly SchemaConfig[]): number {
  const servers = schemas.flatMap((schema) => schema.servers)
  return Math.max(0, ...servers.map((server) => (server.kind === 'stdio' ? server.stopTimeoutMs : 0)))
}

/** Says that clients may come. */
export function announce(run: Run, banner: Banner): void {
  const { command, config, schemasOf, screen, logger, paint } = run
  if (process.stderr.isTTY && !command.silent) screen.write(bannerText(banner, paint))
  else if (!process.stderr.isTTY) logger.announce(bannerRecord(banner))
  tellWarnings(logger, config.warnings, schemasOf(config))
}

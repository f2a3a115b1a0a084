// What is done while anything is served, and at its end.

import type { Configuration } from '../config/config.js'
import { type EventSource, type ProxyEvents, limits } from '../index.js'
import { ConfigFollower, tellWarnings } from './config-follower.js'
import { faultGraceMs, lastWordsMsMax } from './endings.js'
import type { Run } from './run.js'

/** What serves a configuration, and takes another one. */
interface Server extends EventSource<ProxyEvents> {
  reload(config: Configuration): Promise<unknown>
  close(graceMs?: number): Promise<void>
}

/** Logs calls and follows the configuration until `talk` is over, and closes the server then. */
export async function serveUntil<T>(run: Run, server: Server, talk: () => Promise<T>): Promise<T> {
  const { config, feedback, endings } = run
  feedback.watchCalls(server)
  const follower = new ConfigFollower(run, (next) => server.reload(next))
  try {
    return await talk()
  } finally {
    follower.stop()
    endings.endWithin((config.server.drainTimeoutMs ?? limits.drainMs) + lastWordsMsMax)
    await (endings.isFaulty ? server.close(faultGraceMs) : server.close())
  }
}

/** Says that clients may come. */
export function announce({ command, config, schemasOf, screen, logger }: Run, banner: string): void {
  if (!command.silent) screen.write(banner)
  tellWarnings(logger, config.warnings, schemasOf(config))
}

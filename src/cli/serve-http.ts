// Every enabled schema on one port, until somebody ends the process.

import { type Configuration, enabledSchemas } from '../config/config.js'
import { type Gateway, openGateway } from '../gateway/gateway.js'
import { limits } from '../index.js'
import type { Runtime, WireTap } from '../index.js'
import type { Logger, Paint } from '../log/log.js'
import { version } from '../version.js'
import type { HttpCommand } from './args.js'
import { httpBanner } from './banner.js'
import { type Endings, faultGraceMs, lastWordsMsMax } from './endings.js'
import type { Feedback } from './feedback.js'
import { followConfig } from './follow-config.js'
import type { Screen } from './screen.js'
import { tellWarnings } from './warnings.js'

/** Everything that was made ready before the gateway is. */
export interface HttpRun {
  /** The name that the process was called by. */
  readonly program: string
  readonly command: HttpCommand
  readonly config: Configuration
  readonly paint: Paint
  readonly logger: Logger
  readonly screen: Screen
  readonly feedback: Feedback
  readonly endings: Endings
  readonly runtime: Runtime
}

/** Serves until a signal comes; gives the exit code. */
export async function serveHttp(run: HttpRun, tap: WireTap | undefined): Promise<number> {
  const { command, config, logger, feedback, endings, runtime } = run
  const gateway = await openGateway(config, {
    host: command.host,
    port: command.port,
    allowUnauthenticated: command.allowUnauthenticated,
    log: logger.sink,
    on: feedback.listeners,
    verbose: logger.isVerbose,
    runtime,
    keep: command.keepsLists,
    ...(tap === undefined ? {} : { tap }),
  })
  feedback.watchCalls(gateway)
  const reloading = followConfig(
    run,
    { schemasOf: enabledSchemas, reload: (next) => gateway.reload(next) },
    true,
  )
  try {
    announce(run, gateway)
    await endings.ended
  } finally {
    reloading.stop()
    endings.endWithin((run.config.server.drainTimeoutMs ?? limits.drainMs) + lastWordsMsMax)
    await (endings.isFaulty ? gateway.close(faultGraceMs) : gateway.close())
  }
  return 0
}

function announce({ command, config, paint, screen, logger }: HttpRun, { host, origin }: Gateway): void {
  if (!command.silent) {
    const { token, name } = config.server
    screen.write(httpBanner({ name, version, config, host, origin, needsToken: token !== undefined }, paint))
  }
  tellWarnings(logger, config.warnings, enabledSchemas(config))
}

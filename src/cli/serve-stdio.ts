// One client on stdin and stdout, until it leaves or somebody ends the process.

import process from 'node:process'
import type { Configuration, SchemaConfig } from '../config/config.js'
import { createProxy, limits, stdio } from '../index.js'
import type { AttachedSession, Runtime, WireTap } from '../index.js'
import type { Logger, Paint } from '../log/log.js'
import { version } from '../version.js'
import type { StdioCommand } from './args.js'
import { stdioBanner } from './banner.js'
import type { Feedback } from './feedback.js'
import { followConfig } from './follow-config.js'
import type { Reloading } from './reloading.js'
import type { Screen } from './screen.js'
import { tellWarnings } from './warnings.js'
import { type Endings, faultGraceMs, lastWordsMsMax } from './endings.js'

/** Everything that was made ready before the proxy is. */
export interface StdioRun {
  /** The name that the process was called by. */
  readonly program: string
  readonly command: StdioCommand
  readonly config: Configuration
  readonly schema: SchemaConfig
  readonly paint: Paint
  readonly logger: Logger
  readonly screen: Screen
  readonly feedback: Feedback
  readonly endings: Endings
  readonly runtime: Runtime
}

/** Serves until the client leaves, says `exit`, or a signal comes; gives the exit code. */
export async function serveStdio(run: StdioRun, tap: WireTap | undefined): Promise<number> {
  const { config, schema, logger, screen, feedback, endings, runtime } = run
  const proxy = await createProxy(config, {
    schema: schema.name,
    log: logger.sink,
    on: feedback.listeners,
    verbose: logger.isVerbose,
    runtime,
    keep: run.command.keepsLists,
    ownStart: 'with-client',
    ...(tap === undefined ? {} : { tap }),
  })
  feedback.watchCalls(proxy)
  let reloading: Reloading | undefined
  let left: AttachedSession['ended']
  try {
    const session = await proxy.attach(stdio({ ...limits.session.ndjson, writes: () => screen.makeWay() }))
    announce(run)
    const follower = { schemasOf: () => [schema.name], reload: (next: Configuration) => proxy.reload(next) }
    reloading = followConfig(run, follower, run.command.remote === undefined)
    await Promise.race([session.leaving, endings.ended])
    left = session.ended
  } finally {
    reloading?.stop()
    endings.endWithin((run.config.server.drainTimeoutMs ?? limits.drainMs) + lastWordsMsMax)
    await (endings.isFaulty ? proxy.close(faultGraceMs) : proxy.close())
  }
  return (await left).exitCode
}

function announce({ command, config, schema, paint, screen, logger }: StdioRun): void {
  if (!command.silent) {
    const facts = { name: config.server.name, version, config, schema }
    screen.write(stdioBanner({ ...facts, isInteractive: process.stdin.isTTY }, paint))
  }
  tellWarnings(logger, config.warnings, [schema.name])
}

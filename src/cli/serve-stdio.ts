// One client on stdin and stdout, until it leaves or somebody ends the process.

import process from 'node:process'
import type { Configuration, SchemaConfig } from '../config.js'
import { memberPath } from '../config/problems.js'
import { createProxy, limits, stdio } from '../index.js'
import type { Runtime, WireTap } from '../index.js'
import type { Logger, Paint } from '../log.js'
import { version } from '../version.js'
import type { StdioCommand } from './args.js'
import { stdioBanner } from './banner.js'
import type { Endings } from './endings.js'

/** How long calls may still run after a fault of our own. */
const faultGraceMs = 1000

/** Everything that was made ready before the proxy is. */
export interface StdioRun {
  readonly command: StdioCommand
  readonly config: Configuration
  readonly schema: SchemaConfig
  readonly paint: Paint
  readonly logger: Logger
  readonly endings: Endings
  readonly runtime: Runtime
}

/** Serves until the client leaves, says `exit`, or a signal comes; gives the exit code. */
export async function serveStdio(run: StdioRun, tap: WireTap | undefined): Promise<number> {
  const { config, schema, logger, endings, runtime } = run
  const proxy = await createProxy(config, {
    schema: schema.name,
    log: logger.sink,
    verbose: logger.isVerbose,
    runtime,
    ...(tap === undefined ? {} : { tap }),
  })
  try {
    const session = await proxy.attach(stdio(limits.session.ndjson))
    announce(run)
    const left = session.ended.then(({ exitCode }) => exitCode)
    return await Promise.race([left, endings.ended])
  } finally {
    await (endings.isFaulty ? proxy.close(faultGraceMs) : proxy.close())
  }
}

function announce({ command, config, schema, paint, logger }: StdioRun): void {
  if (!command.silent) {
    const facts = { name: config.server.name, version, config, schema }
    process.stderr.write(stdioBanner({ ...facts, isInteractive: process.stdin.isTTY }, paint))
  }
  for (const { path, message } of config.warnings)
    if (concerns(path, schema.name))
      logger.sink({ level: 'warn', message: `configuration: ${path}${path === '' ? '' : ' '}${message}` })
}

/** Warnings about schemas that are not served would only be noise here; `--check` tells them. */
function concerns(path: string, schema: string): boolean {
  const own = memberPath('schemas', schema)
  return (
    !path.startsWith('schemas') || path === own || path.startsWith(`${own}.`) || path.startsWith(`${own}[`)
  )
}

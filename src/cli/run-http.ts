// The HTTP mode: every enabled schema, and as many clients as come.

import process from 'node:process'
import { enabledSchemas, loadConfig, refuseLoop } from '../config/config.js'
import { realRuntime } from '../real-runtime.js'
import type { HttpCommand } from './args.js'
import { Children } from './children.js'
import { tellClientOnStdin } from './client-on-stdin.js'
import { Endings } from './endings.js'
import { Feedback } from './feedback.js'
import { choosePaint, openLogger, openRecordIfAsked, openScreen, tellConfiguration } from './surroundings.js'
import type { Invocation } from './surroundings.js'

/**
 * Serves until a signal comes; what is running may finish then, and everything is flushed and closed.
 *
 * @returns the exit code.
 * @throws ConfigError when the configuration cannot be used, or the system's error when the address cannot be had.
 */
export async function runHttp(command: HttpCommand, invocation: Invocation): Promise<number> {
  if (!command.isNamed) tellClientOnStdin(invocation.program)
  const { config: path, timeoutMs } = command
  const config = loadConfig({ path, timeoutMs, nameDefault: invocation.program })
  refuseLoop(config, enabledSchemas(config), process.env)
  const paint = await choosePaint()
  const screen = openScreen(command)
  const logger = openLogger(config, enabledSchemas(config), command, { paint, screen })
  tellConfiguration(logger, config, enabledSchemas(config))
  const children = new Children()
  const endings = new Endings(logger.sink, () => children.kill())
  endings.watch()
  const own = realRuntime(logger.sink)
  const feedback = new Feedback({ logger, screen, runtime: own })
  try {
    const { serveHttp } = await import('./serve-http.js')
    const record = await openRecordIfAsked(command, invocation, logger)
    try {
      const runtime = children.watch(own)
      const { program } = invocation
      return endings.verdict(
        await serveHttp(
          { program, command, config, paint, logger, screen, feedback, endings, runtime },
          record?.tap,
        ),
      )
    } finally {
      await record?.close()
    }
  } finally {
    feedback.close()
    children.kill()
    await own.close()
    await logger.close()
  }
}

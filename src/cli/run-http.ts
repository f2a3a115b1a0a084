// The HTTP mode: every enabled schema, and as many clients as come.

import { resolve } from 'node:path'
import process from 'node:process'
import { refuseLoop } from '../config/chain.js'
import { enabledSchemas } from '../config/config.js'
import type { Configuration } from '../config/configuration.js'
import type { Logger } from '../log/log.js'
import type { HttpCommand } from './serve-options.js'
import { loadWithSecrets } from './load.js'
import { type Invocation, runPlan } from './run.js'

/**
 * Serves until a signal comes; what is running may finish then, and everything is flushed and closed.
 *
 * @returns the exit code.
 * @throws ConfigError when the configuration cannot be used, or the system's error when the address cannot be had.
 */
export async function runHttp(command: HttpCommand, invocation: Invocation): Promise<number> {
  const { config: path, timeoutMs, record } = command
  const files = record === undefined ? [] : [resolve(record)]
  const read = (from: string | undefined, asks = false): Promise<Configuration> =>
    loadWithSecrets({ path: from, timeoutMs, files, nameDefault: invocation.program }, { asks })
  const config = await read(path, true)
  refuseLoop(config, enabledSchemas(config), process.env)
  const plan = { ...invocation, command, config, read, schemasOf: enabledSchemas }
  return runPlan(plan, nothing, async (run) => {
    if (!command.isNamed) warnOfClientOnStdin(invocation.program, run.logger)
    const { serveHttp } = await import('./serve-http.js')
    return serveHttp(run)
  })
}

async function nothing(): Promise<void> {}

/** Enough bytes to recognise a protocol. */
const lookedAtBytesMax = 256

/** Warns once when a client speaks JSON-RPC on stdin, which this mode does not serve. */
function warnOfClientOnStdin(program: string, logger: Logger): void {
  const { stdin } = process
  if (stdin.isTTY) return
  const look = (chunk: Buffer | string): void => {
    const begins = chunk.slice(0, lookedAtBytesMax).toString().trimStart()
    stop()
    if (!/^(?:\[\s*)?\{\s*"/.test(begins)) return
    const message =
      'a client speaks on stdin, which is not served: without a mode this serves HTTP; ' +
      `add --stdio to its arguments, for example: ${program} --stdio`
    logger.sink({ level: 'warn', message })
  }
  const stop = (): void => {
    stdin.off('data', look)
    stdin.pause()
  }
  stdin.on('error', stop)
  stdin.on('data', look)
  // A file has nothing to release, although the types have a method for it.
  if ('unref' in stdin && typeof stdin.unref === 'function') stdin.unref()
}

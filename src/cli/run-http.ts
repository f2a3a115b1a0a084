// The HTTP mode: every enabled schema, and as many clients as come.

import { resolve } from 'node:path'
import process from 'node:process'
import { refuseLoop } from '../config/chain.js'
import { enabledSchemas } from '../config/config.js'
import type { Configuration } from '../config/configuration.js'
import type { Logger } from '../log/log.js'
import { type Command, type CommandLine, type Invocation, type Options, flag } from './command-line.js'
import { commandIn } from './command-names.js'
import {
  allowUnauthenticated,
  config as configOption,
  host,
  port,
  serveOptionsOf,
  serving,
} from './common-options.js'
import { loadWithSecrets } from './load.js'
import { type ServeOptions, runPlan } from './run.js'

/** Serve every enabled schema on HTTP; what is undefined is as the configuration says. */
export interface HttpTask extends ServeOptions {
  readonly kind: 'http'
  readonly port: number | undefined
  readonly host: string | undefined
  readonly allowUnauthenticated: boolean
}

/** The options of a listener, beside those of every command that serves. */
export const httpOptions: Options = {
  config: configOption,
  port,
  host,
  'allow-unauthenticated': allowUnauthenticated,
  ...serving,
}

const ui = flag('Serve a page that shows every message, at /ui on the port of the front')

export const httpCommand: Command<HttpTask> = {
  name: 'http',
  takes: '',
  about: 'many clients over HTTP, http://127.0.0.1:3095/mcp',
  group: 'SERVE',
  details: `Serves every enabled schema to many clients; also what no command at all means.
POST /mcp is the schema "default", POST /api/NAME/mcp any other; GET / names all paths.
Listens on this machine only. Any other --host needs a token (server.token in the
configuration, or $MCPS_PROXY_TOKEN) or --allow-unauthenticated.`,
  examples: [
    'mcps-proxy http --port 8080',
    `curl -s http://127.0.0.1:3095/mcp -H 'Content-Type: application/json' \\
    -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'`,
  ],
  options: { ...httpOptions, ui },
  wordsMax: 0,
  takesRest: false,
  read: (line) => ({ ...httpTaskOf(line), uiPort: line.get(ui) ? 0 : undefined }),
  run: runHttp,
}

export function httpTaskOf(line: CommandLine): HttpTask {
  const { get } = line
  return {
    kind: 'http',
    config: get(configOption),
    port: get(port),
    host: get(host),
    allowUnauthenticated: get(allowUnauthenticated),
    uiPort: undefined,
    ...serveOptionsOf(line),
  }
}

/**
 * Serves until a signal comes; what is running may finish then, and everything is flushed and closed.
 *
 * @returns the exit code.
 * @throws ConfigError when the configuration cannot be used, or the system's error when the address cannot be had.
 */
async function runHttp(command: HttpTask, invocation: Invocation): Promise<number> {
  const { config: path, timeoutMs, record } = command
  const files = record === undefined ? [] : [resolve(record)]
  const read = (from: string | undefined, asks = false): Promise<Configuration> =>
    loadWithSecrets({ path: from, timeoutMs, files, nameDefault: invocation.program }, { asks })
  const config = await read(path, true)
  refuseLoop(config, enabledSchemas(config), process.env)
  const plan = { ...invocation, command, config, read, schemasOf: enabledSchemas }
  return runPlan(plan, nothing, async (run) => {
    if (commandIn(invocation.argv)?.isNamed === false) warnOfClientOnStdin(invocation.program, run.logger)
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

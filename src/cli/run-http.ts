// The HTTP mode: every enabled schema, and as many clients as come.

import { resolve } from 'node:path'
import process from 'node:process'
import { refuseLoop } from '../config/proxy-chain.js'
import { enabledSchemas } from '../config/config.js'
import type { Configuration } from '../config/configuration.js'
import { type Given, type Invocation, command, flag } from './command-line.js'
import { allowUnauthenticated, config, host, port, serveOptionsOf, serving } from './common-options.js'
import { loadWithSecrets } from './load.js'
import type { ServeTask } from './serve.js'

/** Serve every enabled schema on HTTP; what is undefined is as the configuration says. */
export interface HttpTask extends ServeTask {
  readonly kind: 'http'
  readonly port: number | undefined
  readonly host: string | undefined
  readonly allowUnauthenticated: boolean
}

/** The options of a listener, beside those of every command that serves. */
export const httpOptions = {
  config,
  port,
  host,
  'allow-unauthenticated': allowUnauthenticated,
  ...serving,
}

export const httpCommand = command({
  name: 'http',
  about: 'many clients over HTTP, http://127.0.0.1:3095/mcp',
  group: 'SERVE',
  details: `Serves every enabled schema to many clients; also what no command at all means.
POST /mcp is the group "default", POST /api/NAME/mcp any other; GET / names all paths.
Listens on this machine only. Any other --host needs a token (server.token in the
configuration, or $MCPS_PROXY_TOKEN) or --allow-unauthenticated.`,
  examples: [
    'mcps-proxy http --port 8080',
    `curl -s http://127.0.0.1:3095/mcp -H 'Content-Type: application/json' \\
    -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'`,
  ],
  options: {
    ...httpOptions,
    ui: flag('Serve a page that shows every message, at /ui on the port of the front'),
  },
  read: (given): HttpTask => ({ ...httpTaskOf(given), uiPort: given.ui ? 0 : undefined }),
  run: runHttp,
})

export function httpTaskOf(given: Given<typeof httpOptions>): HttpTask {
  const { config: path, port, host, 'allow-unauthenticated': allowUnauthenticated } = given
  const own = { kind: 'http', config: path, port, host, allowUnauthenticated, uiPort: undefined } as const
  return { ...own, ...serveOptionsOf(given) }
}

/**
 * Serves until a signal comes; what is running may finish then, and everything is flushed and closed.
 *
 * @returns the exit code.
 * @throws ConfigError when the configuration cannot be used, or the system's error when the address cannot be had.
 */
async function runHttp(task: HttpTask, invocation: Invocation): Promise<number> {
  const { config: path, timeoutMs, record } = task
  const files = record === undefined ? [] : [resolve(record)]
  const defaults = { 'server.name': invocation.program }
  const read = (from: string | undefined, asks = false): Promise<Configuration> =>
    loadWithSecrets({ path: from, timeoutMs, files, defaults }, { asks })
  const loaded = await read(path, true)
  refuseLoop(loaded, enabledSchemas(loaded), process.env)
  const plan = { ...invocation, command: task, config: loaded, read, schemasOf: enabledSchemas }
  const { serveHttp } = await import('./serve.js')
  return serveHttp(plan)
}

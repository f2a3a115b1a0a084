// `http`: every enabled group of servers, and as many clients as come.

import process from 'node:process'
import { refuseLoop } from '../config/proxy-chain.js'
import { enabledSchemas } from '../config/config.js'
import type { Configuration } from '../config/configuration.js'
import { command, flag } from './command-line.js'
import { allowUnauthenticated, config, host, port, serving, servingConflicts } from './common-options.js'
import { loadWithSecrets, recordedTo } from './load.js'

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
  conflicts: servingConflicts,
  run: async (given, invocation) => {
    const { timeout: timeoutMs, record, ui } = given
    const defaults = { 'server.name': invocation.program }
    const read = (path: string | undefined, asks = false): Promise<Configuration> =>
      loadWithSecrets({ path, timeoutMs, files: recordedTo(record), defaults }, { asks })
    const loaded = await read(given.config, true)
    refuseLoop(loaded, enabledSchemas(loaded), process.env)
    const plan = { ...invocation, kind: 'http', given, uiPort: ui ? 0 : undefined, config: loaded } as const
    const { serveHttp } = await import('./serve.js')
    return serveHttp({ ...plan, read, schemasOf: enabledSchemas }, given)
  },
})

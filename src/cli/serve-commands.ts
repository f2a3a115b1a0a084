// `stdio` and `connect` serve one client, which started this process: one group, or one remote server.
// `http` serves every enabled group to many clients.
//
// On stdio, stdout belongs to the protocol, so all other output goes to stderr.

import process from 'node:process'
import { refuseLoop } from '../config/proxy-chain.js'
import { enabledSchemas, selectProfile, selectSchema } from '../config/config.js'
import type { Configuration } from '../config/configuration.js'
import { type Given, UsageError, command, flag, oneOf, valued } from './command-line.js'
import {
  clientInfoOf,
  clientOptions,
  config as configOption,
  header,
  listening,
  serving,
  servingConflicts,
  uiPort,
  viewConflict,
  viewOptions,
} from './common-options.js'
import { loadWithSecrets, recordedTo } from './load.js'
import { definedIn } from '../text/json-object.js'
import type { RemoteServer } from './remote.js'

export const stdioCommand = command({
  name: 'stdio',
  about: 'one client on stdin and stdout: what a client starts',
  group: 'SERVE',
  details: `Serves one group of servers to one client: one JSON-RPC message per line on stdin and stdout.
Logs and everything else go to stderr. Only the servers of that group are started.

Without --schema it is the group "default", which a plain "mcpServers" file is.`,
  examples: [
    'mcps-proxy stdio',
    'mcps-proxy stdio --schema workspace --config ./mcp.json --record session.jsonl',
  ],
  options: {
    ...viewOptions,
    server: valued('NAME', 'Serve this one server, under its own names'),
    ui: uiPort,
    ...serving,
  },
  conflicts: [viewConflict, ['server', 'profile', 'a profile names its servers'], ...servingConflicts],
  run: async (given, invocation) => {
    const { profile, server, timeout: timeoutMs, ui } = given
    const named = given.schema ?? 'default'
    const options = {
      timeoutMs,
      files: recordedTo(given.record),
      defaults: { 'server.name': invocation.program },
      servesHttp: false,
      only: server === undefined ? undefined : { schema: named, server },
    }
    const read = async (path: string | undefined, asks = false): Promise<Configuration> => {
      const use = { schema: profile === undefined ? named : undefined, asks }
      const config = await loadWithSecrets({ ...options, path }, use)
      // Also checked for a file that is read again: without its profile, a client has nothing.
      if (profile !== undefined) selectProfile(config, profile)
      return config
    }
    const config = await read(given.config, true)
    const schema = selectSchema(config, profile === undefined ? named : selectProfile(config, profile).schema)
    // A loop needs a server that this process starts.
    refuseLoop(config, [schema.name], process.env)
    const plan = { ...invocation, kind: 'stdio', given, uiPort: ui, config, read } as const
    const { serveStdio } = await import('./serve.js')
    return serveStdio({ ...plan, schemasOf: () => [schema.name] }, schema, { profile })
  },
})

export const httpOptions = {
  config: configOption,
  ...listening,
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
    const config = await read(given.config, true)
    refuseLoop(config, enabledSchemas(config), process.env)
    const plan = { ...invocation, kind: 'http', given, uiPort: ui ? 0 : undefined, config } as const
    const { serveHttp } = await import('./serve.js')
    return serveHttp({ ...plan, read, schemasOf: enabledSchemas }, given)
  },
})

const connectOptions = {
  header,
  auth: oneOf('HOW', 'auto, google (send ID tokens) or none', ['auto', 'google', 'none']),
  audience: valued('URL', 'Audience of the ID tokens (default: the origin of the url)'),
  'impersonate-service-account': valued('EMAIL', 'Get the ID tokens as this service account'),
  ...clientOptions,
  ui: uiPort,
  ...serving,
}

export const connectCommand = command({
  name: 'connect',
  takes: 'URL',
  about: 'one remote server on stdin and stdout',
  group: 'SERVE',
  details: `Serves one remote server on stdin and stdout, under its own names. For a service behind
Google's IAM every request carries an ID token from Application Default Credentials.`,
  examples: ["mcps-proxy connect https://mcp.example.com/mcp -H 'Authorization: Bearer …'"],
  options: connectOptions,
  conflicts: [
    ['auth', 'client-info', 'ID tokens need no login'],
    ['auth', 'client-metadata-url', 'ID tokens need no login'],
    ['audience', 'client-info', 'ID tokens need no login'],
    ...servingConflicts,
  ],
  first: 'the address of a server',
  wordsMax: 1,
  check: (given) => void remoteOf(given),
  run: async (given, invocation) => {
    const { checkCredentials, remoteConfig } = await import('./remote.js')
    const config = remoteConfig(remoteOf(given), given.timeout, invocation.program)
    const schema = selectSchema(config, 'default')
    const plan = { ...invocation, kind: 'stdio', given, uiPort: given.ui, config, read: undefined } as const
    await checkCredentials(schema)
    const { serveStdio } = await import('./serve.js')
    return serveStdio({ ...plan, schemasOf: () => [schema.name] }, schema)
  },
})

/** The server as a configuration entry. @throws UsageError */
export function remoteOf(given: Given<typeof connectOptions>): RemoteServer {
  const {
    words: [url = ''],
    auth: way,
    audience,
    'impersonate-service-account': impersonateServiceAccount,
    header: headers,
  } = given
  // The message does not repeat the address, which may contain a password or a key.
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url))
    throw new UsageError('that is no http:// or https:// address', 'it must be like https://host/mcp')
  const google = definedIn({ audience, impersonateServiceAccount })
  const isGoogle = way === 'google' || (way !== 'none' && (Object.keys(google).length > 0 || isCloudRun(url)))
  const client = clientInfoOf(given)
  if (client !== undefined) return { url, headers, auth: { type: 'oauth', ...client } }
  return { url, headers, ...(isGoogle && { auth: { type: 'google', ...google } }) }
}

/** Only a Cloud Run server gets an ID token without an option that asks for one. */
function isCloudRun(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' && hostname.endsWith('.run.app')
}

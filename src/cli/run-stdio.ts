// The stdio mode: one client, which started this process, and one schema.
//
// stdout belongs to the protocol, so everything said here goes to stderr.

import { resolve } from 'node:path'
import process from 'node:process'
import { refuseLoop } from '../config/proxy-chain.js'
import { selectProfile, selectSchema } from '../config/config.js'
import type { Configuration } from '../config/configuration.js'
import type { RemoteServer } from './remote.js'
import { clientInfoOf, clientOptions } from './client-info.js'
import { type Given, type Invocation, UsageError, command, oneOf, text } from './command-line.js'
import { cannotBoth, header, serveOptionsOf, serving, uiPort, viewOf, viewOptions } from './common-options.js'
import { loadWithSecrets } from './load.js'
import type { ServeTask } from './serve.js'

/** Serve one schema on stdin and stdout. */
export interface StdioTask extends ServeTask {
  readonly kind: 'stdio'
  readonly schema: string
  /** The one server of the schema that is served, under its own names; undefined is all. */
  readonly server: string | undefined
  /** The profile that is served, in place of a schema. */
  readonly profile: string | undefined
  /** The one server behind this process, instead of a configuration. */
  readonly remote: RemoteServer | undefined
}

/** The task of a process that serves a whole group. */
export const wholeGroup = {
  kind: 'stdio',
  schema: 'default',
  server: undefined,
  profile: undefined,
  remote: undefined,
} as const

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
    server: text('NAME', 'Serve this one server, under its own names'),
    ui: uiPort,
    ...serving,
  },
  read: (given): StdioTask => {
    const view = viewOf(given)
    const { server } = given
    if (server !== undefined && view.profile !== undefined)
      throw cannotBoth('--server', '--profile', 'a profile names its servers')
    return { ...wholeGroup, server, uiPort: given.ui, ...view, ...serveOptionsOf(given) }
  },
  run: runStdio,
})

const connectOptions = {
  header,
  auth: oneOf('HOW', 'auto, google (send ID tokens) or none', ['auto', 'google', 'none']),
  audience: text('URL', 'Audience of the ID tokens (default: the origin of the url)'),
  'impersonate-service-account': text('EMAIL', 'Get the ID tokens as this service account'),
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
  wordsMax: 1,
  read: (given): StdioTask => {
    const own = { config: undefined, remote: remoteOf(given), uiPort: given.ui }
    return { ...wholeGroup, ...own, ...serveOptionsOf(given), keepsLists: false }
  },
  run: runStdio,
})

/** @throws UsageError */
function remoteOf(given: Given<typeof connectOptions>): RemoteServer {
  const {
    words: [url],
    auth: way,
    audience,
    'impersonate-service-account': impersonate,
    header: headers,
  } = given
  if (url === undefined)
    throw new UsageError(
      'connect needs the address of a server',
      'for example: mcps-proxy connect https://h/mcp',
    )
  // Not repeated, since it may hold a password or a key.
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url))
    throw new UsageError('that is no http:// or https:// address', 'it must be like https://host/mcp')
  const wantsToken = audience !== undefined || impersonate !== undefined
  const client = clientInfoOf(given)
  if (way === 'none' && wantsToken)
    throw new UsageError(
      '--auth none sends no ID token',
      'leave out --audience and --impersonate-service-account',
    )
  if (client !== undefined && (way !== undefined || wantsToken))
    throw new UsageError(
      '--client-info and --client-metadata-url are for a login, and ID tokens need none',
      'leave out one',
    )
  const google = way === 'google' || (way !== 'none' && (wantsToken || isCloudRun(url)))
  return { url, headers, audience, impersonate, google, ...(client && { client }) }
}

/** Only a server of Cloud Run gets an ID token without an option that asks for one. */
function isCloudRun(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' && hostname.endsWith('.run.app')
}

/**
 * Serves until the client leaves, says `exit`, or a signal comes; everything is flushed and closed then.
 *
 * @returns the exit code.
 * @throws ConfigError when the configuration cannot be used.
 */
async function runStdio(command: StdioTask, invocation: Invocation): Promise<number> {
  const config = await configOf(command, invocation)
  const schema = selectSchema(config, schemaOf(command, config))
  const isFile = command.remote === undefined
  // A process that starts no server starts no loop either.
  if (isFile) refuseLoop(config, [schema.name], process.env)
  const read = isFile
    ? (path: string | undefined) => fileConfig({ ...command, config: path }, invocation)
    : undefined
  const plan = { ...invocation, command, config, read, schemasOf: () => [schema.name] }
  const { serveStdio } = await import('./serve.js')
  return serveStdio(plan, schema)
}

/** One remote server is a configuration too. */
async function configOf(command: StdioTask, invocation: Invocation): Promise<Configuration> {
  const { remote, timeoutMs } = command
  if (remote === undefined) return fileConfig(command, invocation, true)
  const { remoteConfig } = await import('./remote.js')
  return remoteConfig(remote, timeoutMs, invocation.program)
}

async function fileConfig(
  { config: path, timeoutMs, schema, server, profile, record }: StdioTask,
  { program }: Invocation,
  asks = false,
): Promise<Configuration> {
  const files = record === undefined ? [] : [resolve(record)]
  const only = server === undefined ? undefined : { schema, server }
  const config = await loadWithSecrets(
    { path, timeoutMs, files, defaults: { 'server.name': program }, servesHttp: false, only },
    { schema: profile === undefined ? schema : undefined, asks },
  )
  // Also of a file that is read again: without its profile a client has nothing.
  if (profile !== undefined) selectProfile(config, profile)
  return config
}

function schemaOf({ schema, profile }: StdioTask, config: Configuration): string {
  return profile === undefined ? schema : selectProfile(config, profile).schema
}

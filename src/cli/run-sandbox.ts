// The command `sandbox`: one sandbox, on HTTP or on stdin and stdout, or a report of its runtimes.

import { join } from 'node:path'
import process from 'node:process'
import { text as textOf } from 'node:stream/consumers'
import { type ConfigOverrides, resolveConfig, selectSchema } from '../config/config.js'
import { programFolder } from '../folder.js'
import type { EventSource, ProxyEvents } from '../index.js'
import { escapeText } from '../text/escape.js'
import { realRuntime } from '../real-runtime.js'
import { settingsVariable } from '../upstream/contracts/sandbox-config.js'
import type { SandboxServerConfig } from '../upstream/contracts/server-config.js'
import type { SandboxRuntimeName } from '../upstream/contracts/sandbox-config.js'
import { type Invocation, command, flag, oneOf, text } from './command-line.js'
import { cannotBoth, serveOptionsOf } from './common-options.js'
import { type HttpTask, httpOptions, httpTaskOf } from './run-http.js'
import { type StdioTask, wholeGroup } from './run-stdio.js'
import type { Run } from './serve.js'
import type { Configuration } from '../config/configuration.js'
import { ConfigError } from '../config/problems.js'
import { loadWithSecrets } from './load.js'
import { say } from './console.js'

/** Serve a sandbox on HTTP, or on stdin and stdout. */
export interface SandboxTask {
  /** Whether it only says which runtimes can be used. */
  readonly check: boolean
  readonly serve: StdioTask | HttpTask
  readonly enablesCors: boolean
  readonly runtime: SandboxRuntimeName | undefined
}

export const sandboxCommand = command({
  name: 'sandbox',
  about: 'tools that run code and commands, isolated',
  group: 'SERVE',
  details: `Serves tools that run code and commands in sandboxes: over HTTP, port 8775, or --stdio.
--check says which runtimes can be used here, and what would mend the others.`,
  examples: ['mcps-proxy sandbox --check', 'mcps-proxy sandbox --stdio'],
  options: {
    stdio: flag('Serve on stdin and stdout'),
    http: flag('Serve on HTTP, which is the default'),
    check: text('[FILE]', 'Say which runtimes can be used here; exit 0 or 1', { kind: 'optional-value' }),
    runtime: oneOf('NAME', 'What runs the code (default: auto)', [
      'auto',
      'bubblewrap',
      'container',
      'microsandbox-server',
    ]),
    'enable-cors': flag('Answer requests of web pages'),
    ...httpOptions,
  },
  read: (given): SandboxTask => {
    const { stdio, http, check, runtime, 'enable-cors': enablesCors } = given
    if (stdio && http) throw cannotBoth('--stdio', '--http')
    const whole = httpTaskOf(given)
    const config = check === undefined || check === '' ? whole.config : check
    const serve = stdio
      ? { ...wholeGroup, config, uiPort: undefined, ...serveOptionsOf(given) }
      : { ...whole, config }
    return { check: check !== undefined, serve, enablesCors, runtime }
  },
  run: runSandbox,
})

/** The sandbox did not start; its log says why. */
class NotStartedError extends Error {
  override readonly name = 'NotStartedError'
}

/**
 * Serves until a signal comes, or the client leaves.
 *
 * @returns the exit code; 1 when nothing can run the code
 * @throws ConfigError when the configuration cannot be used
 */
async function runSandbox(command: SandboxTask, invocation: Invocation): Promise<number> {
  const { config, server } = await sandboxPlan(command, invocation.program)
  if (command.check) {
    const { report, code } = await runtimeReport(server)
    await say('stdout', report)
    return code
  }
  try {
    return await serve(command, invocation, config, started(server.name))
  } catch (error) {
    if (!(error instanceof NotStartedError)) throw error
    const { report } = await runtimeReport(server)
    await say('stderr', `${invocation.program}: the sandbox did not start\n${report}`)
    return 1
  }
}

/** Nothing is served before the program has opened. */
async function serve(
  command: SandboxTask,
  invocation: Invocation,
  config: Configuration,
  isStarted: (events: EventSource<ProxyEvents>) => Promise<void>,
): Promise<number> {
  const { serve: served } = command
  const own = { ...invocation, config, read: readerOf(command, invocation), schemasOf: () => ['default'] }
  const { serveHttp, serveStdio } = await import('./serve.js')
  switch (served.kind) {
    case 'stdio':
      return serveStdio({ ...own, command: served }, selectSchema(config, 'default'), isStarted)
    case 'http':
      return serveHttp({ ...own, command: served }, isStarted)
  }
}

/** Of the file that is named; the options of the command line stay as they are. */
function readerOf(command: SandboxTask, { program }: Invocation): Run['read'] {
  if (command.serve.config === undefined) return undefined
  return async () => (await sandboxPlan(command, program)).config
}

/** Resolves when the server takes calls, and rejects when it has failed. */
function started(name: string): (events: EventSource<ProxyEvents>) => Promise<void> {
  return (events) =>
    new Promise((resolve, reject) => {
      const stop = events.on('server', ({ server, state }) => {
        if (server !== name || (state !== 'ready' && state !== 'failed')) return
        stop()
        if (state === 'ready') resolve()
        else reject(new NotStartedError(name))
      })
    })
}

/** The report of the program about its runtimes. */
async function runtimeReport({
  sandbox,
}: SandboxServerConfig): Promise<{ readonly report: string; readonly code: number }> {
  const runtime = realRuntime()
  try {
    const child = runtime.spawn({
      command: process.execPath,
      args: [join(programFolder, 'sandbox.js'), '--check'],
      cwd: process.cwd(),
      env: { ...definedOf(process.env), [settingsVariable]: JSON.stringify(sandbox) },
    })
    child.stdin.on('error', () => undefined).end()
    const [report, errors, { code }] = await Promise.all([
      textOf(child.stdout),
      textOf(child.stderr),
      child.exited,
    ])
    return { report: inLines(report + errors), code: code ?? 1 }
  } finally {
    await runtime.close()
  }
}

function definedOf(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}

function inLines(text: string): string {
  return text.split('\n').map(escapeText).join('\n')
}

/** As in the service that it takes the place of. */
const frontDefaults = { 'server.port': 8775, 'server.cors.enabled': false }

/** Calls that run may take so long to finish, unless the file says otherwise: code takes longer than most tools. */
const CALLS_MS = 30_000

/** The configuration, and the sandbox that is the only server in it. */
interface SandboxPlan {
  readonly config: Configuration
  readonly server: SandboxServerConfig
}

/** @throws ConfigError also when a file has no sandbox, or several */
async function sandboxPlan(command: SandboxTask, program: string): Promise<SandboxPlan> {
  const { config: path, timeoutMs } = command.serve
  const servesHttp = command.serve.kind === 'http'
  const overrides = { defaults: { ...frontDefaults, 'server.name': program }, timeoutMs, servesHttp }
  const read = path === undefined ? ownConfig(overrides) : await loadWithSecrets({ path, ...overrides })
  const found = onlySandbox(read)
  const { runtime = found.sandbox.runtime } = command
  const server: SandboxServerConfig = {
    ...found,
    disabled: false,
    lazy: false,
    prefix: false,
    describe: false,
    // The sandbox says itself what is wrong with arguments, in words that its clients know.
    argumentChecks: 'off',
    sandbox: { ...found.sandbox, runtime },
  }
  const { cors } = read.server
  const schema = { name: 'default', enabled: true, servers: [server] }
  const { drainTimeoutMs = CALLS_MS } = read.server
  const front = {
    ...read.server,
    drainTimeoutMs,
    cors: {
      ...cors,
      enabled: cors.enabled || command.enablesCors,
      localPages: cors.localPages === true || command.enablesCors,
    },
  }
  return { server, config: { ...read, server: front, schemas: new Map([['default', schema]]) } }
}

function ownConfig(overrides: ConfigOverrides): Configuration {
  const section = { mcpServers: { sandbox: { type: 'sandbox' } } }
  return resolveConfig(section, {
    ...overrides,
    source: 'the command line',
    folder: process.cwd(),
    env: process.env,
  })
}

function onlySandbox({ schemas, source }: Configuration): SandboxServerConfig {
  const servers = [...schemas.values()].filter(({ enabled }) => enabled).flatMap((schema) => schema.servers)
  const found = servers.filter(
    (server): server is SandboxServerConfig => server.kind === 'sandbox' && !server.disabled,
  )
  const [only, ...others] = found
  if (only !== undefined && others.length === 0) return only
  const problem = only === undefined ? 'has no sandbox' : `has ${found.length} sandboxes`
  const hint = 'must have one server with "type": "sandbox" that is enabled'
  throw new ConfigError('CONFIG_INVALID', source, [{ path: '', problem, hint }])
}

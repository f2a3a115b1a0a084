// The command `sandbox`: one sandbox, on HTTP or on stdin and stdout, or a report of its runtimes.

import { join } from 'node:path'
import process from 'node:process'
import { text as textOf } from 'node:stream/consumers'
import { type ConfigOverrides, resolveConfig, selectSchema } from '../config/config.js'
import { programFolder } from '../folder.js'
import type { EventSource, ProxyEvents } from '../index.js'
import { escapeText } from '../text/escape.js'
import { definedIn } from '../text/json-object.js'
import { realRuntime } from '../real-runtime.js'
import { settingsVariable } from '../upstream/contracts/sandbox-config.js'
import type { SandboxServerConfig } from '../upstream/contracts/server-config.js'
import { type Given, type Invocation, command, flag, oneOf, valued } from './command-line.js'
import { servingConflicts } from './common-options.js'
import { httpOptions } from './serve-commands.js'
import type { Configuration, Environment } from '../config/configuration.js'
import { ConfigError } from '../config/problems.js'
import { loadWithSecrets } from './load.js'
import { Failure, say } from './console.js'

const options = {
  stdio: flag('Serve on stdin and stdout'),
  http: flag('Serve on HTTP, which is the default'),
  check: valued('[FILE]', 'Say which runtimes can be used here; exit 0 or 1', { kind: 'optional-value' }),
  runtime: oneOf('NAME', 'What runs the code (default: auto)', [
    'auto',
    'bubblewrap',
    'container',
    'microsandbox-server',
  ]),
  'enable-cors': flag('Answer requests of web pages'),
  ...httpOptions,
}

type SandboxTask = Given<typeof options>

export const sandboxCommand = command({
  name: 'sandbox',
  about: 'tools that run code and commands, isolated',
  group: 'SERVE',
  details: `Serves tools that run code and commands in sandboxes: over HTTP, port 8775, or --stdio.
--check says which runtimes can be used here, and how to fix the others.`,
  examples: ['mcps-proxy sandbox --check', 'mcps-proxy sandbox --stdio'],
  options,
  conflicts: [['stdio', 'http'], ...servingConflicts],
  run: runSandbox,
})

/**
 * Serves until a signal arrives, or the client leaves.
 *
 * @returns the exit code; 1 if nothing can run the code
 * @throws ConfigError if the configuration cannot be used
 */
async function runSandbox(given: SandboxTask, invocation: Invocation): Promise<number> {
  const { program } = invocation
  const { config, server } = await sandboxPlan(given, program)
  if (given.check !== undefined) {
    const { report, code } = await runtimeReport(server)
    await say('stdout', report)
    return code
  }
  // Reads the named file again; the options of the command line stay the same.
  const read = given.config === undefined ? undefined : async () => (await sandboxPlan(given, program)).config
  const kind = given.stdio ? 'stdio' : 'http'
  const plan = { ...invocation, kind, given, uiPort: undefined, config, read, schemasOf } as const
  const { serveHttp, serveStdio } = await import('./serve.js')
  // Nothing is served before the sandbox is ready.
  const ready = started(server.name)
  return given.stdio
    ? serveStdio(plan, selectSchema(config, 'default'), { ready })
    : serveHttp(plan, given, ready)
}

function schemasOf(): readonly string[] {
  return ['default']
}

/** Resolves when the server is ready, and rejects when it has failed. */
function started(name: string): (events: EventSource<ProxyEvents>) => Promise<void> {
  return (events) =>
    new Promise((resolve, reject) => {
      const stop = events.on('server', ({ server, state }) => {
        if (server !== name || (state !== 'ready' && state !== 'failed')) return
        stop()
        if (state === 'ready') resolve()
        else reject(new Failure('the sandbox did not start; mcps-proxy sandbox --check says how to fix that'))
      })
    })
}

async function runtimeReport({
  sandbox,
}: SandboxServerConfig): Promise<{ readonly report: string; readonly code: number }> {
  const runtime = realRuntime()
  try {
    const child = runtime.spawn({
      command: process.execPath,
      args: [join(programFolder, 'sandbox.js'), '--check'],
      cwd: process.cwd(),
      env: { ...definedIn(process.env), [settingsVariable]: JSON.stringify(sandbox) },
    })
    child.stdin.on('error', () => undefined).end()
    const [report, errors, { code }] = await Promise.all([
      textOf(child.stdout),
      textOf(child.stderr),
      child.exited,
    ])
    return { report: (report + errors).split('\n').map(escapeText).join('\n'), code: code ?? 1 }
  } finally {
    await runtime.close()
  }
}

/** As in the service that this command replaces; code takes longer than most tools to finish. */
const frontDefaults = { 'server.port': 8775, 'server.cors.enabled': false, 'server.drainTimeout': 30_000 }

/** @throws ConfigError also if a file has no sandbox, or several */
async function sandboxPlan(
  given: SandboxTask,
  program: string,
): Promise<{ readonly config: Configuration; readonly server: SandboxServerConfig }> {
  const path = given.check || given.config
  const defaults = { ...frontDefaults, 'server.name': program }
  const env = { ...process.env, ...(given['enable-cors'] && { MCP_ENABLE_CORS: 'true' }) }
  const overrides = { defaults, env, timeoutMs: given.timeout, servesHttp: !given.stdio }
  const read = path === undefined ? ownConfig(overrides) : await loadWithSecrets({ path, ...overrides })
  const found = onlySandbox(read)
  const { runtime = found.sandbox.runtime } = given
  const server: SandboxServerConfig = {
    ...found,
    disabled: false,
    lazy: false,
    prefix: false,
    describe: false,
    // The sandbox itself reports wrong arguments, in words that its clients know.
    argumentChecks: 'off',
    sandbox: { ...found.sandbox, runtime },
  }
  const schema = { name: 'default', enabled: true, servers: [server] }
  return { server, config: { ...read, schemas: new Map([['default', schema]]) } }
}

function ownConfig(overrides: ConfigOverrides & { readonly env: Environment }): Configuration {
  const section = { mcpServers: { sandbox: { type: 'sandbox' } } }
  return resolveConfig(section, { ...overrides, source: 'the command line', folder: process.cwd() })
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

// The configuration of `sandbox`: one sandbox, whose tools keep their names.

import type { SandboxServerConfig } from '../upstream/contracts/server-config.js'
import type { Configuration } from '../config/configuration.js'
import { ConfigError } from '../config/problems.js'
import { type ConfigOverrides, resolveConfig } from '../config/config.js'
import type { SandboxTask } from './run-sandbox.js'
import { loadWithSecrets } from './load.js'

/** As in the service that it takes the place of. */
const frontDefaults = { port: 8775, cors: false }

/** Calls that run may take so long to finish, unless the file says otherwise: code takes longer than most tools. */
const CALLS_MS = 30_000

/** The configuration, and the sandbox that is the only server in it. */
export interface SandboxPlan {
  readonly config: Configuration
  readonly server: SandboxServerConfig
}

/** @throws ConfigError also when a file has no sandbox, or several */
export async function sandboxPlan(command: SandboxTask, program: string): Promise<SandboxPlan> {
  const { config: path, timeoutMs } = command.serve
  const servesHttp = command.serve.kind === 'http'
  const overrides = { frontDefaults, nameDefault: program, timeoutMs, servesHttp }
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

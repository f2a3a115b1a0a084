// A server that failed for want of a variable which the proxy has, and does not pass on.

import type { ServerConfig } from '../upstream/contracts/server-config.js'
import type { Environment } from '../config/configuration.js'
import { spawnSpec } from '../upstream/process/environment.js'

/** The remedy in the configuration, where a line of stderr names such a variable; else undefined. */
export function inheritHint(
  server: ServerConfig,
  own: Environment,
  stderr: readonly string[],
): string | undefined {
  if (server.kind !== 'stdio') return undefined
  const { env } = spawnSpec(server, own, {})
  const named = stderr.flatMap((line) => line.match(/\b[A-Z][A-Z0-9_]{3,}\b/g) ?? [])
  const missing = [...new Set(named)].filter((name) => own[name] !== undefined && env[name] === undefined)
  if (missing.length === 0) return undefined
  const { inheritEnv } = server
  const names = [...(inheritEnv === true ? [] : inheritEnv), ...missing]
  return `${missing.join(', ')} is set here and not passed on; add "inheritEnv": ${JSON.stringify(names)} to the server`
}

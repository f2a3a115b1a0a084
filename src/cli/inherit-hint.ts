// A server that failed for want of a variable.

import type { ServerConfig } from '../upstream/contracts/server-config.js'
import type { Environment } from '../config/configuration.js'
import { spawnSpec } from '../upstream/process/environment.js'

/** How servers say that a variable is missing. */
const wanting = /\b(?:not set|unset|missing|required|must be set|not (?:defined|found|provided)|KeyError)\b/i

/** The remedy in the configuration, where a line of stderr names a variable that the server lacks; else undefined. */
export function inheritHint(
  server: ServerConfig,
  own: Environment,
  stderr: readonly string[],
): string | undefined {
  if (server.kind !== 'stdio') return undefined
  const { env } = spawnSpec(server, own)
  const named = stderr.flatMap(namesIn)
  const missing = [...new Set(named)].filter((name) => own[name] !== undefined && env[name] === undefined)
  if (missing.length === 0) {
    const [wanted] = stderr.filter((line) => wanting.test(line)).flatMap(namesIn)
    if (wanted?.includes('_') !== true || env[wanted] !== undefined) return undefined
    return `set it: add "env": { "${wanted}": "…" } to the server`
  }
  const { inheritEnv } = server
  const names = [...(inheritEnv === true ? [] : inheritEnv), ...missing]
  return `${missing.join(', ')} is set here and not passed on; add "inheritEnv": ${JSON.stringify(names)} to the server`
}

function namesIn(line: string): string[] {
  return line.match(/\b[A-Z][A-Z0-9_]{3,}\b/g) ?? []
}

// Detects a configuration that would serve itself.
//
// A configuration may name a program that starts this proxy with the same configuration, directly or through a
// wrapper. Such proxies would start each other without end. So every server gets a variable that names the
// files and schemas above it, and the programs that the server starts inherit the variable. It contains paths
// and names of schemas, and no secret.

import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Configuration, Environment } from './configuration.js'
import { realPlace } from '../runtime/places.js'
import { ConfigError, type ConfigProblem } from './problems.js'

/** The value is a list with spaces: `file:///path/config.json#schema`, the outermost first. */
const chainVariable = 'MCPS_PROXY_CHAIN'

/** The most proxies that start each other. Two or three suffice, and each costs a process for every server. */
const chainLengthMax = 8

/** Returns the variables that tell the servers of a schema which proxies are above them. */
export function selfStartVariables(
  { source }: Configuration,
  schema: string,
  env: Environment,
): Readonly<Record<string, string>> {
  return { [chainVariable]: [...chainAbove(env), linkOf(source, schema)].join(' ') }
}

/** @throws ConfigError (`CONFIG_LOOP`) if a proxy above serves one of these schemas, or the chain is too long */
export function refuseLoop(config: Configuration, schemas: readonly string[], env: Environment): void {
  const [problem] = loopProblems(config, schemas, env)
  if (problem !== undefined) throw new ConfigError('CONFIG_LOOP', config.source, [problem])
}

export function loopProblems(
  { source }: Configuration,
  schemas: readonly string[],
  env: Environment,
): ConfigProblem[] {
  const above = chainAbove(env)
  const hint = `$${chainVariable} names what is served above`
  if (above.length >= chainLengthMax) {
    const problem = `would be served by the ${above.length + 1}th proxy in a chain of proxies that start each other, and there may be ${chainLengthMax}`
    return [{ path: '', problem, hint: `make the chain shorter; ${hint}` }]
  }
  if (!isAbsolute(source)) return []
  const served = schemas.filter((schema) => above.includes(linkOf(source, schema)))
  return served.map((schema) => ({
    path: '',
    problem: `group "${schema}" of this file is served already by the proxy that started this one, and proxies would start each other without end`,
    hint: `remove the server that starts mcps-proxy from the file, or name another file or group for it; ${hint}`,
  }))
}

/** One link over the limit proves that the chain is too long, so further links are not read. */
function chainAbove(env: Environment): string[] {
  const value = env[chainVariable] ?? ''
  return value.split(' ', chainLengthMax + 1).filter((link) => link !== '')
}

/** A file has one link under all of its names. A configuration without a file can only be counted. */
function linkOf(source: string, schema: string): string {
  return isAbsolute(source) ? `${pathToFileURL(realPlace(source)).href}#${schema}` : 'mcps-proxy:no-file'
}

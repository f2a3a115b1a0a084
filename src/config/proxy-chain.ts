// The configurations that led to this process, so that none is served by itself.
//
// A configuration may name a program that starts this one with the same configuration, directly or through a wrapper,
// and that would go on without end. So every server gets a variable that names the files and schemas above it, and
// what it starts inherits it. It holds paths and names of schemas, and no secret.

import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Configuration, Environment } from './configuration.js'
import { realPlace } from '../runtime/places.js'
import { ConfigError, type ConfigProblem } from './problems.js'

/** Its value is a list with spaces: `file:///path/config.json#schema`, the outermost first. */
const chainVariable = 'MCPS_PROXY_CHAIN'

/** Proxies that start each other; two or three are enough for every purpose, and each costs a process for every server. */
const chainLengthMax = 8

/** The variables by which the servers of a schema, and what they start, know what is above them. */
export function selfStartVariables(
  { source }: Configuration,
  schema: string,
  env: Environment,
): Readonly<Record<string, string>> {
  return { [chainVariable]: [...chainAbove(env), linkOf(source, schema)].join(' ') }
}

/** @throws ConfigError (`CONFIG_LOOP`) when one of these schemas is served above already, or the chain is too long */
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
    hint: `take the server that starts mcps-proxy out of the file, or name another file or group for it; ${hint}`,
  }))
}

/** One more than may be there is enough to know that there are too many. */
function chainAbove(env: Environment): string[] {
  const value = env[chainVariable] ?? ''
  return value.split(' ', chainLengthMax + 1).filter((link) => link !== '')
}

/** A file is the same under all of its names; what is no file can only be counted. */
function linkOf(source: string, schema: string): string {
  return isAbsolute(source) ? `${pathToFileURL(realPlace(source)).href}#${schema}` : 'mcps-proxy:no-file'
}

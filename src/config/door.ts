// A door: one server of a configuration, under its own names.

import { isObject } from '../text/json-object.js'
import { ConfigError } from './problems.js'
import { namesHint } from '../text/nearest.js'

/** The server that is served alone. */
export interface Door {
  readonly schema: string
  readonly server: string
}

/**
 * The value of a file with one server, whose tools keep their names. Mistakes in other servers do not count.
 *
 * @throws ConfigError (`CONFIG_SERVER`) when the schema has no such server, or a disabled one
 */
export function throughDoor(value: unknown, { schema, server }: Door, source: string): unknown {
  if (!isObject(value)) return value
  return onlyThrough(withoutOthers(value), { schema, server }, source)
}

/** Profiles and tokens are about servers that are not read. */
function withoutOthers(value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { server: front } = value
  const rest = without(value, 'profiles')
  return isObject(front) ? { ...rest, server: without(front, 'tokens') } : rest
}

function without(value: Readonly<Record<string, unknown>>, key: string): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(value).filter(([each]) => each !== key))
}

function onlyThrough(
  value: Readonly<Record<string, unknown>>,
  { schema, server }: Door,
  source: string,
): unknown {
  const { schemas } = value
  if (!isObject(schemas)) return schema === 'default' ? withOnly(value, server, source) : value
  const own = schemas[schema]
  return isObject(own)
    ? { ...value, schemas: { ...schemas, [schema]: withOnly(own, server, source) } }
    : value
}

function withOnly(owner: Readonly<Record<string, unknown>>, server: string, source: string): unknown {
  const key = isObject(owner['servers']) && !isObject(owner['mcpServers']) ? 'servers' : 'mcpServers'
  const servers = owner[key]
  if (!isObject(servers)) return owner
  const entry = Object.hasOwn(servers, server) ? servers[server] : undefined
  if (entry === undefined) throw failure(source, `has no server "${server}"`, hintOf(server, servers))
  if (!isObject(entry)) return { ...owner, [key]: { [server]: entry } }
  if (entry['disabled'] === true || entry['enabled'] === false)
    throw failure(source, `has the server "${server}" disabled`, `mcps-proxy enable ${server} lets it start`)
  const own = { ...entry, prefix: false, describe: false }
  return { ...owner, [key]: { [server]: own } }
}

function hintOf(server: string, servers: object): string {
  return namesHint(server, Object.keys(servers), 'mcps-proxy add adds one')
}

function failure(source: string, problem: string, hint: string): ConfigError {
  return new ConfigError('CONFIG_SERVER', source, [{ path: '', problem, hint }])
}

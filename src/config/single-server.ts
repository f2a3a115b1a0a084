// One server of a configuration, which is served alone under its own names.

import { isObject } from '../text/json-object.js'
import { namesHint } from '../text/nearest.js'
import { ConfigError } from './problems.js'

/** The server that is served alone. */
export interface SingleServer {
  readonly schema: string
  readonly server: string
}

/**
 * The value of a file with one server, whose tools keep their names. Mistakes in other servers do not count, and neither do
 * profiles and tokens, which name them.
 *
 * @throws ConfigError (`CONFIG_SERVER`) when the schema has no such server, or a disabled one
 */
export function onlyServer(value: unknown, { schema, server }: SingleServer, source: string): unknown {
  if (!isObject(value)) return value
  const { profiles: _, server: front, ...rest } = value
  const { tokens: __, ...frontRest } = isObject(front) ? front : {}
  const file = { ...rest, ...(front !== undefined && { server: isObject(front) ? frontRest : front }) }
  const { schemas } = value
  if (!isObject(schemas)) return schema === 'default' ? groupOfOne(file, server, source) : file
  const group = schemas[schema]
  if (!isObject(group)) return file
  return { ...file, schemas: { ...schemas, [schema]: groupOfOne(group, server, source) } }
}

function groupOfOne(group: Readonly<Record<string, unknown>>, server: string, source: string): unknown {
  const key = isObject(group['servers']) && !isObject(group['mcpServers']) ? 'servers' : 'mcpServers'
  const servers = group[key]
  if (!isObject(servers)) return group
  const entry = Object.hasOwn(servers, server) ? servers[server] : undefined
  if (entry === undefined) {
    const hint = namesHint(server, Object.keys(servers), 'mcps-proxy add adds one')
    throw failure(source, `has no server "${server}"`, hint)
  }
  if (!isObject(entry)) return { ...group, [key]: { [server]: entry } }
  if (entry['disabled'] === true || entry['enabled'] === false)
    throw failure(source, `has the server "${server}" disabled`, `mcps-proxy enable ${server} lets it start`)
  return { ...group, [key]: { [server]: { ...entry, prefix: false, describe: false } } }
}

function failure(source: string, problem: string, hint: string): ConfigError {
  return new ConfigError('CONFIG_SERVER', source, [{ path: '', problem, hint }])
}

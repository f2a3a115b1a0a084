// The three shapes of a configuration file, recognised by their keys:
// `schemas`, or the `mcpServers` of most clients, or the `servers` of editors.
// The last two become the schema `default`.

import { namesOnOneLine, plainNames } from './kinds.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'
import type { SchemaConfig } from './configuration.js'
import { schemaFields } from './fields.js'
import { unresolved } from './references.js'
import { type Section, readNamed } from './section.js'
import { wholeFileKeyHints } from './key-hints.js'
import { type SchemaContext, readServer } from './server.js'
import { sharedFields, urlKeys } from './server-fields.js'
import { memberPath } from '../text/member-path.js'
import { isObject } from '../text/json-object.js'

const shapes = ['schemas', 'mcpServers', 'servers'] as const

/** The schemas of a file, in its order. */
export function readSchemas(
  root: Section,
  context: Omit<SchemaContext, 'schema'>,
): Map<string, SchemaConfig> {
  const present = shapes.filter((shape) => root.has(shape))
  const [shape] = present
  const every = { ...context, shared: root.readAll(sharedFields) }
  if (shape === undefined) {
    root.findings.problem(root.path, 'has no servers', whereServersGo(root))
    return new Map()
  }
  if (present.length > 1) {
    const names = present.map((name) => `"${name}"`).join(' and ')
    const hint = 'keep one of them and move the servers of the other there'
    root.findings.problem(root.path, `has ${names}`, hint)
  }
  if (shape === 'schemas') return readGroups(root, every)
  return new Map([['default', readSchema('default', true, shape, root, every)]])
}

/** The place of a server in the file. */
export function serverPath(root: Section, schema: string, name: string): string {
  const shape = shapes.find((each) => root.has(each)) ?? 'mcpServers'
  const group = shape === 'schemas' ? `${memberPath('schemas', schema)}.mcpServers` : shape
  return memberPath(group, name)
}

/** Files of other programs that hold their servers elsewhere: VS Code's settings, opencode, Zed, Goose, Amp. */
const otherShapes = ['mcp', 'context_servers', 'extensions', 'amp.mcpServers'] as const

/** Of a text that was pasted at the wrong place, where it belongs. */
function whereServersGo(root: Section): string {
  const members = root.entries()
  if (isServer(Object.fromEntries(members)))
    return 'this is one server: write { "mcpServers": { "NAME": { … } } }'
  if (members.some(([, value]) => isServer(value))) return 'write { "mcpServers": { … } } around the servers'
  if (otherShapes.some((key) => root.has(key)))
    return 'this is a file of another program: mcps-proxy import reads those, and mcps-proxy add adds one server'
  return 'add "mcpServers": { … } or "schemas": { … }'
}

function isServer(value: unknown): boolean {
  return isObject(value) && ['command', ...urlKeys].some((key) => key in value)
}

function readGroups(root: Section, context: Omit<SchemaContext, 'schema'>): Map<string, SchemaConfig> {
  return readNamed(root, 'schemas', plainNames, (name, section) => {
    const enabled = section.read(schemaFields, 'enabled')
    const shared = section.readAll(sharedFields, context.shared)
    const schema = readSchema(name, enabled, 'mcpServers', section, { ...context, shared })
    section.reportUnknownKeys(wholeFileKeyHints)
    return schema
  })
}

function readSchema(
  name: string,
  enabled: boolean,
  key: string,
  section: Section,
  context: Omit<SchemaContext, 'schema'>,
): SchemaConfig {
  const { references } = context
  const isNeeded = enabled && (references.schema ?? name) === name
  const own = { ...context, schema: name, ...(!isNeeded && { references: unresolved }) }
  if (!section.has(key)) section.problem(key, 'is missing', 'must be an object')
  const named = readNamed(section, key, namesOnOneLine, (server, written) => readServer(server, written, own))
  const servers = [...named.values()]
  if (enabled && servers.every((server) => server?.disabled === true))
    section.warn(key, 'has no server that is enabled')
  const read = servers.filter((server): server is ServerConfig => server !== undefined)
  return { name, enabled, servers: read }
}

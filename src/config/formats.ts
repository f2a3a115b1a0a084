// The three shapes of a configuration file, recognised by their keys:
// `schemas`, or the `mcpServers` of most clients, or the `servers` of editors.
// The last two become the schema `default`.

import type { ServerConfig } from '../upstream/contracts/server-config.js'
import type { SchemaConfig } from './configuration.js'
import { schemaFields } from './fields.js'
import { unresolved } from './references.js'
import { Section } from './section.js'
import { withLogins } from './login-variables.js'
import { type SchemaContext, readServer } from './server.js'
import { sharedFields, urlKeys } from './server-fields.js'
import { isObject } from '../text/json-object.js'
import { memberPath } from '../text/member-path.js'

const shapes = ['schemas', 'mcpServers', 'servers'] as const

/** The names that a schema may have. The name stands in the address of the HTTP front. */
export const schemaNamePattern = '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$'

/** The names that a server may have: any text that can be shown on one line. */
export const serverNamePattern = '^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]+$'

/** The schemas of a file, in its order. */
export function readSchemas(root: Section, context: SchemaContext): Map<string, SchemaConfig> {
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
  const schemas =
    shape === 'schemas' ? readNamed(root, every) : [readSchema('default', true, shape, root, every)]
  return new Map(schemas.map((schema) => [schema.name, schema]))
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

function readNamed(root: Section, context: SchemaContext): SchemaConfig[] {
  const rule = { pattern: schemaNamePattern, hint: 'use letters, digits, "_", "-" and "."' }
  const schemas = readMembers(root, 'schemas', rule, (name, section) => {
    const enabled = section.read(schemaFields, 'enabled')
    const shared = section.readAll(sharedFields, context.shared)
    const schema = readSchema(name, enabled, 'mcpServers', section, { ...context, shared })
    section.warnOfUnknownKeys()
    return schema
  })
  return schemas.filter((schema) => schema !== undefined)
}

function readSchema(
  name: string,
  enabled: boolean,
  key: string,
  section: Section,
  context: SchemaContext,
): SchemaConfig {
  const rule = { pattern: serverNamePattern, hint: 'use a name without control characters' }
  const { references } = context
  const isNeeded = enabled && (references.schema ?? name) === name
  const own = isNeeded ? context : { ...context, references: unresolved }
  const servers = readMembers(section, key, rule, (server, written) => readServer(server, written, own))
  if (enabled && servers.every((server) => server?.disabled === true))
    section.warn(key, 'has no server that is enabled')
  const read = servers.filter((server): server is ServerConfig => server !== undefined)
  return { name, enabled, servers: read.map((server) => withLogins(server, read)) }
}

interface NameRule {
  readonly pattern: string
  /** The names that can be used, in words. */
  readonly hint: string
}

/** Reads each object under a key; undefined where it was reported as a problem. */
function readMembers<T>(
  owner: Section,
  key: string,
  { pattern, hint }: NameRule,
  read: (name: string, section: Section) => T,
): (T | undefined)[] {
  const { findings } = owner
  const members = owner.entries(key).map(([name, value]) => {
    const path = memberPath(owner.pathOf(key), name)
    if (!new RegExp(pattern, 'u').test(name)) findings.problem(path, 'has a name that cannot be used', hint)
    const section = Section.of(value, path, findings)
    return { name, path, read: section && read(name, section) }
  })
  // Names that differ only in case are two names, but rarely meant to be.
  const seen = new Map<string, string>()
  for (const { name, path } of members) {
    const twin = seen.get(name.toLowerCase())
    if (twin === undefined) seen.set(name.toLowerCase(), name)
    else findings.warn(path, `differs from "${twin}" only in case`)
  }
  return members.map((member) => member.read)
}

// The three shapes of a configuration file, recognised by their keys:
// `schemas`, or the `mcpServers` of most clients, or the `servers` of editors.
// The last two become the schema `default`.

import type { SchemaConfig } from './configuration.js'
import { schemaFields } from './fields.js'
import { memberPath } from './problems.js'
import { Section } from './section.js'
import { readServer, readShared } from './server.js'
import type { ServerContext } from './server.js'

const shapes = ['schemas', 'mcpServers', 'servers'] as const

/** What a schema may be called: it stands in the address of the HTTP front. */
export const schemaNamePattern = '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$'

/** What a server may be called: anything that can be shown on one line. */
export const serverNamePattern = '^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]+$'

/** The schemas of a file, in its order. */
export function readSchemas(root: Section, context: ServerContext): Map<string, SchemaConfig> {
  const present = shapes.filter((shape) => root.has(shape))
  const shape = present[0]
  const every = { ...context, shared: readShared(root, context.shared) }
  if (shape === undefined) {
    root.findings.problem(root.path, 'has no servers', 'add "mcpServers": { … } or "schemas": { … }')
    return new Map()
  }
  if (present.length > 1) reportTwoShapes(root, present)
  if (shape === 'schemas') return readNamedSchemas(root, every)
  return new Map([['default', readSchema('default', true, shape, root, every)]])
}

function reportTwoShapes(root: Section, present: readonly string[]): void {
  const names = present.map((name) => `"${name}"`).join(' and ')
  root.findings.problem(root.path, `has ${names}`, 'keep one of them and move the servers of the other there')
}

function readNamedSchemas(root: Section, context: ServerContext): Map<string, SchemaConfig> {
  const schemas = new Map<string, SchemaConfig>()
  for (const [name, value] of root.entries('schemas')) {
    const path = memberPath(root.pathOf('schemas'), name)
    if (!new RegExp(schemaNamePattern, 'u').test(name))
      root.findings.problem(path, 'has a name that cannot be used', 'use letters, digits, "_", "-" and "."')
    const section = Section.of(value, path, root.findings)
    if (section !== undefined) schemas.set(name, readNamedSchema(name, section, context))
  }
  warnOfTwins(schemas.keys(), root.pathOf('schemas'), root)
  return schemas
}

function readNamedSchema(name: string, section: Section, context: ServerContext): SchemaConfig {
  const enabled = section.read(schemaFields, 'enabled')
  const shared = readShared(section, context.shared)
  const schema = readSchema(name, enabled, 'mcpServers', section, { ...context, shared })
  section.warnOfUnknownKeys()
  return schema
}

function readSchema(
  name: string,
  enabled: boolean,
  key: string,
  section: Section,
  context: ServerContext,
): SchemaConfig {
  const members = section.entries(key)
  const path = section.pathOf(key)
  const servers = members.flatMap(([server, value]) => readMember(server, value, path, section, context))
  warnOfTwins(
    members.map(([server]) => server),
    path,
    section,
  )
  const isWhole = servers.length === members.length
  if (enabled && isWhole && servers.every(({ disabled }) => disabled))
    section.findings.warn(path, 'has no server that is enabled')
  return { name, enabled, servers }
}

function readMember(name: string, value: unknown, path: string, owner: Section, context: ServerContext) {
  const at = memberPath(path, name)
  if (!new RegExp(serverNamePattern, 'u').test(name))
    owner.findings.problem(at, 'has a name that cannot be used', 'use a name without control characters')
  const section = Section.of(value, at, owner.findings)
  return (section && readServer(name, section, context)) ?? []
}

/** Names that differ only in case are two names, but rarely meant to be. */
function warnOfTwins(names: Iterable<string>, path: string, { findings }: Section): void {
  const seen = new Map<string, string>()
  for (const name of names) {
    const twin = seen.get(name.toLowerCase())
    if (twin === undefined) seen.set(name.toLowerCase(), name)
    else findings.warn(memberPath(path, name), `differs from "${twin}" only in case`)
  }
}

// The servers of a file -> one `ServerConfig` each, in schemas.
//
// A file has one of three shapes: `schemas`, the `mcpServers` of most clients, or the `servers` of editors. The
// last two become the schema `default`.

import type { ServerCommon, ServerConfig } from '../upstream/contracts/server-config.js'
import type { ChangeAction } from '../upstream/contracts/list-guard.js'
import { sessionRevision } from '../mcp/revisions.js'
import { isObject } from '../text/json-object.js'
import { memberPath } from '../text/member-path.js'
import { namesHint, nearest } from '../text/nearest.js'
import type { Environment, SchemaConfig } from './configuration.js'
import { Expansion, type ExpansionSources } from './expand.js'
import { earlierKeys } from './key-hints.js'
import { groupFields } from './keys.js'
import { whatItIs } from './problems.js'
import { type References, unresolved } from './references.js'
import { readHttp } from './remote-server.js'
import { readSandbox } from './sandbox-server.js'
import {
  anyServerFields,
  protocols,
  serverFields,
  type sharedFields,
  typeNames,
  urlKeys,
} from './server-keys.js'
import { readStdio } from './stdio-server.js'
import {
  type Location,
  type ValuesOf,
  isObjectAt,
  namesOnOneLine,
  plainNames,
  readMembers,
  readValues,
  reportUnknownKeys,
} from './values.js'

/** The settings of a file for `mcps.lock`. A server may override them. */
export interface LockSettings {
  readonly path: string
  readonly isOn: boolean
  readonly action: ChangeAction
}

/** The values that all servers share, and the sources of their strings. */
export interface ServersContext extends ExpansionSources {
  readonly source: string
  /** The only server to read. It keeps its own names, and mistakes in others of its schema do not count. */
  readonly only: { readonly schema: string; readonly server: string } | undefined
  readonly env: Environment
  readonly references: References
  /** The values beside `mcpServers`, for all servers there. */
  readonly shared: ValuesOf<typeof sharedFields>
  /** Folders with programs for sandboxes, for servers that name none. */
  readonly programs: readonly string[]
  readonly lock: LockSettings
  readonly isGuarded: boolean
  readonly timeoutMs: number
  /** Whether the file sets `timeoutMs`. */
  readonly isTimeoutWritten: boolean
  /** From the command line. Overrides the file. */
  readonly timeoutMsForAll: number | undefined
}

interface SchemaContext extends ServersContext {
  readonly schema: string
}

const shapes = ['schemas', 'mcpServers', 'servers'] as const

export function readSchemas(root: Location, context: ServersContext): Map<string, SchemaConfig> {
  const present = shapes.filter((shape) => root.has(shape))
  const [shape] = present
  if (shape === undefined) {
    root.problem('has no servers', whereServersGo(root))
    return new Map()
  }
  if (present.length > 1)
    root.problem(
      `has ${present.map((name) => `"${name}"`).join(' and ')}`,
      'keep one of them and move the servers of the other there',
    )
  const at = root.at(shape)
  if (!isObjectAt(at)) return new Map()
  if (shape !== 'schemas') return new Map([['default', readSchema('default', true, at, context)]])
  return readMembers(at, plainNames, (place, name) => {
    if (!isObjectAt(place)) return undefined
    const {
      enabled,
      mcpServers = place.at('mcpServers'),
      ...shared
    } = readValues(groupFields, place, context.shared)
    const isThere = mcpServers.value !== undefined && isObjectAt(mcpServers)
    const schema = isThere
      ? readSchema(name, enabled, mcpServers, { ...context, shared })
      : { name, enabled, servers: [] }
    reportUnknownKeys(place, Object.keys(groupFields))
    return schema
  })
}

export function serverPath(root: Location, schema: string, name: string): string {
  const shape = shapes.find((each) => root.has(each)) ?? 'mcpServers'
  const group = shape === 'schemas' ? `${memberPath('schemas', schema)}.mcpServers` : shape
  return memberPath(group, name)
}

/** Keys under which other programs have their servers: VS Code's settings, opencode, Zed, Goose, Amp. */
const otherShapes = ['mcp', 'context_servers', 'extensions', 'amp.mcpServers'] as const

/** Says where the servers belong if a user pasted a text at the wrong place. */
function whereServersGo(root: Location): string {
  if (isServer(root.value)) return 'this is one server: write { "mcpServers": { "NAME": { … } } }'
  if (root.members.some(([, value]) => isServer(value)))
    return 'write { "mcpServers": { … } } around the servers'
  if (otherShapes.some((key) => root.has(key)))
    return 'this is a file of another program: mcps-proxy import reads those, and mcps-proxy add adds one server'
  return 'add "mcpServers": { … } or "schemas": { … }'
}

function isServer(value: unknown): boolean {
  return isObject(value) && ['command', ...urlKeys].some((key) => key in value)
}

function readSchema(name: string, enabled: boolean, at: Location, context: ServersContext): SchemaConfig {
  const { references } = context
  const isNeeded = enabled && (references.schema ?? name) === name
  const own = { ...context, schema: name, ...(!isNeeded && { references: unresolved }) }
  const only = context.only?.schema === name ? context.only.server : undefined
  if (only !== undefined) checkOnly(at, only)
  const all = readMembers(at, namesOnOneLine, (place, server) => {
    if (only === undefined) return readServer(server, place, own)
    const read = server === only ? readServer(server, place, own) : undefined
    return read && { ...read, prefix: false, describe: false }
  })
  const servers = [...all.values()]
  if (enabled && servers.every((server) => server.disabled) && servers.length === at.members.length)
    at.warn('has no server that is enabled')
  return { name, enabled, servers }
}

function checkOnly(at: Location, name: string): void {
  const names = at.members.map(([each]) => each)
  if (!names.includes(name))
    at.problem(`has no server "${name}"`, namesHint(name, names, 'mcps-proxy add adds one'))
  else if (isDisabled(at.at(name)))
    at.at(name).problem('is disabled', `mcps-proxy enable ${name} lets it start`)
}

function isDisabled(server: Location): boolean {
  return server.at('disabled').value === true || server.at('enabled').value === false
}

/** Returns the server, or undefined after a report that its type is wrong. */
function readServer(name: string, at: Location, context: SchemaContext): ServerConfig | undefined {
  if (!isObjectAt(at)) return undefined
  const kind = kindOf(at)
  const fields = kind === undefined ? Object.values(serverFields) : [serverFields[kind]]
  // No secret is fetched for a server that does not start.
  const expansion = new Expansion(isDisabled(at) ? { ...context, references: unresolved } : context)
  const { problems } = at.reading
  const own = at.with({
    expand: (text, place, rule) => expansion.textOf(place.path.slice(at.path.length + 1), text, rule),
    onSecret: (value) => expansion.addSecret(value),
    variables: { env: context.env, areAbove: false, problems },
  })
  const read = kind && readKind(kind, name, own, expansion, context)
  reportUnknownKeys(at, fields.flatMap(Object.keys))
  if (read === undefined) return undefined
  const expanded = expansion.result()
  const server = { ...read, ...expanded, unavailable: expanded.unavailable ?? read.unavailable }
  warnOfExpansion(at, server, expansion)
  return server
}

function readKind(
  kind: ServerConfig['kind'],
  name: string,
  at: Location,
  expansion: Expansion,
  context: SchemaContext,
): ServerConfig {
  const common = readCommon(name, kind, at, context)
  switch (kind) {
    case 'stdio':
      return readStdio(at, common, expansion, context)
    case 'http':
    case 'sse':
      return readHttp(kind, at, common)
    case 'sandbox': {
      const timeoutMs = context.timeoutMsForAll ?? (at.has('timeout') ? common.timeoutMs : undefined)
      return readSandbox(at, common, { ...context, timeoutMs })
    }
  }
}

function kindOf(at: Location): ServerConfig['kind'] | undefined {
  const type = at.at('type')
  if (type.value === undefined) return guessKind(at)
  const kinds = ['stdio', 'http', 'sse', 'sandbox'] as const
  const kind = kinds.find((each) => typeNames[each].some((name) => name === type.value))
  if (kind === undefined) {
    const types = kinds.flatMap((each) => typeNames[each].map((name) => `"${name}"`)).join(', ')
    type.problem(whatItIs(type.value), `must be one of ${types}`)
  }
  return kind
}

function guessKind(at: Location): 'stdio' | 'http' | undefined {
  const hasCommand = at.has('command')
  const hasUrl = urlKeys.some((key) => at.has(key))
  if (hasCommand && !hasUrl) return 'stdio'
  if (hasUrl && !hasCommand) return 'http'
  if (hasUrl)
    at.problem(
      'has both "command" and "url"',
      'keep one of them, or say which with "type": "stdio" or "type": "http"',
    )
  else
    at.problem('has neither "command" nor "url"', 'add "command" for a program or "url" for a remote server')
  return hasCommand ? 'stdio' : undefined
}

/** Most connections download a package and its dependencies within this time. */
const firstStartMs = 120_000

/** The default of the longest time of a call with progress. */
const totalTimeoutMsDefault = 600_000

function readCommon(
  name: string,
  kind: ServerConfig['kind'],
  at: Location,
  context: SchemaContext,
): ServerCommon {
  const {
    disabled,
    enabled,
    protocol,
    lock: written,
    ...values
  } = readValues(anyServerFields, at, context.shared)
  if (kind === 'sse' && protocols.get(protocol) === 'stateless')
    at.at('protocol').problem(
      `is "${protocol}", which needs no session`,
      'write "type": "http", or another protocol',
    )
  const timeoutMs = context.timeoutMsForAll ?? values.timeoutMs
  const lock = lockAction(written, context.lock)
  return {
    ...values,
    name,
    variables: [],
    secrets: [],
    unavailable: undefined,
    disabled: disabled || !enabled,
    protocol: protocols.get(protocol) ?? 'auto',
    revision: sessionRevision(protocol)?.version,
    firstStartTimeoutMs: at.has('command') && !at.has('startTimeout') ? firstStartMs : values.startTimeoutMs,
    timeoutMs: timeoutMs ?? context.timeoutMs,
    totalTimeoutMs: values.totalTimeoutMs ?? Math.max(totalTimeoutMsDefault, timeoutMs ?? context.timeoutMs),
    ...(timeoutMs === undefined &&
      !context.isTimeoutWritten && { settableIn: `'${name}' in ${context.source}` }),
    ...(lock !== undefined && { lock }),
  }
}

function lockAction(
  written: boolean | { readonly onChange: ChangeAction | undefined } | undefined,
  { isOn, action }: LockSettings,
): ChangeAction | false | undefined {
  if (written === false) return false
  if (written === undefined && !isOn) return undefined
  return typeof written === 'object' ? (written.onChange ?? action) : action
}

/** A hint for `${FORM:…}` with an unknown form. */
function meantBy(text: string): string {
  const [, form = ''] = /^\$\{(\w+):/.exec(text) ?? []
  const removed = earlierKeys.get(`\${${form}:…}`)
  if (removed !== undefined) return removed
  const [near] = nearest(form, ['file', 'cmd', 'keyring', 'input', 'env'])
  return near === undefined ? 'a variable is ${NAME}' : `did you mean \${${near}:…}?`
}

function warnOfExpansion(at: Location, server: ServerConfig, expansion: Expansion): void {
  for (const text of expansion.foreign)
    at.warn(`${text} is not a variable and stays as it is; ${meantBy(text)}`)
  const key = server.kind === 'stdio' ? 'env' : 'headers'
  const values = server.kind === 'stdio' ? server.env : 'headers' in server ? server.headers : {}
  // Other programs expand such a value: `$NAME` alone or behind a space.
  for (const [name, value] of Object.entries(values))
    if (/(?:^|\s)\$[A-Za-z_]\w*$/.test(value))
      at.at(key).at(name).warn('is passed on unchanged; for a variable write ${NAME} in place of $NAME')
  if (server.unavailable !== undefined && !server.disabled) at.warn(`is disabled: ${server.unavailable}`)
}

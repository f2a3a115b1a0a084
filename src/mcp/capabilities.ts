// Capabilities, extensions and names that clients, servers and the proxy declare.

import { toOneLine } from '../jsonrpc/line.js'
import { membersAt } from '../jsonrpc/members.js'
import type { Span } from '../jsonrpc/scan.js'
import { type Edit, inOrder, splice } from '../jsonrpc/splice.js'
import { onOneLine, quote, rawAt, stringAt } from '../jsonrpc/text.js'
import { isObject, memberAt, objectIn } from '../text/json-object.js'
import { listKinds } from './list-items.js'
import { cutNamed } from './member-edits.js'
import type { ListKind } from './methods.js'
import type { Revision } from './revisions.js'

export interface ServerIdentity {
  readonly name: string
  readonly version: string
}

export function identityJson({ name, version }: ServerIdentity): string {
  return `{"name":${quote(name)},"version":${quote(version)}}`
}

/** Longer names are cut, because people read them. */
const NAME_LENGTH_MAX = 200

export interface ClientInfo {
  readonly name: string | undefined
  readonly version: string | undefined
}

/** Reads the `clientInfo` at `span` of an accepted message. */
export function clientInfo(line: Buffer, span: Span | undefined): ClientInfo | undefined {
  const members = membersAt(line, span)
  const shown = (name: string): string | undefined => members?.string(name)?.slice(0, NAME_LENGTH_MAX)
  return members && { name: shown('name'), version: shown('version') }
}

/** The capabilities of a client, as a server that only this client uses receives them. */
export interface ClientCapabilities {
  readonly json: string
  readonly names: ReadonlySet<string>
}

export const noCapabilities: ClientCapabilities = { json: '{}', names: new Set() }

/** The client capabilities for a process that several clients share. Servers remember roots, so these belong to one client. */
export const sharedCapabilities: ClientCapabilities = {
  json: '{"sampling":{},"elicitation":{}}',
  names: new Set(['sampling', 'elicitation']),
}

/** Reads the capabilities object at `span`, which may be missing, without parts that do not pass. */
export function clientCapabilities(
  bytes: Buffer,
  span: Span | undefined,
  { era, serverRequests }: Pick<Revision, 'era' | 'serverRequests'>,
): ClientCapabilities {
  const own = membersAt(bytes, span) && toOneLine(bytes.subarray(span?.start, span?.end))
  if (own === undefined) return noCapabilities
  // A client whose revision lacks elicitation cannot be asked, even if it declares the capability.
  const isAsked = era === 'stateless' || serverRequests.includes('elicitation/create')
  const names = ['tasks', ...(isAsked ? [] : ['elicitation'])]
  const cuts = cutsOf(own, { start: 0, end: own.length }, names, era === 'stateless' ? [] : notRelayed(false))
  const json = splice(own, cuts).toString()
  return { json, names: new Set(Object.keys(objectIn(json) ?? {})) }
}

/**
 * The edits that cut capabilities that the proxy does not relay out of a forwarded handshake.
 *
 * `bytes` is a whole message; the capabilities object at `span` may be missing. With `hasTasks`, `tasks`
 * stays.
 */
export function capabilityEdits(bytes: Buffer, span: Span | undefined, hasTasks: boolean): readonly Edit[] {
  return cutsOf(bytes, span, hasTasks ? [] : ['tasks'], notRelayed(false))
}

function cutsOf(
  bytes: Buffer,
  span: Span | undefined,
  names: readonly string[],
  extensionNames: readonly string[],
): readonly Edit[] {
  const members = membersAt(bytes, span)
  const extensions = membersAt(bytes, members?.span('extensions'))
  return inOrder([
    ...(members === undefined ? [] : cutNamed(members, names, 'capability')),
    ...(extensions === undefined ? [] : cutNamed(extensions, extensionNames, 'capability')),
  ])
}

export function hasCapability({ json }: ClientCapabilities, name: string, part: string): boolean {
  return memberAt(objectIn(json), [name, part]) !== undefined
}

/** Whether a client has declared the extension Tasks, so that a server may answer its calls with a task. */
export function declaresTasks({ json, names }: ClientCapabilities): boolean {
  return names.has('extensions') && memberAt(objectIn(json), ['extensions', TASKS]) !== undefined
}

/** Whether a server can ask this client for anything. */
export function isAskable({ names }: ClientCapabilities): boolean {
  return everyAskable.some((name) => names.has(name))
}

export const everyAskable: readonly string[] = ['elicitation', 'roots', 'sampling']

/** The capabilities for requests of servers, with the parts by which a server chooses what it offers. */
const askableParts: Readonly<Record<string, readonly string[]>> = {
  elicitation: ['form', 'url'],
  roots: [],
  sampling: ['context', 'tools'],
}

/**
 * The declared capabilities that allow requests of servers, in one spelling.
 *
 * With `isSeveral`, `roots` is left out: a server remembers the first answer for all clients.
 */
export function askableCapabilities(
  { json }: ClientCapabilities,
  isSeveral: boolean = false,
): ClientCapabilities {
  const given = json === noCapabilities.json ? undefined : objectIn(json)
  const asked = Object.entries(askableParts).filter(
    ([name]) => memberAt(given, [name]) !== undefined && !(isSeveral && name === 'roots'),
  )
  if (asked.length === 0) return noCapabilities
  const texts = asked.map(([name, parts]) => {
    const declared = parts.filter((part) => memberAt(given, [name, part]) !== undefined)
    return `"${name}":{${declared.map((part) => `"${part}":{}`).join(',')}}`
  })
  return { json: `{${texts.join(',')}}`, names: new Set(asked.map(([name]) => name)) }
}

/** The optional requests about tasks that a server supports. */
export interface TaskCapabilities {
  readonly list: boolean
  readonly cancel: boolean
}

export interface ServerCapabilities {
  readonly tools: boolean
  readonly prompts: boolean
  readonly resources: boolean
  readonly subscribe: boolean
  readonly logging: boolean
  readonly completions: boolean
  readonly tasks: TaskCapabilities | undefined
  /** The extensions, each with its settings as raw JSON. */
  readonly extensions: ReadonlyMap<string, string>
  /** Raw JSON of the member `experimental`; undefined if it is missing or empty. */
  readonly experimental: string | undefined
  /** The lists for which the server sends a notification after a change. */
  readonly changes: readonly ListKind[]
}

/** Reads the capabilities of a server that speaks this revision. */
export function serverCapabilities(
  bytes: Buffer,
  span: Span | undefined,
  { hasTasks }: Pick<Revision, 'hasTasks'>,
): ServerCapabilities {
  const members = membersAt(bytes, span)
  const given = span && objectIn(rawAt(bytes, span))
  // Servers in PHP write an empty object as an empty array.
  const has = (name: string): boolean => {
    const value = memberAt(given, [name])
    return isObject(value) || (Array.isArray(value) && value.length === 0)
  }
  const promises = (name: string, what: string): boolean => memberAt(given, [name, what]) === true
  return {
    tools: has('tools'),
    prompts: has('prompts'),
    resources: has('resources'),
    subscribe: promises('resources', 'subscribe'),
    logging: has('logging'),
    completions: has('completions'),
    tasks: hasTasks ? taskCapabilities(memberAt(given, ['tasks'])) : undefined,
    extensions: extensionsAt(bytes, members?.span('extensions')),
    experimental: experimentalAt(bytes, members?.span('experimental')),
    changes: listKinds.filter((kind) => promises(kind === 'templates' ? 'resources' : kind, 'listChanged')),
  }
}

function experimentalAt(bytes: Buffer, span: Span | undefined): string | undefined {
  const size = membersAt(bytes, span)?.size ?? 0
  return span === undefined || size === 0 ? undefined : onOneLine(rawAt(bytes, span))
}

function taskCapabilities(given: unknown): TaskCapabilities | undefined {
  const has = (...path: readonly string[]): boolean => isObject(memberAt(given, path))
  return has('requests', 'tools', 'call') ? { list: has('list'), cancel: has('cancel') } : undefined
}

/** Used for a server that has not answered yet, because a session cannot learn of a capability later. */
export const presumedCapabilities: ServerCapabilities = {
  tools: true,
  prompts: true,
  resources: true,
  subscribe: true,
  logging: true,
  completions: true,
  tasks: { list: true, cancel: true },
  extensions: new Map(),
  experimental: undefined,
  changes: listKinds,
}

/**
 * Merges the capabilities of many servers into one object.
 *
 * `listChanged` is always true, because servers come and go. `roots` and `sampling` of the client are in the
 * object if the client declares them. `tasks` lists the servers that can run tasks for the client.
 */
export function mergeCapabilities(
  servers: readonly ServerCapabilities[],
  client: ClientCapabilities,
  tasks: readonly TaskCapabilities[],
  { extensions, experimental }: Pick<ServerCapabilities, 'extensions' | 'experimental'>,
): string {
  const any = (has: (server: ServerCapabilities) => boolean): boolean => servers.some(has)
  const subscribe = any((server) => server.subscribe) ? '"subscribe":true,' : ''
  const relayed = [...extensions].map(([name, settings]) => `${quote(name)}:${onOneLine(settings)}`)
  const members = [
    any((server) => server.tools) && '"tools":{"listChanged":true}',
    any((server) => server.prompts) && '"prompts":{"listChanged":true}',
    any((server) => server.resources) && `"resources":{${subscribe}"listChanged":true}`,
    any((server) => server.logging) && '"logging":{}',
    any((server) => server.completions) && '"completions":{}',
    tasks.length > 0 && `"tasks":${mergedTasks(tasks)}`,
    client.names.has('roots') && '"roots":{}',
    client.names.has('sampling') && '"sampling":{}',
    experimental !== undefined && `"experimental":${experimental}`,
    relayed.length > 0 && `"extensions":{${relayed.join(',')}}`,
  ]
  return `{${members.filter((member) => member !== false).join(',')}}`
}

function mergedTasks(tasks: readonly TaskCapabilities[]): string {
  const list = tasks.some((each) => each.list) ? '"list":{},' : ''
  const cancel = tasks.some((each) => each.cancel) ? '"cancel":{},' : ''
  return `{${list}${cancel}"requests":{"tools":{"call":{}}}}`
}

// Extensions of the protocol, which clients and servers name in their capabilities (MCP 2026-07-28, Extensions).

/** The extension Tasks of 2026-07-28: a server may answer a call with a task. */
export const TASKS = 'io.modelcontextprotocol/tasks'

/** Extensions for the login of one end at the other. The proxy is itself the other end. */
const ofLogin = [
  'io.modelcontextprotocol/oauth-client-credentials',
  'io.modelcontextprotocol/enterprise-managed-authorization',
]

/** Extensions that appear only in results, so that any number of servers may have them. */
const ofData: ReadonlySet<string> = new Set(['io.modelcontextprotocol/ui'])

/** The extensions that the proxy does not relay. `hasTasks` lets Tasks pass, for stateless clients only. */
export function notRelayed(hasTasks: boolean): readonly string[] {
  return hasTasks ? ofLogin : [TASKS, ...ofLogin]
}

/** Whether clients see an extension of a server. The proxy shows an unknown one only for a single server. */
export function isShown(name: string, hasTasks: boolean, isAlone: boolean): boolean {
  if (name === TASKS) return hasTasks
  return ofData.has(name) || (isAlone && !ofLogin.includes(name))
}

/** Whether an extension may add methods, which the proxy forwards if there is only one server. */
export function mayHaveMethods(name: string): boolean {
  return name !== TASKS && !ofData.has(name) && !ofLogin.includes(name)
}

/** Raw JSON of the client capabilities that a request about tasks needs. */
export const tasksRequired: string = `{"extensions":{"${TASKS}":{}}}`

/** The extensions in a capabilities object, each with its settings as raw JSON. */
function extensionsAt(bytes: Buffer, span: Span | undefined): ReadonlyMap<string, string> {
  const members = [...(membersAt(bytes, span) ?? [])]
  return new Map(members.map(({ key, value }) => [stringAt(bytes, key) ?? '', rawAt(bytes, value)]))
}

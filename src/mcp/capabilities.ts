// The capabilities of clients and servers, and those that the proxy declares for all of them.

import { type Members, membersAt } from '../jsonrpc/members.js'
import type { Span } from '../jsonrpc/scan.js'
import { toLine } from '../jsonrpc/line.js'
import { type Edit, inOrder, splice } from '../jsonrpc/splice.js'
import { onOneLine, quote, rawAt } from '../jsonrpc/text.js'
import { TASKS, extensionsAt, notRelayed } from './extensions.js'
import { listKinds } from './lists.js'
import { cutNamed } from './member-edits.js'
import type { ListKind } from './methods/method-row.js'
import type { Revision } from './revisions/revision.js'

/** What a client declared, as it will be declared to a server that only it uses. */
export interface ClientCapabilities {
  /** Raw JSON of the object. */
  readonly json: string
  readonly names: ReadonlySet<string>
}

export const noCapabilities: ClientCapabilities = { json: '{}', names: new Set() }

/** What is declared to a server whose process several clients share. Servers remember roots, so these belong to one client. */
export const sharedCapabilities: ClientCapabilities = {
  json: '{"sampling":{},"elicitation":{}}',
  names: new Set(['sampling', 'elicitation']),
}

/** The capabilities object at `span`, which may be missing; tasks that a client runs, and extensions that do not pass, are no part of it. */
export function clientCapabilities(
  bytes: Buffer,
  span: Span | undefined,
  { form, serverRequests }: Pick<Revision, 'form' | 'serverRequests'>,
): ClientCapabilities {
  const members = span === undefined ? undefined : membersAt(bytes, span)
  if (members === undefined) return noCapabilities
  const isAsked = form === 'typed' || serverRequests.includes('elicitation/create')
  const kept: string[] = []
  const names = new Set<string>()
  for (const { key, value } of members) {
    const name = nameOf(bytes, key)
    if (name === 'tasks') continue
    // A client of a revision without elicitation cannot be asked, whatever it declares: a server must not rely on it.
    if (name === 'elicitation' && !isAsked) continue
    names.add(name)
    const isOfBoth = name !== 'extensions' || form === 'typed'
    kept.push(`${rawAt(bytes, key)}:${isOfBoth ? rawAt(bytes, value) : relayedAt(bytes, value)}`)
  }
  return { json: onOneLine(`{${kept.join(',')}}`), names }
}

function relayedAt(bytes: Buffer, { start, end }: Span): string {
  const own = toLine(bytes.subarray(start, end))
  const members = membersAt(own, { start: 0, end: own.length })
  const edits = members === undefined ? [] : cutNamed(members, notRelayed(false), 'capability')
  return splice(own, edits).toString()
}

/**
 * The edits that cut what is not relayed out of a handshake that passes through; `hasTasks` says that the member `tasks` is.
 *
 * `bytes` is a whole message; the capabilities object at `span` may be missing.
 */
export function capabilityEdits(bytes: Buffer, span: Span | undefined, hasTasks: boolean): readonly Edit[] {
  const members = membersAt(bytes, span)
  if (members === undefined) return []
  const extensions = membersAt(bytes, members.span('extensions'))
  return inOrder([
    ...(hasTasks ? [] : cutNamed(members, ['tasks'], 'capability')),
    ...(extensions === undefined ? [] : cutNamed(extensions, notRelayed(false), 'capability')),
  ])
}

/** Whether a client declared this part of a capability. */
export function hasCapability({ json }: ClientCapabilities, name: string, part: string): boolean {
  const bytes = Buffer.from(json)
  const span = membersAt(bytes, { start: 0, end: bytes.length })?.span(name)
  return membersAt(bytes, span)?.span(part) !== undefined
}

/** Whether a client has declared that a call of it may go on as a task. */
export function declaresTasks({ json, names }: ClientCapabilities): boolean {
  if (!names.has('extensions') || !json.includes(TASKS)) return false
  const bytes = Buffer.from(json)
  const members = membersAt(bytes, { start: 0, end: bytes.length })
  return extensionsAt(bytes, members?.span('extensions')).has(TASKS)
}

/** Whether a server could ask this client anything. */
export function isAskable(capabilities: ClientCapabilities): boolean {
  return ['roots', 'sampling', 'elicitation'].some((name) => capabilities.names.has(name))
}

/** Of what a server may ask a client for, the parts that decide what it offers to that client. */
const askableParts: Readonly<Record<string, readonly string[]>> = {
  elicitation: ['form', 'url'],
  roots: [],
  sampling: ['context', 'tools'],
}

/**
 * Of what a client declares, what a server can ask it for, in one spelling.
 *
 * Of requests that several clients may send, `roots` is left out: a server remembers the first answer for all of them.
 */
export function askableCapabilities(
  capabilities: ClientCapabilities,
  isSeveral: boolean = false,
): ClientCapabilities {
  const asked = askedOf(capabilities).filter(({ name }) => !isSeveral || name !== 'roots')
  if (asked.length === 0) return noCapabilities
  const members = asked.map(
    ({ name, parts }) => `"${name}":{${parts.map((part) => `"${part}":{}`).join(',')}}`,
  )
  return { json: `{${members.join(',')}}`, names: new Set(asked.map(({ name }) => name)) }
}

function askedOf({
  json,
}: ClientCapabilities): { readonly name: string; readonly parts: readonly string[] }[] {
  if (json === noCapabilities.json) return []
  const bytes = Buffer.from(json)
  const members = membersAt(bytes, { start: 0, end: bytes.length })
  return Object.entries(askableParts).flatMap(([name, parts]) => {
    const span = members?.span(name)
    if (span === undefined) return []
    const inner = membersAt(bytes, span)
    return [{ name, parts: parts.filter((part) => inner?.span(part) !== undefined) }]
  })
}

/** What can be asked about tasks, besides their state and their result. */
export interface TaskCapabilities {
  readonly list: boolean
  readonly cancel: boolean
}

/** The capabilities of a server. */
export interface ServerCapabilities {
  readonly tools: boolean
  readonly prompts: boolean
  readonly resources: boolean
  readonly subscribe: boolean
  readonly logging: boolean
  readonly completions: boolean
  /** Where tools can be called as tasks: what can be asked about these besides. */
  readonly tasks: TaskCapabilities | undefined
  /** Its extensions, each with its settings as raw JSON. */
  readonly extensions: ReadonlyMap<string, string>
  /** Raw JSON of what is agreed between those who know of it; undefined where that is nothing. */
  readonly experimental: string | undefined
  /** The lists of which the server tells when they have changed. */
  readonly changes: readonly ListKind[]
}

/** What a server declares that speaks this revision. */
export function serverCapabilities(
  bytes: Buffer,
  span: Span | undefined,
  { tasks }: Pick<Revision, 'tasks'>,
): ServerCapabilities {
  const members = membersAt(bytes, span)
  const has = (name: string): boolean => isObject(bytes, members?.span(name))
  const promises = (name: string, what: string): boolean =>
    isTrue(bytes, membersAt(bytes, members?.span(name)), what)
  return {
    tools: has('tools'),
    prompts: has('prompts'),
    resources: has('resources'),
    subscribe: promises('resources', 'subscribe'),
    logging: has('logging'),
    completions: has('completions'),
    tasks: tasks ? taskCapabilities(bytes, members?.span('tasks')) : undefined,
    extensions: extensionsAt(bytes, members?.span('extensions')),
    experimental: experimentalAt(bytes, members?.span('experimental')),
    changes: listKinds.filter((kind) => promises(kind === 'templates' ? 'resources' : kind, 'listChanged')),
  }
}

function experimentalAt(bytes: Buffer, span: Span | undefined): string | undefined {
  const size = membersAt(bytes, span)?.size ?? 0
  return span === undefined || size === 0 ? undefined : onOneLine(rawAt(bytes, span))
}

function taskCapabilities(bytes: Buffer, span: Span | undefined): TaskCapabilities | undefined {
  const members = membersAt(bytes, span)
  const tools = membersAt(bytes, membersAt(bytes, members?.span('requests'))?.span('tools'))
  if (!isObject(bytes, tools?.span('call'))) return undefined
  return { list: isObject(bytes, members?.span('list')), cancel: isObject(bytes, members?.span('cancel')) }
}

/** What is claimed for a server that has not said yet: a session cannot learn of a capability later. */
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
 * One capabilities object for many servers: the union.
 *
 * `listChanged` is always true, since the proxy tells of servers that come and go.
 * What the client declared is named too where the proxy relays it. `tasks` are of those servers at which the client
 * can have tasks, and the last are what else is relayed.
 */
export function mergeCapabilities(
  servers: readonly ServerCapabilities[],
  client: ClientCapabilities,
  tasks: readonly TaskCapabilities[],
  { extensions, experimental }: Pick<ServerCapabilities, 'extensions' | 'experimental'>,
): string {
  const any = (has: (server: ServerCapabilities) => boolean): boolean => servers.some(has)
  const members: string[] = []
  if (any((server) => server.tools)) members.push('"tools":{"listChanged":true}')
  if (any((server) => server.prompts)) members.push('"prompts":{"listChanged":true}')
  if (any((server) => server.resources)) {
    const subscribe = any((server) => server.subscribe) ? '"subscribe":true,' : ''
    members.push(`"resources":{${subscribe}"listChanged":true}`)
  }
  if (any((server) => server.logging)) members.push('"logging":{}')
  if (any((server) => server.completions)) members.push('"completions":{}')
  if (tasks.length > 0) members.push(`"tasks":${mergedTasks(tasks)}`)
  for (const name of ['roots', 'sampling']) if (client.names.has(name)) members.push(`${quote(name)}:{}`)
  if (experimental !== undefined) members.push(`"experimental":${experimental}`)
  if (extensions.size > 0) {
    const named = [...extensions].map(([name, settings]) => `${quote(name)}:${onOneLine(settings)}`)
    members.push(`"extensions":{${named.join(',')}}`)
  }
  return `{${members.join(',')}}`
}

function mergedTasks(tasks: readonly TaskCapabilities[]): string {
  const list = tasks.some((each) => each.list) ? '"list":{},' : ''
  const cancel = tasks.some((each) => each.cancel) ? '"cancel":{},' : ''
  return `{${list}${cancel}"requests":{"tools":{"call":{}}}}`
}

function nameOf(bytes: Buffer, key: Span): string {
  return bytes.toString('utf8', key.start + 1, key.end - 1)
}

function isObject(bytes: Buffer, span: Span | undefined): boolean {
  return span !== undefined && bytes[span.start] === 0x7b
}

function isTrue(bytes: Buffer, members: Members | undefined, name: string): boolean {
  const span = members?.span(name)
  return span !== undefined && bytes[span.start] === 0x74
}

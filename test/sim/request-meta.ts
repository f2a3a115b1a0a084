// What a request without a session says of itself: its `_meta`, and over HTTP its head, rightly or not (MCP 2026-07-28,
// Transports, Streamable HTTP: standard request headers).

import { at, textAt } from './json.js'
import type { Entry } from './ledger.js'
import { askable } from './rounds.js'

export type Askable = (typeof askable)[number]

/** What its client does when it is asked something. */
export const returns = [
  /** Comes back with the answers. */
  'answers',
  /** Comes back, and again in the same words. */
  'twice',
  /** Comes back, and again with other answers. */
  'changes',
  /** Comes back with some of the answers, and then with the others. */
  'parts',
  /** Another client comes with its state before it does. */
  'stolen',
  /** Comes with other arguments first. */
  'alters',
  /** Never comes back. */
  'leaves',
] as const

export type Returns = (typeof returns)[number]

export interface RequestMeta {
  readonly can: readonly Askable[]
  /** The first request of the call that it comes back to. */
  readonly root?: Entry
  /** What its head says over HTTP; the same as the message unless given. */
  readonly head?: Head | undefined
}

/** The revision without sessions. */
export const STATELESS = '2026-07-28'

const PREFIX = 'io.modelcontextprotocol'

/** In the `_meta` of everything that is said on account of a request that stays open. */
export const SUBSCRIPTION: string = `${PREFIX}/subscriptionId`

/** Members of `_meta`, behind others. */
export function metaMembers(meta: RequestMeta | undefined): string {
  if (meta === undefined) return ''
  const can = meta.can.map((name) => `"${name}":{}`).join(',')
  return `,"${PREFIX}/protocolVersion":"${STATELESS}","${PREFIX}/clientCapabilities":{${can}}`
}

/** The revision that a message names, whatever it is; undefined where it names none. */
export function revisionIn(message: unknown): string | undefined {
  return textAt(message, 'params', '_meta', `${PREFIX}/protocolVersion`)
}

/** What a message says that its client can be asked; undefined where it says nothing of it. */
export function capabilitiesIn(message: unknown): readonly string[] | undefined {
  const can = at(message, 'params', '_meta', `${PREFIX}/clientCapabilities`)
  if (typeof can !== 'object' || can === null) return undefined
  return askable.filter((name) => at(can, name) !== undefined)
}

/** Whether a request says that its client wants to hear log messages during it. */
export function wantsLogs(message: unknown): boolean {
  return textAt(message, 'params', '_meta', `${PREFIX}/logLevel`) !== undefined
}

export const heads = [
  'right',
  /** What could stand as it is stands in Base64. */
  'encoded',
  /** It names a session, which nobody looks at. */
  'of-session',
  'no-version',
  'other-version',
  'no-method',
  'other-method',
  'no-name',
  'other-name',
  'torn-name',
] as const

export type Head = (typeof heads)[number]

/** Whether a request must be refused for its head; `name` is what that has to repeat. */
export function isWrongHead(head: Head, name: string | undefined): boolean {
  const isServed = head === 'right' || head === 'encoded' || head === 'of-session'
  return !isServed && (name !== undefined || !head.endsWith('-name'))
}

/** The lines of such a head. */
export function headLines(head: Head, method: string, name: string | undefined): string[] {
  const version = head === 'other-version' ? '2025-11-25' : STATELESS
  return [
    ...(head === 'no-version' ? [] : [`MCP-Protocol-Version: ${version}`]),
    ...(head === 'no-method' ? [] : [`Mcp-Method: ${head === 'other-method' ? 'ping' : method}`]),
    ...(name === undefined || head === 'no-name' ? [] : [`Mcp-Name: ${writtenName(head, name)}`]),
    ...(head === 'of-session' ? ['Mcp-Session-Id: no-such-session'] : []),
  ]
}

function writtenName(head: Head, name: string): string {
  if (head === 'encoded') return `=?base64?${Buffer.from(name).toString('base64')}?=`
  if (head === 'torn-name') return '=?base64?QQ?='
  return head === 'other-name' ? `${name}s` : name
}

/** The name in a message that its head repeats. */
export function namedIn(method: string, message: unknown): string | undefined {
  if (method === 'resources/read') return textAt(message, 'params', 'uri')
  return method === 'tools/call' || method === 'prompts/get' ? textAt(message, 'params', 'name') : undefined
}

// The `_meta` of a request without a session, and its HTTP header fields, both right and wrong (MCP 2026-07-28,
// Transports, Streamable HTTP: standard request headers).

import { at, textAt } from './json.js'
import type { Entry } from './ledger.js'
import { askable } from './rounds.js'

export type Askable = (typeof askable)[number]

export const returns = [
  'answers',
  'twice',
  /** It returns the answers, and then other answers. */
  'changes',
  /** It returns some answers, and then the others. */
  'parts',
  'stolen',
  /** It first returns with other arguments. */
  'alters',
  'leaves',
] as const

export type Returns = (typeof returns)[number]

export interface RequestMeta {
  readonly can: readonly Askable[]
  /** The first request of the call that this one continues. */
  readonly root?: Entry
  /** The default is `right`. */
  readonly head?: Head | undefined
}

export const STATELESS = '2026-07-28'
const PREFIX = 'io.modelcontextprotocol'

/** Members of `_meta`, each after a comma. */
export function metaMembers(meta: RequestMeta | undefined): string {
  if (meta === undefined) return ''
  const can = meta.can.map((name) => `"${name}":{}`).join(',')
  return `,"${PREFIX}/protocolVersion":"${STATELESS}","${PREFIX}/clientCapabilities":{${can}}`
}

export function revisionIn(message: unknown): string | undefined {
  return textAt(message, 'params', '_meta', `${PREFIX}/protocolVersion`)
}

export function capabilitiesIn(message: unknown): readonly string[] | undefined {
  const can = at(message, 'params', '_meta', `${PREFIX}/clientCapabilities`)
  if (typeof can !== 'object' || can === null) return undefined
  return askable.filter((name) => at(can, name) !== undefined)
}

export function wantsLogs(message: unknown): boolean {
  return textAt(message, 'params', '_meta', `${PREFIX}/logLevel`) !== undefined
}

export const heads = [
  'right',
  /** Base64 where plain text would do. */
  'encoded',
  /** A session id, which the proxy must ignore. */
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

/** Whether the proxy must refuse the header fields. `name` is the value of `Mcp-Name`. */
export function isWrongHead(head: Head, name: string | undefined): boolean {
  const isServed = head === 'right' || head === 'encoded' || head === 'of-session'
  return !isServed && (name !== undefined || !head.endsWith('-name'))
}

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

export function namedIn(method: string, message: unknown): string | undefined {
  if (method === 'resources/read') return textAt(message, 'params', 'uri')
  return method === 'tools/call' || method === 'prompts/get' ? textAt(message, 'params', 'name') : undefined
}

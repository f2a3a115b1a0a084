// What the head of a request without a session says over HTTP, rightly or not (MCP 2026-07-28, Transports, Streamable
// HTTP: standard request headers).

import { STATELESS } from './request-meta.js'

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

const served: ReadonlySet<Head> = new Set(['right', 'encoded', 'of-session'])

/** What a request says of itself that its head repeats. */
export interface Repeated {
  readonly method: string
  readonly name: string | undefined
}

/** Whether such a request must be refused for its head. */
export function isWrongHead(head: Head, { name }: Repeated): boolean {
  if (name === undefined && (head === 'no-name' || head === 'other-name' || head === 'torn-name'))
    return false
  return !served.has(head)
}

/** The lines of such a head. */
export function headLines(head: Head, { method, name }: Repeated): string[] {
  const version = head === 'other-version' ? '2025-11-25' : STATELESS
  return [
    ...(head === 'no-version' ? [] : [`MCP-Protocol-Version: ${version}`]),
    ...(head === 'no-method' ? [] : [`Mcp-Method: ${head === 'other-method' ? 'ping' : method}`]),
    ...(name === undefined || head === 'no-name' ? [] : [`Mcp-Name: ${nameIn(head, name)}`]),
    ...(head === 'of-session' ? ['Mcp-Session-Id: no-such-session'] : []),
  ]
}

function nameIn(head: Head, name: string): string {
  if (head === 'encoded') return `=?base64?${Buffer.from(name).toString('base64')}?=`
  if (head === 'torn-name') return '=?base64?QQ?='
  return head === 'other-name' ? `${name}s` : name
}

/** The member that `Mcp-Name` repeats, by method. */
const named: Readonly<Record<string, RegExp>> = {
  'tools/call': /"name":"([^"]*)"/,
  'prompts/get': /"name":"([^"]*)"/,
  'resources/read': /"uri":"([^"]*)"/,
}

/** What is repeated of a request as clients of this simulator write it. */
export function repeatedOf(method: string, text: string): Repeated {
  const [, name] = named[method]?.exec(text) ?? []
  return { method, name }
}

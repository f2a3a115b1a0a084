// The members by which messages are routed.

import type { Members } from './members.js'
import { stringAt } from './text.js'

/** The names that the proxy routes by, and the same names folded. */
export interface RoutedNames {
  readonly names: readonly string[]
  /** The names as bytes, for the comparison with keys. */
  readonly exact: readonly Uint8Array[]
  readonly folded: ReadonlySet<string>
  /** The members whose own members are routed by too. */
  readonly inners: readonly InnerNames[] | undefined
}

interface InnerNames {
  readonly key: string
  readonly names: RoutedNames
}

/** The most members of an object whose keys are compared; no real message has nearly as many. */
export const MEMBERS_MAX = 1024

export function routedNames(exact: readonly string[], ...inners: readonly InnerNames[]): RoutedNames {
  return {
    names: exact,
    exact: exact.map((name) => Buffer.from(name)),
    folded: new Set(exact.map(fold)),
    inners: inners.length === 0 ? undefined : inners,
  }
}

/** The index of the name that the key from `start` to `end`, with its quotes, spells exactly; -1 if none. */
export function indexOfName(bytes: Buffer, start: number, end: number, names: readonly Uint8Array[]): number {
  const length = end - start - 2
  for (let i = 0; i < names.length; i++) {
    const name = names[i]
    if (name === undefined || name.length !== length) continue
    let same = 0
    while (same < length && bytes[start + 1 + same] === name[same]) same++
    if (same === length) return i
  }
  return -1
}

/** Folds all cases of a key. The long s and the Kelvin sign fold only with upper case first. */
export function fold(text: string): string {
  const nul = text.indexOf('\0')
  return (nul < 0 ? text : text.slice(0, nul)).toUpperCase().toLowerCase()
}

export const metaNames: RoutedNames = routedNames([
  'progressToken',
  'io.modelcontextprotocol/protocolVersion',
  'io.modelcontextprotocol/clientCapabilities',
  'io.modelcontextprotocol/clientInfo',
  'io.modelcontextprotocol/logLevel',
  'io.modelcontextprotocol/related-task',
])
export const paramsNames: RoutedNames = routedNames(
  [
    '_meta',
    'name',
    'arguments',
    'uri',
    'ref',
    'cursor',
    'level',
    'requestId',
    'progressToken',
    'protocolVersion',
    'capabilities',
    'inputResponses',
    'requestState',
    'notifications',
    'task',
    'taskId',
  ],
  { key: '_meta', names: metaNames },
)

/** The members of results that differ between the eras, or that report the outcome of a call. */
const resultNames: RoutedNames = routedNames(
  ['resultType', 'ttlMs', 'cacheScope', '_meta', 'structuredContent', 'isError', 'task'],
  { key: '_meta', names: routedNames(['io.modelcontextprotocol/serverInfo']) },
)

export const messageNames: RoutedNames = routedNames(
  ['jsonrpc', 'id', 'method', 'params', 'result', 'error'],
  { key: 'params', names: paramsNames },
  { key: 'result', names: resultNames },
)

// Members that two parsers can read differently.
//
// If a proxy routes by `method`, and its server reads `Method` or the second of two members, the proxy checks
// one message and the server runs another. So the routed members must appear once, in their own case, and
// without escapes. Other members are not checked here.

/**
 * Returns the first ambiguous key of an object, as a message and an offset; undefined if no key is ambiguous.
 *
 * No key may appear twice, in any case, and no other key may fold to a routed name.
 */
export function ambiguity(
  members: Members | undefined,
  names: RoutedNames,
): { message: string; offset: number } | undefined {
  if (members === undefined) return undefined
  let seen = 0
  let others: Set<string> | undefined
  for (const { key } of members) {
    const known = indexOfName(members.bytes, key.start, key.end, names.exact)
    if (known >= 0 && (seen & (1 << known)) === 0) {
      seen |= 1 << known
      continue
    }
    const text = stringAt(members.bytes, key) ?? ''
    const folded = fold(text)
    if (known >= 0 || others?.has(folded))
      return { message: `${quoted(text)} stands twice`, offset: key.start }
    if (names.folded.has(folded))
      return { message: `${quoted(text)} is not the exact spelling of a routed member`, offset: key.start }
    others ??= new Set()
    others.add(folded)
  }
  return undefined
}

function quoted(text: string): string {
  return `'${text.slice(0, 64).replace(/[^\x20-\x7e]/g, '?')}'`
}

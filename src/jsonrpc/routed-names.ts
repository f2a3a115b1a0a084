// The members by which messages are routed; see `ambiguity.ts` for what that asks of them.

/** Names that are routed by, and the same names folded. */
export interface RoutedNames {
  readonly names: readonly string[]
  /** In the bytes that keys are compared with. */
  readonly exact: readonly Uint8Array[]
  readonly folded: ReadonlySet<string>
  /** The members whose own members are routed by too. */
  readonly inners: readonly InnerNames[] | undefined
}

export interface InnerNames {
  readonly key: string
  readonly names: RoutedNames
}

/** How many members an object may have whose keys are compared; no real message comes near. */
export const MEMBERS_MAX = 1024

export function routedNames(exact: readonly string[], ...inners: readonly InnerNames[]): RoutedNames {
  return {
    names: exact,
    exact: exact.map((name) => Buffer.from(name)),
    folded: new Set(exact.map(fold)),
    inners: inners.length === 0 ? undefined : inners,
  }
}

/** Which of `names` the key from `start` to `end` spells byte for byte, quotes included; -1 when none. */
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

/** One form for every case of a key: upper case first, since the long s and the Kelvin sign only fold that way. */
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

const params: InnerNames = { key: 'params', names: paramsNames }
const envelope = ['jsonrpc', 'id', 'method', 'params', 'result', 'error'] as const

/** The members of a message whose result is only forwarded. */
export const forwardedNames: RoutedNames = routedNames(envelope, params)

/** The members of a message; `names` are those of results that the proxy acts on. */
export function messageNamesWith(names: RoutedNames): RoutedNames {
  return routedNames(envelope, params, { key: 'result', names })
}

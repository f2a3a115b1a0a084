// Whether a message that goes out is an answer.
//
// The answer ends the response on which it leaves; a notification or a request
// does not. The first member that only one of them has tells them apart, so that a
// large result is not walked through. `params` is not such a member: a server may
// put one into an answer, and it is passed on like any other that nobody knows.

import {
  BACKSLASH,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  isSpace,
} from '../../jsonrpc/ascii.js'
import { Scanner } from '../../jsonrpc/scan.js'
import type { WireBytes } from '../../jsonrpc/splice.js'

export type Outgoing = 'result' | 'error' | 'call'

/** What one valid message is; `bytes` were made by `splice` or `build`. */
export function outgoing(bytes: WireBytes): Outgoing {
  let at = skipSpace(bytes, 0) + 1
  for (;;) {
    const key = skipSpace(bytes, at)
    const keyEnd = stringEnd(bytes, key)
    const kind = kinds.get(bytes.toString('latin1', key + 1, keyEnd - 1))
    if (kind !== undefined || bytes[key] !== QUOTE) return kind ?? 'call'
    const value = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1)
    at = skipSpace(bytes, valueEnd(bytes, value)) + 1
  }
}

const kinds: ReadonlyMap<string, Outgoing> = new Map([
  ['result', 'result'],
  ['error', 'error'],
  ['method', 'call'],
])

function skipSpace(bytes: Uint8Array, at: number): number {
  while (isSpace(bytes[at] ?? COLON)) at++
  return at
}

/** The offset behind the string whose opening quote is at `at`. */
function stringEnd(bytes: Uint8Array, at: number): number {
  let end = at + 1
  while (end < bytes.length && bytes[end] !== QUOTE) end += bytes[end] === BACKSLASH ? 2 : 1
  return end + 1
}

function valueEnd(bytes: WireBytes, at: number): number {
  const first = bytes[at]
  if (first === QUOTE) return stringEnd(bytes, at)
  // A member that JSON-RPC does not know, and that is larger than an id.
  if (first === OPEN_OBJECT || first === OPEN_ARRAY)
    return new Scanner(bytes, Number.MAX_SAFE_INTEGER).value(at, 0)
  let end = at
  while (end < bytes.length && bytes[end] !== COMMA && bytes[end] !== CLOSE_OBJECT) end++
  return end
}

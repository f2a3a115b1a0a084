// Whether a message that goes out is an answer.
//
// The answer ends the response on which it leaves; a notification or a request
// does not. The first member that only one of them has tells them apart, so that a
// large result is not walked through. `params` is not such a member: a server may
// put one into an answer, and it is passed on like any other that nobody knows.

import { Buffer } from 'node:buffer'
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
import { type Wire, WireParts } from '../../jsonrpc/splice-parts.js'

export type Outgoing = 'result' | 'error' | 'call'

/** So much of a message in parts is looked at before it is joined for it. */
const BEGINNING_BYTES = 1024

/** The kind of one valid message. */
export function outgoing(wire: Wire): Outgoing {
  if (!(wire instanceof WireParts)) return kindOf(wire) ?? 'call'
  return kindOf(beginning(wire), true) ?? kindOf(wire.joined) ?? 'call'
}

function beginning({ parts }: WireParts): Buffer {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for (const part of parts) {
    if (bytes >= BEGINNING_BYTES) break
    pieces.push(part.subarray(0, BEGINNING_BYTES - bytes))
    bytes += part.length
  }
  return Buffer.concat(pieces)
}

/** Undefined when none of the members tells; of a message that is cut, nothing is told by what may be incomplete. */
function kindOf(bytes: Buffer, isCut = false): Outgoing | undefined {
  let at = skipSpace(bytes, 0) + 1
  while (at < bytes.length) {
    const key = skipSpace(bytes, at)
    const keyEnd = stringEnd(bytes, key)
    if (bytes[key] !== QUOTE || keyEnd > bytes.length) return undefined
    const kind = kinds.get(bytes.toString('latin1', key + 1, keyEnd - 1))
    if (kind !== undefined) return kind
    const value = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1)
    if (isCut && isNested(bytes[value])) return undefined
    at = skipSpace(bytes, valueEnd(bytes, value)) + 1
  }
  return undefined
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

function isNested(first: number | undefined): boolean {
  return first === OPEN_OBJECT || first === OPEN_ARRAY
}

function valueEnd(bytes: Buffer, at: number): number {
  const first = bytes[at]
  if (first === QUOTE) return stringEnd(bytes, at)
  // A member that JSON-RPC does not know, and that is larger than an id.
  if (isNested(first)) return new Scanner(bytes, Number.MAX_SAFE_INTEGER).value(at, 0)
  let end = at
  while (end < bytes.length && bytes[end] !== COMMA && bytes[end] !== CLOSE_OBJECT) end++
  return end
}

// Request ids as their senders write them.
//
// `1`, `1.0` and `"1"` are three spellings; the first two are one id, the third is another id. The sender
// gets back the bytes that it wrote. So the proxy keeps the text of an id and compares its canonical form.

import { ZERO } from './ascii.js'
import { FrameError } from './jsonrpc-errors.js'

declare const idBrand: unique symbol

/** The JSON text of an id as written: `7`, `"a"`. */
export type RequestId = string & { readonly [idBrand]: true }

function isId(text: string): text is RequestId {
  return text.length > 0
}

function brand(text: string): RequestId {
  if (!isId(text)) throw new TypeError('an id has a text')
  return text
}

/** The longest id that is accepted, in bytes. */
const ID_BYTES_MAX = 1024

/** No JSON writer spells an integer longer than this. */
const NUMBER_CHARS_MAX = 32

const integer = /^(?:0|-?[1-9][0-9]{0,14})$/
const decimal = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/
const plainString = /^"[\x20\x21\x23-\x5b\x5d-\x7e]*"$/

/**
 * Reads the id in `bytes` from `start` to `end`, which are one valid JSON value.
 *
 * @throws FrameError `FRAME_ID` unless it is a string or an integer (MCP: basic, Requests)
 */
export function readId(bytes: Buffer, start: number, end: number): RequestId {
  const count = countAt(bytes, start, end)
  if (count >= 0) return numericId(count)
  if (end - start > ID_BYTES_MAX)
    throw new FrameError('FRAME_ID', `'id' is longer than ${ID_BYTES_MAX} bytes`, start)
  const text = brand(bytes.toString('utf8', start, end))
  if (text.startsWith('"') || isInteger(text)) return text
  throw new FrameError('FRAME_ID', "'id' must be a string or an integer", start)
}

/** The number, for one to nine digits without a leading zero, as nearly every id is written; else -1. */
function countAt(bytes: Buffer, start: number, end: number): number {
  let count = end - start > 9 || bytes[start] === ZERO ? -1 : 0
  for (let at = start; at < end && count >= 0; at++) {
    const digit = (bytes[at] ?? 0) - ZERO
    count = digit < 0 || digit > 9 ? -1 : count * 10 + digit
  }
  return count
}

/**
 * Whether a JSON number is an integer that a double stores exactly, in any spelling: `10e-1` is.
 *
 * `1e-400` is not, though `Number` reads it as zero: rounding must not turn two ids into one.
 */
function isInteger(text: string): boolean {
  const parts = text.length > NUMBER_CHARS_MAX ? null : decimal.exec(text)
  if (parts === null || !Number.isSafeInteger(Number(text))) return false
  const [, whole = '', fraction = '', exponent = '0'] = parts
  const digits = whole + fraction
  const zeros = digits.length - digits.replace(/0+$/, '').length
  return zeros === digits.length || Number(exponent) + zeros >= fraction.length
}

export function numericId(value: number): RequestId {
  return brand(String(value))
}

export function textId(text: string): RequestId {
  return brand(JSON.stringify(text))
}

/** One text for all spellings of an id. */
export function canonical(id: RequestId): RequestId {
  // Every JSON writer writes these ids in the same way.
  if (integer.test(id) || plainString.test(id)) return id
  const value: unknown = JSON.parse(id)
  return brand(JSON.stringify(value))
}

/** Converts an id from a number to text, and from the text of a number to the number. */
export function ofOtherType(id: RequestId): RequestId {
  if (!id.startsWith('"')) return brand(`"${id}"`)
  const text = id.slice(1, -1)
  return integer.test(text) ? brand(text) : id
}

/** The canonical form of the id that `readId` reads; undefined if the value is no id. */
export function canonicalAt(bytes: Buffer, start: number, end: number): RequestId | undefined {
  try {
    return canonical(readId(bytes, start, end))
  } catch (error) {
    if (error instanceof FrameError) return undefined
    throw error
  }
}

// Ids as they are written.
//
// `1`, `1.0` and `"1"` are three spellings; the first two are one id, the third
// is another. Whoever sent an id gets back the bytes that it wrote, so an id is
// kept as its text, and compared by its canonical form.

import { FrameError } from './errors.js'

declare const idBrand: unique symbol

/** An id's JSON text as written: `7`, `"a"`. */
export type RequestId = string & { readonly [idBrand]: true }

/** An id that this process chose or lent; it is canonical. */
export type MintedId = RequestId

function isId(text: string): text is RequestId {
  return text.length > 0
}

function brand(text: string): RequestId {
  if (!isId(text)) throw new TypeError('an id has a text')
  return text
}

/** The longest id that is accepted, in bytes. */
const ID_BYTES_MAX = 1024

const integer = /^(?:0|-?[1-9][0-9]{0,14})$/
const plainString = /^"[\x20\x21\x23-\x5b\x5d-\x7e]*"$/

/**
 * The id written in `bytes` from `start` to `end`, which are one valid JSON value.
 *
 * @throws FrameError `FRAME_ID` unless it is a string or an integer (MCP: basic, Requests)
 */
export function readId(bytes: Buffer, start: number, end: number): RequestId {
  if (end - start > ID_BYTES_MAX) {
    throw new FrameError('FRAME_ID', `'id' is longer than ${ID_BYTES_MAX} bytes`, start)
  }
  const text = brand(bytes.toString('utf8', start, end))
  if (text.startsWith('"') || integer.test(text) || Number.isSafeInteger(Number(text))) return text
  throw new FrameError('FRAME_ID', "'id' must be a string or an integer", start)
}

export function numericId(value: number): MintedId {
  return brand(String(value))
}

/** Whether every JSON writer would write this id exactly so. */
export function isCanonical(id: RequestId): boolean {
  return integer.test(id) || plainString.test(id)
}

/** One text for all spellings of an id. */
export function canonical(id: RequestId): RequestId {
  if (isCanonical(id)) return id
  const value: unknown = JSON.parse(id)
  return brand(JSON.stringify(value))
}

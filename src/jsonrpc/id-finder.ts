// Finds the id of a message that is too long to keep.
//
// The message is dropped while it arrives, in chunks of any size. Servers write
// `id` first or last, so it is walked until the id is known, and to its end where
// that is the last of it; nothing but the id is validated, since nothing else
// survives.

import { Buffer } from 'node:buffer'
import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  SPACE,
} from './ascii.js'
import { type RequestId, readId } from './request-id.js'
import { scanText } from './scan.js'

const TOKEN_BYTES_MAX = 1024

/** A second id so far behind the first is not looked for. */
const SURE_BYTES = 64 * 1024

/** Two make a message ambiguous already. */
const CLAIMS_MAX = 8

/** `"id"` with both letters escaped. */
const KEY_LENGTH_MAX = 14

/** Finds the top-level `id` of an object that is fed chunk by chunk. */
export class IdFinder {
  #depth = 0
  #inString = false
  #escaped = false
  #expectsValue = false
  #key = ''
  #token: number[] = []
  #ids = 0
  #found: RequestId | undefined
  readonly #claims: RequestId[] = []
  #isCall = false
  #hasOutcome = false
  #walked = 0
  /** Where what is being walked begins. */
  #pushedFrom = 0
  #sureFrom = SURE_BYTES

  /** Undefined when there is none, when there are several, and when it is not acceptable. */
  get id(): RequestId | undefined {
    return this.#ids === 1 ? this.#found : undefined
  }

  /** Every id that some reader may find, however its key is spelled; the first few of them. */
  get claims(): readonly RequestId[] {
    return this.#claims
  }

  /** Whether the message has a `method`: a request or notification, whose id is its sender's own. */
  get isCall(): boolean {
    return this.#isCall
  }

  /** How many bytes of the message are behind it. */
  get walked(): number {
    return this.#walked
  }

  /** Whether all of it is known that will be: the rest is not looked at. */
  get isSure(): boolean {
    return this.#walked >= this.#sureFrom && this.#isSettled
  }

  push(chunk: Uint8Array): void {
    if (this.isSure) return
    this.#pushedFrom = this.#walked
    this.#walked += chunk.length
    for (let at = 0; at < chunk.length; at++) {
      if (this.#inString && !this.#isKept && !this.#escaped) at = nextMark(chunk, at)
      const c = chunk[at]
      if (c === undefined) return
      if (this.#inString) this.#inside(c)
      else this.#outside(c)
    }
  }

  /**
   * Goes on at a later place of the message.
   *
   * What is left out stands below the top level, where nothing is to be found; `inString` and `isEscaped` are about
   * the first byte that follows.
   */
  skipTo(walked: number, depth: number, inString: boolean, isEscaped: boolean): void {
    this.#walked = walked
    this.#depth = depth
    this.#inString = inString
    this.#escaped = isEscaped
  }

  /** Nothing that is to be known is behind: what is no object has no id. */
  get #isSettled(): boolean {
    return this.#depth < 1 || (this.#ids > 0 && (this.#isCall || this.#hasOutcome))
  }

  /** Whether what stands in a string may be a key or an id. */
  get #isKept(): boolean {
    return this.#depth === 1 && this.#token.length <= TOKEN_BYTES_MAX
  }

  #inside(c: number): void {
    if (this.#depth === 1) this.#keep(c)
    if (this.#escaped) this.#escaped = false
    else if (c === BACKSLASH) this.#escaped = true
    else if (c === QUOTE) this.#inString = false
  }

  #outside(c: number): void {
    switch (c) {
      case QUOTE:
        this.#inString = true
        if (this.#depth === 1) this.#keep(c)
        return
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        this.#depth++
        return
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        if (this.#depth === 1) this.#endValue()
        this.#depth--
        return
      case COLON:
        return this.#colon()
      case COMMA:
        return this.#endValue()
      default:
        if (this.#depth === 1 && this.#expectsValue && c > SPACE) this.#keep(c)
    }
  }

  #colon(): void {
    if (this.#depth !== 1) return
    this.#key = Buffer.from(this.#token).toString('latin1')
    if (this.#key === '"method"') this.#isCall = true
    if (this.#key === '"result"' || this.#key === '"error"') this.#hasOutcome = true
    this.#expectsValue = true
    this.#token = []
  }

  #endValue(): void {
    if (this.#depth !== 1) return
    if (this.#expectsValue && isIdKey(this.#key)) this.#claim(idOf(Buffer.from(this.#token)))
    this.#expectsValue = false
    this.#token = []
  }

  #claim(id: RequestId | undefined): void {
    if (id !== undefined && this.#claims.length < CLAIMS_MAX) this.#claims.push(id)
    if (this.#key !== '"id"') return
    this.#ids++
    this.#found = id
    this.#sureFrom = this.#pushedFrom + SURE_BYTES
  }

  #keep(c: number): void {
    if (this.#token.length <= TOKEN_BYTES_MAX) this.#token.push(c)
  }
}

/** The next quote or backslash from `at` on, or the end; long strings have few of them. */
function nextMark(chunk: Uint8Array, at: number): number {
  let end = at
  while (end < chunk.length && chunk[end] !== QUOTE && chunk[end] !== BACKSLASH) end++
  return end
}

/** As any parser may read it. */
function isIdKey(key: string): boolean {
  if (key === '"id"') return true
  if (key.length > KEY_LENGTH_MAX) return false
  const plain = key.replaceAll(/\\u00([46][49])/gi, (_escape, code: string) =>
    String.fromCodePoint(Number.parseInt(code, 16)),
  )
  return plain.toLowerCase() === '"id"'
}

function idOf(token: Buffer): RequestId | undefined {
  try {
    scanText(token, 1)
    return readId(token, 0, token.length)
  } catch {
    return undefined
  }
}

// A validating scanner over the bytes of one JSON text (RFC 8259, strict UTF-8).
//
// It builds no value. Callers ask it to skip a value and get the offset behind
// it, so they can keep spans of what they route by and leave the rest alone. It
// accepts exactly what `JSON.parse` accepts of well-formed UTF-8, up to a depth.
//
// Strings are where the bytes are. The end of a long one is left to the engine's own
// byte search, and another pass finds out what kinds of bytes lie before it. UTF-8 is
// the engine's to check as well, once the rest was found in order.

import { isUtf8 } from 'node:buffer'
import { isDigit, isHex, isSpace } from './ascii.js'
import { HAS_CONTROL, HAS_HIGH, byteKinds, validPrefix } from './fast/byte-kinds.js'
import { FrameError, type FrameErrorCode } from './errors.js'
import { StringSearch } from './fast/string-search.js'

/** A half-open range of bytes. */
export interface Span {
  readonly start: number
  readonly end: number
}

// Repeated from `ascii.ts`: an imported constant is loaded anew at each use, and that is a third of the time here.
const END = -1
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const QUOTE = 0x22
const PLUS = 0x2b
const COMMA = 0x2c
const MINUS = 0x2d
const DOT = 0x2e
const ZERO = 0x30
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const BACKSLASH = 0x5c
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** How far a string is read byte by byte without an escape before the byte search takes over. */
const NEAR_BYTES = 256

/** 1 for each byte that may stand behind a backslash, but for `u`. */
const simpleEscapes = Uint8Array.from({ length: 256 }, (_, c) =>
  '"\\/bfnrt'.includes(String.fromCharCode(c)) ? 1 : 0,
)

/** Walks one JSON text; every offset it takes and gives counts from the text's start. */
export class Scanner {
  readonly bytes: Buffer
  readonly #end: number
  readonly #depthMax: number
  #hasHigh = false
  /** Whether a line break stands between the tokens that were read. */
  hasBreaks = false
  /** Undefined until a string is long. */
  #search: StringSearch | undefined

  constructor(bytes: Buffer, depthMax: number) {
    this.bytes = bytes
    this.#end = bytes.length
    this.#depthMax = depthMax
  }

  /** That the bytes are not UTF-8 says more than what they would be otherwise. */
  fail(at: number, what: string, code: FrameErrorCode = 'FRAME_SYNTAX'): never {
    this.#checkUtf8()
    throw new FrameError(code, what, Math.min(at, this.#end))
  }

  byte(at: number): number {
    return at < this.#end ? (this.bytes[at] ?? END) : END
  }

  skipSpace(at: number): number {
    for (;;) {
      const c = this.byte(at)
      if (!isSpace(c)) return at
      if (c === LF || c === CR) this.hasBreaks = true
      at++
    }
  }

  /** Asserts that only white space follows, and that the whole text is UTF-8. */
  finish(at: number): void {
    const rest = this.skipSpace(at)
    if (rest < this.#end) this.fail(rest, 'unexpected bytes after the JSON text')
    if (this.#hasHigh) this.#checkUtf8()
  }

  /** Skips the value that begins at `at`, which is not white space; `depth` counts the containers around it. */
  value(at: number, depth: number): number {
    switch (this.byte(at)) {
      case QUOTE:
        return this.string(at)
      case OPEN_OBJECT:
        return this.#object(at, depth + 1)
      case OPEN_ARRAY:
        return this.#array(at, depth + 1)
      case 0x74:
        return this.#literal(at, 'true')
      case 0x66:
        return this.#literal(at, 'false')
      case 0x6e:
        return this.#literal(at, 'null')
      default:
        return this.#number(at)
    }
  }

  /** Skips the string whose opening quote is at `at`. */
  string(at: number): number {
    const bytes = this.bytes
    let i = at + 1
    for (;;) {
      const near = Math.min(i + NEAR_BYTES, this.#end)
      let escaped = 0
      let all = 0
      while (i < near) {
        const c = bytes[i] ?? END
        if (c === QUOTE) {
          if (all > 0x7f) this.#hasHigh = true
          return i + 1
        }
        if (c < SPACE) this.fail(i, 'unescaped control character')
        if (c === BACKSLASH) {
          escaped = i = simpleEscapes[bytes[i + 1] ?? 0] === 1 ? i + 2 : this.#escape(i)
        } else {
          all |= c
          i++
        }
      }
      if (all > 0x7f) this.#hasHigh = true
      // Where there was an escape, there is soon another.
      if (escaped > 0 && i < this.#end) continue
      this.#search ??= new StringSearch(bytes)
      const stop = this.#search.stopFrom(i)
      this.#lookAt(i, stop)
      if (stop >= this.#end) this.fail(this.#end, 'unterminated string')
      if (bytes[stop] === QUOTE) return stop + 1
      i = this.#escape(stop)
    }
  }

  /** Consumes `:` and the white space around it. */
  colon(at: number): number {
    const here = this.skipSpace(at)
    if (this.byte(here) !== COLON) this.fail(here, "expected ':'")
    return this.skipSpace(here + 1)
  }

  /** The first member's key, or -1 when the object is empty; `at` is behind the opening brace. */
  firstKey(at: number): number {
    const here = this.skipSpace(at)
    if (this.byte(here) === CLOSE_OBJECT) return -1
    if (this.byte(here) !== QUOTE) this.fail(here, 'expected a string or a closing brace')
    return here
  }

  /** The next member's key, or -1 when the object ends at `closed(at)`; `at` is behind a value. */
  nextKey(at: number): number {
    const here = this.skipSpace(at)
    if (this.byte(here) === CLOSE_OBJECT) return -1
    if (this.byte(here) !== COMMA) this.fail(here, "expected ',' or '}'")
    const key = this.skipSpace(here + 1)
    if (this.byte(key) !== QUOTE) this.fail(key, 'expected a string')
    return key
  }

  /** The offset behind the closing brace or bracket that follows `at`. */
  closed(at: number): number {
    return this.skipSpace(at) + 1
  }

  checkDepth(at: number, depth: number): void {
    if (depth > this.#depthMax) this.fail(at, `nested deeper than ${this.#depthMax}`, 'FRAME_DEPTH')
  }

  #object(at: number, depth: number): number {
    this.checkDepth(at, depth)
    let end = at + 1
    for (let key = this.firstKey(end); key >= 0; key = this.nextKey(end)) {
      end = this.value(this.colon(this.string(key)), depth)
    }
    return this.closed(end)
  }

  #array(at: number, depth: number): number {
    this.checkDepth(at, depth)
    let here = this.skipSpace(at + 1)
    if (this.byte(here) === CLOSE_ARRAY) return here + 1
    for (;;) {
      here = this.skipSpace(this.value(here, depth))
      const c = this.byte(here)
      if (c === CLOSE_ARRAY) return here + 1
      if (c !== COMMA) this.fail(here, "expected ',' or ']'")
      here = this.skipSpace(here + 1)
    }
  }

  #escape(at: number): number {
    const c = this.byte(at + 1)
    if (simpleEscapes[c] === 1) return at + 2
    if (c !== 0x75) this.fail(at + 1, 'unknown escape')
    for (let i = at + 2; i < at + 6; i++) {
      if (!isHex(this.byte(i))) this.fail(i, 'expected four hexadecimal digits')
    }
    return at + 6
  }

  /** What was skipped by a search. */
  #lookAt(from: number, to: number): void {
    const kinds = byteKinds(this.bytes, from, to)
    if ((kinds & HAS_HIGH) !== 0) this.#hasHigh = true
    if ((kinds & HAS_CONTROL) === 0) return
    const at = this.bytes.findIndex((c, i) => i >= from && c < SPACE)
    this.fail(at, 'unescaped control character')
  }

  #checkUtf8(): void {
    if (isUtf8(this.bytes)) return
    throw new FrameError('FRAME_UTF8', 'the message is not UTF-8', validPrefix(this.bytes))
  }

  #literal(at: number, word: string): number {
    for (let i = 0; i < word.length; i++) {
      if (this.byte(at + i) !== word.charCodeAt(i)) this.fail(at + i, `expected '${word}'`)
    }
    return at + word.length
  }

  #number(at: number): number {
    let i = this.byte(at) === MINUS ? at + 1 : at
    if (!isDigit(this.byte(i))) this.fail(i, i > at ? 'expected a digit' : 'expected a JSON value')
    i = this.byte(i) === ZERO ? i + 1 : this.#digits(i)
    if (this.byte(i) === DOT) i = this.#digits(i + 1)
    if ((this.byte(i) | 0x20) !== 0x65) return i
    const sign = this.byte(i + 1)
    return this.#digits(sign === PLUS || sign === MINUS ? i + 2 : i + 1)
  }

  #digits(at: number): number {
    if (!isDigit(this.byte(at))) this.fail(at, 'expected a digit')
    let i = at + 1
    while (isDigit(this.byte(i))) i++
    return i
  }
}

// A validating scanner over the bytes of one JSON text (RFC 8259, strict UTF-8).
//
// It builds no value. Callers ask it to skip a value and get the offset behind
// it, so they can keep spans of what they route by and skip all other values. It
// accepts exactly what `JSON.parse` accepts of well-formed UTF-8, up to a depth.
// Most bytes are in strings. The engine's own byte search finds the end of a long one, and another pass classifies the
// bytes before it. The engine also checks UTF-8, after the whole text was scanned.

import { isUtf8 } from 'node:buffer'
import { isHex } from './ascii.js'
import { HAS_CONTROL, HAS_HIGH, byteKinds, validPrefix } from './fast/byte-kinds.js'
import { FrameError, type FrameErrorCode } from './errors.js'

/** A half-open range of bytes. */
export interface Span {
  readonly start: number
  readonly end: number
}

// Repeated from `ascii.ts`: an imported constant is loaded anew at each use.
const END = -1
const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const QUOTE = 0x22
const PLUS = 0x2b
const COMMA = 0x2c
const MINUS = 0x2d
const DOT = 0x2e
const ZERO = 0x30
const NINE = 0x39
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

/** Takes the members of an object while it is scanned. */
export interface MemberSink {
  /** The sink of the members of the object that is the value of this key; undefined where no sink takes them. */
  inside(key: number, keyEnd: number): MemberSink | undefined
  /** One member, its key with the quotes. Gives false when it takes no more than these. */
  add(key: number, keyEnd: number, value: number, end: number): boolean
}

/**
 * Scans one whole JSON text; gives where its value stands.
 *
 * @throws FrameError when the bytes are not one
 */
export function scanText(bytes: Buffer, depthMax: number): Span {
  const scanner = new Scanner(bytes, depthMax)
  const start = scanner.skipSpace(0)
  const end = scanner.value(start, 0)
  scanner.finish(end)
  return { start, end }
}

/** Walks one JSON text; every offset it takes and gives counts from the text's start. */
export class Scanner {
  readonly #bytes: Buffer
  readonly #depthMax: number
  #hasHigh = false
  /** Whether a line break stands between the tokens that were read. */
  hasBreaks = false
  /** Undefined until a string is long. */
  #search: StringSearch | undefined
  /** The offsets at which long strings that are known to be good begin and end, in turn. */
  readonly #strings: readonly number[] | undefined
  /** The first of them that may not be behind. */
  #nextString = 0

  constructor(bytes: Buffer, depthMax: number, strings?: readonly number[]) {
    this.#bytes = bytes
    this.#depthMax = depthMax
    this.#strings = strings
  }

  /** The offset of the first byte from `at` on that is no white space. */
  skipSpace(at: number): number {
    const bytes = this.#bytes
    for (let i = at; ; i++) {
      const c = bytes[i] ?? END
      if (c > SPACE || (c !== SPACE && c !== LF && c !== CR && c !== TAB)) return i
      if (c === LF || c === CR) this.hasBreaks = true
    }
  }

  /** Asserts that only white space follows, and that the whole text is UTF-8. */
  finish(at: number): void {
    const rest = this.skipSpace(at)
    if (rest < this.#bytes.length) this.#fail(rest, 'unexpected bytes after the JSON text')
    if (this.#hasHigh) this.#checkUtf8()
  }

  /** Skips the value that begins at `at`, which is not white space; `depth` counts the containers around it. */
  value(at: number, depth: number): number {
    const c = this.#bytes[at] ?? END
    switch (c) {
      case QUOTE:
        return this.#string(at)
      case OPEN_OBJECT:
        return this.object(at, depth + 1)
      case OPEN_ARRAY:
        return this.array(at, depth + 1)
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

  // White space is rare between tokens: it is looked for where the next byte may be some.

  /** Skips the object whose brace is at `at`; `depth` counts it too. */
  object(at: number, depth: number, into?: MemberSink): number {
    const bytes = this.#bytes
    if (depth > this.#depthMax) this.#tooDeep(at)
    let i = (bytes[at + 1] ?? END) > SPACE ? at + 1 : this.skipSpace(at + 1)
    if (bytes[i] === CLOSE_OBJECT) return i + 1
    for (let members = 0; ; members++) {
      if (bytes[i] !== QUOTE)
        this.#fail(i, members > 0 ? 'expected a string' : 'expected a string or a closing brace')
      const key = i
      const keyEnd = this.#string(key)
      i = (bytes[keyEnd] ?? END) > SPACE ? keyEnd : this.skipSpace(keyEnd)
      if (bytes[i] !== COLON) this.#fail(i, "expected ':'")
      const value = (bytes[i + 1] ?? END) > SPACE ? i + 1 : this.skipSpace(i + 1)
      const inner = bytes[value] === OPEN_OBJECT ? into?.inside(key, keyEnd) : undefined
      i = inner === undefined ? this.value(value, depth) : this.object(value, depth + 1, inner)
      if (into?.add(key, keyEnd, value, i) === false) {
        this.#fail(key, `more than ${members} members`, 'FRAME_TOO_LARGE')
      }
      if ((bytes[i] ?? END) <= SPACE) i = this.skipSpace(i)
      if (bytes[i] === CLOSE_OBJECT) return i + 1
      if (bytes[i] !== COMMA) this.#fail(i, "expected ',' or '}'")
      i = (bytes[i + 1] ?? END) > SPACE ? i + 1 : this.skipSpace(i + 1)
    }
  }

  /**
   * Skips the array whose bracket is at `at`; `depth` counts it too.
   *
   * Collects items in `into` until there are more than `itemsMax`, and stops there: the offset is then that of the last item's end.
   */
  array(at: number, depth: number, into?: Span[], itemsMax: number = Number.POSITIVE_INFINITY): number {
    const bytes = this.#bytes
    if (depth > this.#depthMax) this.#tooDeep(at)
    let i = (bytes[at + 1] ?? END) > SPACE ? at + 1 : this.skipSpace(at + 1)
    if (bytes[i] === CLOSE_ARRAY) return i + 1
    for (;;) {
      const end = this.value(i, depth)
      if (into !== undefined) {
        into.push({ start: i, end })
        if (into.length > itemsMax) return end
      }
      i = (bytes[end] ?? END) > SPACE ? end : this.skipSpace(end)
      if (bytes[i] === CLOSE_ARRAY) return i + 1
      if (bytes[i] !== COMMA) this.#fail(i, "expected ',' or ']'")
      i = (bytes[i + 1] ?? END) > SPACE ? i + 1 : this.skipSpace(i + 1)
    }
  }

  /** Reports invalid UTF-8 in preference to the syntax error that it caused. */
  #fail(at: number, what: string, code: FrameErrorCode = 'FRAME_SYNTAX'): never {
    this.#checkUtf8()
    throw new FrameError(code, what, Math.min(at, this.#bytes.length))
  }

  #tooDeep(at: number): never {
    return this.#fail(at, `nested deeper than ${this.#depthMax}`, 'FRAME_DEPTH')
  }

  /** Skips the string whose opening quote is at `at`. */
  #string(at: number): number {
    const bytes = this.#bytes
    let i = at + 1
    for (;;) {
      const near = Math.min(i + NEAR_BYTES, bytes.length)
      let escaped = 0
      let all = 0
      while (i < near) {
        const c = bytes[i] ?? END
        if (c === QUOTE) {
          if (all > 0x7f) this.#hasHigh = true
          return i + 1
        }
        if (c < SPACE) this.#fail(i, 'unescaped control character')
        if (c === BACKSLASH) {
          escaped = i = simpleEscapes[bytes[i + 1] ?? 0] === 1 ? i + 2 : this.#escape(i)
        } else {
          all |= c
          i++
        }
      }
      if (all > 0x7f) this.#hasHigh = true
      const known = this.#strings === undefined ? undefined : this.#knownEnd(this.#strings, at)
      if (known !== undefined) return known
      // Escapes come in groups, so the next one is near.
      if (escaped > 0 && i < bytes.length) continue
      this.#search ??= new StringSearch(bytes)
      const stop = this.#search.stopFrom(i)
      this.#lookAt(i, stop)
      if (stop >= bytes.length) this.#fail(bytes.length, 'unterminated string')
      if (bytes[stop] === QUOTE) return stop + 1
      i = this.#escape(stop)
    }
  }

  /** The end of the string that begins at `at`, where that is one of the known ones. */
  #knownEnd(strings: readonly number[], at: number): number | undefined {
    let next = (strings[this.#nextString] ?? 0) > at ? 0 : this.#nextString
    while ((strings[next] ?? Number.POSITIVE_INFINITY) < at) next += 2
    this.#nextString = next
    return strings[next] === at ? strings[next + 1] : undefined
  }

  #escape(at: number): number {
    const c = this.#bytes[at + 1] ?? END
    if (simpleEscapes[c] === 1) return at + 2
    if (c !== 0x75) this.#fail(at + 1, 'unknown escape')
    for (let i = at + 2; i < at + 6; i++) {
      if (!isHex(this.#bytes[i] ?? END)) this.#fail(i, 'expected four hexadecimal digits')
    }
    return at + 6
  }

  /** Checks the bytes that a search skipped. */
  #lookAt(from: number, to: number): void {
    const kinds = byteKinds(this.#bytes, from, to)
    if ((kinds & HAS_HIGH) !== 0) this.#hasHigh = true
    if ((kinds & HAS_CONTROL) === 0) return
    const at = this.#bytes.findIndex((c, i) => i >= from && c < SPACE)
    this.#fail(at, 'unescaped control character')
  }

  #checkUtf8(): void {
    if (isUtf8(this.#bytes)) return
    throw new FrameError('FRAME_UTF8', 'the message is not UTF-8', validPrefix(this.#bytes))
  }

  #literal(at: number, word: string): number {
    for (let i = 0; i < word.length; i++) {
      if (this.#bytes[at + i] !== word.charCodeAt(i)) this.#fail(at + i, `expected '${word}'`)
    }
    return at + word.length
  }

  #number(at: number): number {
    const bytes = this.#bytes
    let i = bytes[at] === MINUS ? at + 1 : at
    if (bytes[i] === ZERO) i++
    else i = this.#digits(i, i > at ? 'expected a digit' : 'expected a JSON value')
    if (bytes[i] === DOT) i = this.#digits(i + 1)
    if (((bytes[i] ?? END) | 0x20) !== 0x65) return i
    const sign = bytes[i + 1]
    return this.#digits(sign === PLUS || sign === MINUS ? i + 2 : i + 1)
  }

  #digits(at: number, expected = 'expected a digit'): number {
    const bytes = this.#bytes
    let i = at
    for (let c = bytes[i] ?? END; c >= ZERO && c <= NINE; c = bytes[i] ?? END) i++
    if (i === at) this.#fail(at, expected)
    return i
  }
}

/**
 * Finds the next byte of a text at which a string may end, with the engine's own byte search.
 *
 * The results of a search are kept, so that a text is searched once for any order of quotes and backslashes.
 */
class StringSearch {
  readonly #bytes: Buffer
  #searchedFrom = 0
  #nextQuote = -1
  #nextBackslash = -1

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** The next quote or backslash, or the end of the text. */
  stopFrom(at: number): number {
    // Callers scan a text more than once, and a search from a later offset says nothing about this one.
    if (at < this.#searchedFrom) this.#nextQuote = this.#nextBackslash = -1
    this.#searchedFrom = at
    if (this.#nextQuote < at) this.#nextQuote = this.#find(QUOTE, at)
    if (this.#nextBackslash < at) this.#nextBackslash = this.#find(BACKSLASH, at)
    return Math.min(this.#nextQuote, this.#nextBackslash)
  }

  #find(c: number, at: number): number {
    const found = this.#bytes.indexOf(c, at)
    return found < 0 ? this.#bytes.length : found
  }
}

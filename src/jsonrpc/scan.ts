// A validating scanner over the bytes of one JSON text (RFC 8259, strict UTF-8).
//
// The scanner builds no value. A caller tells it to skip a value and gets the offset after it, so the caller
// keeps spans of the values that it routes by. The scanner accepts exactly what `JSON.parse` accepts of
// well-formed UTF-8, up to a depth. The engine checks UTF-8 after the scan of the whole text. The scanner
// skips the long strings that `long-strings.ts` has found in a long message.

import { isUtf8 } from 'node:buffer'
import { isHex } from './ascii.js'
import { FrameError, type FrameErrorCode } from './jsonrpc-errors.js'

/** A half-open range of bytes. */
export interface Span {
  readonly start: number
  readonly end: number
}

// Repeated from `ascii.ts`: the engine loads an imported constant again at each use.
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

/** 1 for each byte that may follow a backslash, except `u`. */
const simpleEscapes = Uint8Array.from({ length: 256 }, (_, c) =>
  '"\\/bfnrt'.includes(String.fromCharCode(c)) ? 1 : 0,
)

/** Receives the members of an object during the scan. */
export interface MemberSink {
  /** Returns the sink for the members of the object under this key; undefined if they are not wanted. */
  inside(key: number, keyEnd: number): MemberSink | undefined
  /** Receives one member; the key includes its quotes. Returns false when the object has too many members. */
  add(key: number, keyEnd: number, value: number, end: number): boolean
}

/** The deepest nesting. No real message nests deeper, and a parser that recurses overflows soon after. */
export const DEPTH_MAX = 128

/**
 * Scans one whole JSON text, and returns the span of its value.
 *
 * @throws FrameError when the bytes are not one JSON text
 */
export function scanText(bytes: Buffer, depthMax: number = DEPTH_MAX): Span {
  const scanner = new Scanner(bytes, depthMax)
  const start = scanner.skipSpace(0)
  const end = scanner.value(start, 0)
  scanner.finish(end)
  return { start, end }
}

/** Scans one JSON text. Every offset counts from the start of the text. */
export class Scanner {
  readonly #bytes: Buffer
  readonly #depthMax: number
  #hasHigh = false
  hasBreaks = false
  /** The starts and ends, in turn, of strings that are already checked. */
  readonly #known: readonly number[] | undefined
  #nextKnown = 0

  constructor(bytes: Buffer, depthMax: number, known?: readonly number[]) {
    this.#bytes = bytes
    this.#depthMax = depthMax
    this.#known = known
  }

  /** The offset of the first byte at or after `at` that is not white space. */
  skipSpace(at: number): number {
    const bytes = this.#bytes
    for (let i = at; ; i++) {
      const c = bytes[i] ?? END
      if (c > SPACE || (c !== SPACE && c !== LF && c !== CR && c !== TAB)) return i
      if (c === LF || c === CR) this.hasBreaks = true
    }
  }

  /** Checks that only white space follows and that the whole text is UTF-8. @throws FrameError */
  finish(at: number): void {
    const rest = this.skipSpace(at)
    if (rest < this.#bytes.length) this.#fail(rest, 'unexpected bytes after the JSON text')
    if (this.#hasHigh) this.#checkUtf8()
  }

  /** Skips the value that begins at `at`, and returns its end. `depth` counts the containers around it. */
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

  // White space between tokens is rare: the scanner skips it only if the next byte may be white space.

  /** Skips the object whose brace is at `at`, and returns its end. `depth` includes this object. */
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
   * Skips the array whose bracket is at `at`, and returns its end. `depth` includes this array. Collects
   * items in `into`, and stops at the end of the first item after `itemsMax`.
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

  /** If invalid UTF-8 caused the syntax error, reports the invalid UTF-8. */
  #fail(at: number, what: string, code: FrameErrorCode = 'FRAME_SYNTAX'): never {
    this.#checkUtf8()
    throw new FrameError(code, what, Math.min(at, this.#bytes.length))
  }

  #tooDeep(at: number): never {
    return this.#fail(at, `nested deeper than ${this.#depthMax}`, 'FRAME_DEPTH')
  }

  #string(at: number): number {
    const known = this.#known === undefined ? undefined : this.#knownEnd(this.#known, at)
    if (known !== undefined) return known
    const bytes = this.#bytes
    const end = bytes.length
    let all = 0
    for (let i = at + 1; i < end;) {
      const c = bytes[i] ?? END
      if (c === QUOTE) {
        if (all > 0x7f) this.#hasHigh = true
        return i + 1
      }
      if (c < SPACE) this.#fail(i, 'unescaped control character')
      if (c === BACKSLASH) i = simpleEscapes[bytes[i + 1] ?? 0] === 1 ? i + 2 : this.#escape(i)
      else {
        all |= c
        i++
      }
    }
    return this.#fail(end, 'unterminated string')
  }

  #knownEnd(known: readonly number[], at: number): number | undefined {
    let next = this.#nextKnown
    while ((known[next] ?? Number.POSITIVE_INFINITY) < at) next += 2
    this.#nextKnown = next
    return known[next] === at ? known[next + 1] : undefined
  }

  #escape(at: number): number {
    const c = this.#bytes[at + 1] ?? END
    if (c !== 0x75) this.#fail(at + 1, 'unknown escape')
    for (let i = at + 2; i < at + 6; i++) {
      if (!isHex(this.#bytes[i] ?? END)) this.#fail(i, 'expected four hexadecimal digits')
    }
    return at + 6
  }

  #checkUtf8(): void {
    if (isUtf8(this.#bytes)) return
    const text = this.#bytes.toString()
    const offset = Buffer.byteLength(text.slice(0, text.indexOf('\ufffd')))
    throw new FrameError('FRAME_UTF8', 'the message is not UTF-8', offset)
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

// The long strings of a JSON text, found sixteen bytes at a time.
//
// Nearly all bytes of a long message stand in strings into which nothing in the proxy looks. The WebAssembly program of
// `string-scan.ts` checks the strings of a text and reports the long ones, so that the scanner reads only what stands between
// them. The program refuses no text: the scanner reads all of one in which a string is faulty, and reports the fault.

import { Buffer, isUtf8 } from 'node:buffer'
import { SPACE } from './ascii.js'
import { stringScan } from './string-scan.js'

/** The part of WebAssembly that is used; the types of Node lack it, and an engine may too. */
declare const WebAssembly:
  | {
      readonly Module: new (bytes: Uint8Array) => object
      readonly Instance: new (module: object) => { readonly exports: Exports }
    }
  | undefined

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer }
  readonly scan: (from: number, to: number) => void
}

// Places in the program's memory: numbers of words of four bytes, and addresses.
const STATE_WORDS = 12
const BAD = 6
const BASE = 9
const FOUND = 10
const BYTES_MIN = 12
const STRINGS = 16
/** Behind the strings that one piece can hold. */
const TEXT_AT = 8 * 1024

const BLOCK_BYTES = 64
const PIECE_BYTES = 64 * 1024

/** A shorter text is read faster without this. */
export const LONG_BYTES_MIN: number = 4 * 1024

/** Shorter strings are not worth leaving out. */
const STRING_BYTES_MIN = 1024

/**
 * The offsets at which the long strings of a text in parts begin and end, in turn; undefined where the scanner has to
 * read them. The text is UTF-8 where they are given.
 *
 * `bytesMin`, quotes included, is at least 128.
 */
export function longStrings(
  parts: readonly Uint8Array[],
  bytesMin: number = STRING_BYTES_MIN,
): number[] | undefined {
  return StringProgram.shared?.find(parts, bytesMin)
}

/** The program, which scans one text at a time. */
class StringProgram {
  /** Of the whole process; null where the engine cannot run it: it has no such instructions, or no address space left for it. */
  static #shared: StringProgram | null | undefined
  readonly #memory: Buffer
  readonly #words: Int32Array
  readonly #scan: Exports['scan']
  #spans: number[] = []
  #scanned = 0
  /** Bytes of a character that the last piece has cut; they lie before the next one. */
  #cut = 0

  private constructor({ memory, scan }: Exports) {
    this.#memory = Buffer.from(memory.buffer)
    this.#words = new Int32Array(memory.buffer)
    this.#scan = scan
  }

  static get shared(): StringProgram | null {
    return (StringProgram.#shared ??= StringProgram.#make())
  }

  static #make(): StringProgram | null {
    if (typeof WebAssembly === 'undefined') return null
    try {
      const program = new WebAssembly.Module(Buffer.from(stringScan, 'base64'))
      return new StringProgram(new WebAssembly.Instance(program).exports)
    } catch {
      return null
    }
  }

  find(parts: readonly Uint8Array[], bytesMin: number): number[] | undefined {
    this.#words.fill(0, 0, STATE_WORDS)
    this.#words[BYTES_MIN] = bytesMin
    this.#spans = []
    this.#scanned = 0
    this.#cut = 0
    let filled = 0
    for (const part of parts)
      for (let at = 0; at < part.length;) {
        const piece = part.subarray(at, at + PIECE_BYTES - filled)
        this.#memory.set(piece, TEXT_AT + filled)
        at += piece.length
        filled += piece.length
        if (filled < PIECE_BYTES) continue
        if (!this.#isGood(filled)) return undefined
        filled = 0
      }
    return this.#isGood(filled) && this.#cut === 0 ? this.#spans : undefined
  }

  /** Takes the next bytes of a text; false where something about them is not as it should be. */
  #isGood(bytes: number): boolean {
    const memory = this.#memory
    const words = this.#words
    const end = TEXT_AT + bytes
    const blocksEnd = TEXT_AT + Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES
    memory.fill(SPACE, end, blocksEnd)
    words[FOUND] = 0
    words[BASE] = this.#scanned - TEXT_AT
    if (bytes > 0) this.#scan(TEXT_AT, blocksEnd)
    this.#scanned += bytes
    this.#spans.push(...words.subarray(STRINGS, STRINGS + 2 * (words[FOUND] ?? 0)))
    const start = TEXT_AT - this.#cut
    const whole = wholeCharacters(memory, end)
    this.#cut = end - whole
    const isUnicode = isUtf8(memory.subarray(start, whole))
    memory.copyWithin(TEXT_AT - this.#cut, whole, end)
    return isUnicode && words[BAD] === 0 && words[BAD + 1] === 0
  }
}

/** `end`, moved back to before a character that it cuts. */
function wholeCharacters(bytes: Buffer, end: number): number {
  for (let back = 1; back <= 3; back++) {
    const c = bytes[end - back] ?? 0
    if (c < 0x80) return end
    if (c >= 0xc0) return back < (c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2) ? end - back : end
  }
  return end
}

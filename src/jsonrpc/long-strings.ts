// The long strings of a JSON text, found sixteen bytes at a time.
//
// Nearly all bytes of a long message stand in strings that the proxy never reads. The WebAssembly program in
// `string-scan.ts` checks all strings and reports the long ones, so the scanner reads only the bytes between
// them. If a string is faulty, the scanner reads the whole text and reports the fault.

import { Buffer, isUtf8 } from 'node:buffer'
import { SPACE } from './ascii.js'
import { stringScan } from './string-scan.js'

/** The part of WebAssembly that is used here. The types of Node lack it, and an engine may lack it too. */
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

// Offsets in the memory of the program: counts of four-byte words, and byte addresses.
const STATE_WORDS = 12
const BAD = 6
const BASE = 9
const FOUND = 10
const BYTES_MIN = 12
const STRINGS = 16
/** The address after the list of strings that one piece can hold. */
const TEXT_AT = 8 * 1024

const BLOCK_BYTES = 64
/** The bytes of one read, after the remainder of the read before. */
const PIECE_BYTES = 64 * 1024 + BLOCK_BYTES

/** A shorter text is read faster without this program. */
export const LONG_BYTES_MIN: number = 4 * 1024

/** Skipping a shorter string saves no time. */
const STRING_BYTES_MIN = 1024

const NOTHING = Buffer.alloc(0)

/**
 * Returns the offsets at which the long strings of a text in parts begin and end, in turn. Returns undefined
 * if the scanner must read the strings. If it returns offsets, the text is UTF-8.
 *
 * `bytesMin`, quotes included, is at least 128.
 */
export function longStrings(
  parts: readonly Uint8Array[],
  bytesMin: number = STRING_BYTES_MIN,
): number[] | undefined {
  const finder = new StringFinder(bytesMin)
  for (const part of parts.slice(0, -1)) finder.push(part)
  return finder.end(parts.at(-1))
}

/** Finds the long strings of one text part by part, while each part is still in the cache of the CPU. */
export class StringFinder {
  readonly #bytesMin: number
  /** The state of the program between two pieces of the text. */
  readonly #state = new Int32Array(STATE_WORDS)
  /** The bytes of a character that the last piece has cut, then less than a block of unread bytes. */
  #remaining: Buffer = NOTHING
  #cut = 0
  #scanned = 0
  /** Undefined after the first fault. */
  #spans: number[] | undefined = StringProgram.shared === null ? undefined : []

  constructor(bytesMin: number = STRING_BYTES_MIN) {
    this.#bytesMin = bytesMin
  }

  push(part: Uint8Array): void {
    this.#take(part, false)
  }

  /** Reads the last part, and returns the offsets of the strings as `longStrings` does. */
  end(last: Uint8Array = NOTHING): number[] | undefined {
    this.#take(last, true)
    return this.#cut === 0 ? this.#spans : undefined
  }

  #take(part: Uint8Array, isLast: boolean): void {
    const program = StringProgram.shared
    if (program === null || this.#spans === undefined) return
    const { memory, words } = program
    words.set(this.#state)
    words[BYTES_MIN] = this.#bytesMin
    memory.set(this.#remaining, TEXT_AT - this.#cut)
    let filled = this.#remaining.length - this.#cut
    let at = 0
    do {
      const piece = part.subarray(at, at + PIECE_BYTES - filled)
      memory.set(piece, TEXT_AT + filled)
      at += piece.length
      filled += piece.length
      const blocks = filled / BLOCK_BYTES
      const isEnd = isLast && at === part.length
      const bytes = BLOCK_BYTES * (isEnd ? Math.ceil(blocks) : Math.floor(blocks))
      if (isEnd) memory.fill(SPACE, TEXT_AT + filled, TEXT_AT + bytes)
      if (bytes > 0 && !this.#isGood(program, bytes)) return void (this.#spans = undefined)
      if (isEnd) return
      memory.copyWithin(TEXT_AT, TEXT_AT + bytes, TEXT_AT + filled)
      filled -= bytes
    } while (at < part.length)
    this.#state.set(words.subarray(0, STATE_WORDS))
    this.#remaining = Buffer.from(memory.subarray(TEXT_AT - this.#cut, TEXT_AT + filled))
  }

  /** Reads the next blocks of the text. Returns false if they contain a fault. */
  #isGood({ memory, words, scan }: StringProgram, bytes: number): boolean {
    const end = TEXT_AT + bytes
    words[FOUND] = 0
    words[BASE] = this.#scanned - TEXT_AT
    scan(TEXT_AT, end)
    this.#scanned += bytes
    this.#spans?.push(...words.subarray(STRINGS, STRINGS + 2 * (words[FOUND] ?? 0)))
    const start = TEXT_AT - this.#cut
    const whole = wholeCharacters(memory, end)
    this.#cut = end - whole
    const isUnicode = isUtf8(memory.subarray(start, whole))
    memory.copyWithin(TEXT_AT - this.#cut, whole, end)
    return isUnicode && words[BAD] === 0 && words[BAD + 1] === 0
  }
}

/** The program, which reads one text at a time. */
class StringProgram {
  /** One instance for the process; null if the engine lacks the instructions or has no address space left. */
  static #shared: StringProgram | null | undefined
  readonly memory: Buffer
  readonly words: Int32Array
  readonly scan: Exports['scan']

  private constructor({ memory, scan }: Exports) {
    this.memory = Buffer.from(memory.buffer)
    this.words = new Int32Array(memory.buffer)
    this.scan = scan
  }

  static get shared(): StringProgram | null {
    if (StringProgram.#shared === undefined) StringProgram.#shared = StringProgram.#make()
    return StringProgram.#shared
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
}

/** Returns `end`, or the start of the character that `end` cuts. */
function wholeCharacters(bytes: Buffer, end: number): number {
  for (let back = 1; back <= 3; back++) {
    const c = bytes[end - back] ?? 0
    if (c < 0x80) return end
    if (c >= 0xc0) return back < (c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2) ? end - back : end
  }
  return end
}

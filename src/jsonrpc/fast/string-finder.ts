// Finds and validates the long strings of a JSON text while it arrives.
//
// Nearly all bytes of a long message stand in a few long strings, and nothing
// has to be known of them but that they are well-formed. This finds out, sixteen
// bytes at a time, in the WebAssembly program of `string-scan.ts`, and says where
// these strings begin and end. It judges nothing else: what stands between them is
// the scanner's to accept, and so is the whole text where this found anything odd.

import { Buffer, isUtf8 } from 'node:buffer'
import { wholeCharacters } from '../scan.js'
import { stringScan } from './string-scan.js'

/** The part of WebAssembly that is used; the types of Node lack it, and an engine may too. */
declare const WebAssembly:
  | {
      readonly Module: new (bytes: Uint8Array) => object
      readonly Instance: new (module: object) => { readonly exports: Program }
    }
  | undefined

interface Program {
  readonly memory: { readonly buffer: ArrayBuffer }
  scan(from: number, to: number): void
}

// Places in the program's memory: numbers of words of four bytes, and addresses.
const STATE_WORDS = 12
const INSIDE = 0
const BAD = 6
const BASE = 9
const FOUND = 10
const BYTES_MIN = 12
const STRINGS = 16
/** Behind the strings that one piece can hold; a character that a piece cuts is kept before it. */
const TEXT_AT = 8 * 1024

const BLOCK_BYTES = 64
const PIECE_BYTES = 64 * 1024
const SPACE = 0x20

/** Shorter strings are not worth leaving out. */
const STRING_BYTES_MIN = 1024

/** Reads one text after the other. */
export class StringFinder {
  readonly #program: Program
  readonly #memory: Buffer
  readonly #words: Int32Array
  /** Bytes at the start of the text in memory that fill no block yet. */
  #left = 0
  /** Bytes of a character that was cut, before the text in memory. */
  #cut = 0
  /** How many bytes of the text have been scanned. */
  #scanned = 0
  #isUtf8 = true
  #strings: number[] = []

  private constructor(program: Program, stringBytesMin: number) {
    const { buffer } = program.memory
    this.#program = program
    this.#memory = Buffer.from(buffer)
    this.#words = new Int32Array(buffer)
    this.#words[BYTES_MIN] = stringBytesMin
  }

  /** Undefined where the engine cannot run it; `stringBytesMin`, quotes included, is at least 128. */
  static make(stringBytesMin: number = STRING_BYTES_MIN): StringFinder | undefined {
    if (typeof WebAssembly === 'undefined') return undefined
    try {
      const module = new WebAssembly.Module(Buffer.from(stringScan, 'base64'))
      return new StringFinder(new WebAssembly.Instance(module).exports, stringBytesMin)
    } catch {
      // No such instructions, or no address space left for it.
      return undefined
    }
  }

  /** Begins a new text. */
  start(): void {
    this.#words.fill(0, 0, STATE_WORDS)
    this.#left = 0
    this.#cut = 0
    this.#scanned = 0
    this.#isUtf8 = true
    this.#strings = []
  }

  /** The next bytes of the text. */
  push(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length && this.#isGood; at += PIECE_BYTES) {
      const isWhole = at === 0 && bytes.length <= PIECE_BYTES
      this.#take(isWhole ? bytes : bytes.subarray(at, at + PIECE_BYTES))
    }
  }

  /**
   * The offsets at which each long string begins and ends, its quotes included, in turn.
   *
   * Undefined when something about the text is not as it should be.
   */
  finish(): readonly number[] | undefined {
    if (this.#left > 0) {
      this.#memory.fill(SPACE, TEXT_AT + this.#left, TEXT_AT + BLOCK_BYTES)
      this.#scan(BLOCK_BYTES)
    }
    return this.#isGood && this.#cut === 0 && this.#words[INSIDE] === 0 ? this.#strings : undefined
  }

  get #isGood(): boolean {
    return this.#isUtf8 && this.#words[BAD] === 0 && this.#words[BAD + 1] === 0
  }

  #take(piece: Uint8Array): void {
    this.#memory.set(piece, TEXT_AT + this.#left)
    const bytes = this.#left + piece.length
    this.#left = bytes % BLOCK_BYTES
    const whole = bytes - this.#left
    if (whole === 0) return
    this.#scan(whole)
    this.#memory.copyWithin(TEXT_AT, TEXT_AT + whole, TEXT_AT + bytes)
  }

  #scan(bytes: number): void {
    const words = this.#words
    words[FOUND] = 0
    words[BASE] = this.#scanned - TEXT_AT
    this.#program.scan(TEXT_AT, TEXT_AT + bytes)
    this.#scanned += bytes
    for (let i = 0; i < 2 * (words[FOUND] ?? 0); i++) this.#strings.push(words[STRINGS + i] ?? 0)
    if (this.#isUtf8) this.#checkUtf8(TEXT_AT + bytes)
  }

  /** A character that the end cuts is checked together with the next bytes. */
  #checkUtf8(end: number): void {
    const memory = this.#memory
    const text = memory.subarray(TEXT_AT - this.#cut, end)
    const whole = wholeCharacters(text, text.length)
    if (!isUtf8(whole === text.length ? text : text.subarray(0, whole))) this.#isUtf8 = false
    this.#cut = text.length - whole
    if (this.#cut > 0) memory.copyWithin(TEXT_AT - this.#cut, end - this.#cut, end)
  }
}

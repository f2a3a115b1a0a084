// Finds and validates the long values of a JSON text while it arrives.
//
// Nearly all bytes of a long message stand in values into which nothing in the proxy looks: long strings, arrays, and objects
// far inside. Of these, the reader of messages must know only where they begin and end, and that they are well-formed. Two
// passes over each piece find that out. The WebAssembly program of `string-scan.ts` checks the strings, sixteen bytes at a
// time, and reports the long ones. A table of the grammar of JSON (RFC 8259) checks what stands between strings. Neither
// refuses a message: the reader of whole messages reads a text in which anything is odd, and reports the fault.

import { Buffer, isUtf8 } from 'node:buffer'
import { BACKSLASH, CLOSE_ARRAY, OPEN_ARRAY, QUOTE, SPACE } from '../ascii.js'
import type { KnownValues } from '../scan.js'
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

/** The program, which scans a piece of one text and then a piece of another. */
interface Program {
  readonly memory: Buffer
  readonly words: Int32Array
  readonly scan: (from: number, to: number) => void
  /** The finder whose text was scanned last; the memory has its state. */
  user: ValueFinder | undefined
}

// Places in the program's memory: numbers of words of four bytes, and addresses.
const STATE_WORDS = 12
const INSIDE = 0
const ESCAPED = 2
const BAD = 6
const OPENED = 8
const BASE = 9
const FOUND = 10
const BYTES_MIN = 12
const STRINGS = 16
/** Behind the strings that one piece can hold; a character that a piece cuts is kept before it. */
const TEXT_AT = 8 * 1024

const BLOCK_BYTES = 64
const PIECE_BYTES = 64 * 1024
const BLANK = Buffer.alloc(BLOCK_BYTES, SPACE)

/** Shorter values are not worth leaving out. */
const VALUE_BYTES_MIN = 1024

/** Containers whose members the reader of messages may ask for: a message, its `params` or `result`, and objects in these. */
const ROUTED_DEPTH = 3

/** A text that is nested deeper is left to the reader of whole messages. */
const DEPTH_MAX = 128

/** Undefined where the engine cannot run it: it has no such instructions, or no address space left for it. */
function makeProgram(): Program | undefined {
  if (typeof WebAssembly === 'undefined') return undefined
  try {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(stringScan, 'base64')))
    const { buffer } = exports.memory
    const words = new Int32Array(buffer)
    return { memory: Buffer.from(buffer), words, scan: exports.scan, user: undefined }
  } catch {
    return undefined
  }
}

// The grammar of JSON between strings, as a table: from a state and a byte to the next state, or to an action.

const REFUSE = 0
const BREAK = 1
const STRING = 2
const KEY = 3
const OPEN = 4
const CLOSE = 5
const NEXT = 6
/** The states follow the actions, and those that a value may end in follow `AFTER`. `STRING` and `KEY` are states where a piece ends inside one. */
const VALUE = 8
const FIRST_ITEM = 9
const FIRST_KEY = 10
const NEXT_KEY = 11
const COLON = 12
const AFTER = 13
const MINUS = 14
const ZERO = 15
const INTEGER = 16
const POINT = 17
const FRACTION = 18
const EXPONENT = 19
const SIGN = 20
const POWER = 21
const LITERALS = 22
const STATES_MAX = 32

function makeGrammar(): Uint8Array {
  const table = new Uint8Array(STATES_MAX << 8)
  const leads = (states: readonly number[], characters: string, to: number): void => {
    for (const state of states) for (const byte of Buffer.from(characters)) table[(state << 8) | byte] = to
  }
  const digits = '0123456789'
  const beginnings = [VALUE, FIRST_ITEM]
  const between = [...beginnings, FIRST_KEY, NEXT_KEY, COLON]
  const ends = [AFTER, ZERO, INTEGER, FRACTION, POWER]
  for (const state of between) leads([state], ' \t', state)
  leads(ends, ' \t', AFTER)
  leads([...between, ...ends], '\r\n', BREAK)
  leads(beginnings, '"', STRING)
  leads([FIRST_KEY, NEXT_KEY], '"', KEY)
  leads([COLON], ':', VALUE)
  leads(beginnings, '[{', OPEN)
  leads([FIRST_ITEM], ']', CLOSE)
  leads([FIRST_KEY], '}', CLOSE)
  leads(ends, ']}', CLOSE)
  leads(ends, ',', NEXT)
  leads(beginnings, '-', MINUS)
  leads([...beginnings, MINUS], '0', ZERO)
  leads([...beginnings, MINUS], digits.slice(1), INTEGER)
  leads([INTEGER], digits, INTEGER)
  leads([ZERO, INTEGER], '.', POINT)
  leads([POINT, FRACTION], digits, FRACTION)
  leads([ZERO, INTEGER, FRACTION], 'eE', EXPONENT)
  leads([EXPONENT], '+-', SIGN)
  leads([EXPONENT, SIGN, POWER], digits, POWER)
  let state = LITERALS
  for (const [first = '', ...others] of ['true', 'false', 'null']) {
    leads(beginnings, first, state)
    for (const [at, character] of others.entries())
      leads([state++], character, at + 1 < others.length ? state : AFTER)
  }
  return table
}

const grammar: Uint8Array = makeGrammar()

export class ValueFinder {
  /** Of all texts of the process; null where there is none. */
  static #shared: Program | null | undefined
  readonly #program: Program
  readonly #valueBytesMin: number
  /** The state of the program, and the bytes that it has not scanned, while it scans another text. */
  #saved: { readonly words: Int32Array; readonly bytes: Uint8Array } | undefined
  /** The last bytes of the text, which fill no block yet. */
  #left = 0
  /** Bytes of a character that was cut, before those. */
  #cut = 0
  #scanned = 0
  #isGood = true
  #state = VALUE
  /** Where each open container begins: that of an object as its complement, which is negative. */
  readonly #open: number[] = []
  /** Where the string begins in which the last piece ended. */
  #opened = 0
  #found = STRINGS
  #spans: number[] = []
  #depth = 0
  #hasBreaks = false

  private constructor(program: Program, valueBytesMin: number) {
    this.#program = program
    this.#valueBytesMin = valueBytesMin
  }

  /** Undefined where the engine cannot run the program; `valueBytesMin`, quotes and brackets included, is at least 128. */
  static make(valueBytesMin: number = VALUE_BYTES_MIN): ValueFinder | undefined {
    if (ValueFinder.#shared === undefined) ValueFinder.#shared = makeProgram() ?? null
    const program = ValueFinder.#shared
    return program === null ? undefined : new ValueFinder(program, valueBytesMin)
  }

  push(bytes: Uint8Array): void {
    this.#resume()
    for (let at = 0; at < bytes.length && this.#isGood; at += PIECE_BYTES) {
      const isWhole = at === 0 && bytes.length <= PIECE_BYTES
      this.#take(isWhole ? bytes : bytes.subarray(at, at + PIECE_BYTES))
    }
  }

  /** The long values of the whole text; undefined when something about it is not as it should be. */
  finish(): KnownValues | undefined {
    this.#resume()
    if (this.#isGood && this.#left > 0) this.#take(BLANK.subarray(this.#left))
    this.#program.user = undefined
    const isAtEnd = this.#state === AFTER && this.#open.length === 0
    return this.#isGood && this.#cut === 0 && isAtEnd
      ? { spans: this.#spans, depth: this.#depth, hasBreaks: this.#hasBreaks }
      : undefined
  }

  /** Brings its state back into the program's memory, and saves that of another text. */
  #resume(): void {
    const program = this.#program
    const { words, memory, user } = program
    if (user === this) return
    if (user !== undefined) user.#save()
    program.user = this
    words.fill(0, 0, STATE_WORDS)
    words[BYTES_MIN] = this.#valueBytesMin
    if (this.#saved === undefined) return
    words.set(this.#saved.words)
    memory.set(this.#saved.bytes, TEXT_AT - this.#cut)
  }

  #save(): void {
    const { words, memory } = this.#program
    const bytes = Uint8Array.from(memory.subarray(TEXT_AT - this.#cut, TEXT_AT + this.#left))
    this.#saved = { words: words.slice(0, STATE_WORDS), bytes }
  }

  #take(piece: Uint8Array): void {
    const { memory } = this.#program
    memory.set(piece, TEXT_AT + this.#left)
    const bytes = this.#left + piece.length
    this.#left = bytes % BLOCK_BYTES
    const end = TEXT_AT + bytes - this.#left
    if (end === TEXT_AT) return
    this.#scan(end)
    memory.copyWithin(TEXT_AT - this.#cut, end - this.#cut, end + this.#left)
  }

  #scan(end: number): void {
    const { words, scan } = this.#program
    const isEscaped = words[ESCAPED] !== 0
    words[FOUND] = 0
    words[BASE] = this.#scanned - TEXT_AT
    scan(TEXT_AT, end)
    this.#isGood = words[BAD] === 0 && words[BAD + 1] === 0 && this.#isUtf8(end)
    if (this.#isGood) this.#walk(end, isEscaped ? TEXT_AT + 1 : TEXT_AT)
    this.#scanned += end - TEXT_AT
  }

  /** A character that the end cuts is checked together with the next bytes. */
  #isUtf8(end: number): boolean {
    const text = this.#program.memory.subarray(TEXT_AT - this.#cut, end)
    const whole = wholeCharacters(text, text.length)
    this.#cut = text.length - whole
    return isUtf8(this.#cut === 0 ? text : text.subarray(0, whole))
  }

  /** Follows the grammar; a string in which the last piece ended is read on from `inside`. */
  #walk(end: number, inside: number): void {
    const { memory } = this.#program
    const open = this.#open
    const offset = this.#scanned - TEXT_AT
    this.#found = STRINGS
    let state = this.#state
    let at = state < VALUE ? inside : TEXT_AT
    for (;;) {
      if (state < VALUE) {
        const closed = this.#stringEnd(at, end)
        if (closed === undefined) break
        at = closed
        if (state === STRING && open.length > 1) this.#report(this.#opened, offset + at)
        state = state === STRING ? AFTER : COLON
      }
      let next = REFUSE
      while (at < end && (next = grammar[(state << 8) | (memory[at] ?? 0)] ?? REFUSE) >= VALUE) {
        state = next
        at++
      }
      if (at >= end) break
      const after = this.#act(next, state, offset + at, memory[at] ?? 0)
      if (after === REFUSE) return void (this.#isGood = false)
      state = after
      at++
    }
    this.#state = state
  }

  /** The state behind a byte that is more than a step; `place` is where it stands in the text. */
  #act(action: number, state: number, place: number, byte: number): number {
    const open = this.#open
    switch (action) {
      case BREAK:
        this.#hasBreaks = true
        return state > AFTER ? AFTER : state
      case STRING:
      case KEY:
        this.#opened = place
        return action
      case OPEN:
        open.push(byte === OPEN_ARRAY ? place : ~place)
        this.#depth = Math.max(this.#depth, open.length)
        return open.length > DEPTH_MAX ? REFUSE : byte === OPEN_ARRAY ? FIRST_ITEM : FIRST_KEY
      case CLOSE: {
        const start = open.pop()
        if (start === undefined || start >= 0 !== (byte === CLOSE_ARRAY)) return REFUSE
        if (start >= 0 || open.length >= ROUTED_DEPTH) this.#report(start >= 0 ? start : ~start, place + 1)
        return AFTER
      }
      case NEXT: {
        const around = open.at(-1)
        return around === undefined ? REFUSE : around >= 0 ? VALUE : NEXT_KEY
      }
      default:
        return REFUSE
    }
  }

  /** The address behind the string that is open, which is read on from `from`; undefined where it goes on behind `end`. */
  #stringEnd(from: number, end: number): number | undefined {
    const { memory, words } = this.#program
    const opened = this.#opened
    if (words[INSIDE] !== 0 && words[OPENED] === opened) return undefined
    const foundEnd = STRINGS + 2 * (words[FOUND] ?? 0)
    while (this.#found < foundEnd && (words[this.#found] ?? 0) < opened) this.#found += 2
    if (this.#found < foundEnd && words[this.#found] === opened)
      return (words[this.#found + 1] ?? 0) - (words[BASE] ?? 0)
    let at = from
    while (at < end && memory[at] !== QUOTE) at += memory[at] === BACKSLASH ? 2 : 1
    return at + 1
  }

  /** Those inside the value are part of it. */
  #report(start: number, end: number): void {
    const spans = this.#spans
    if (end - start < this.#valueBytesMin) return
    while ((spans.at(-2) ?? -1) > start) spans.length -= 2
    spans.push(start, end)
  }
}

/** `end`, moved back to before a character that it cuts. */
function wholeCharacters(bytes: Buffer, end: number): number {
  for (let back = 1; back <= 3 && back <= end; back++) {
    const c = bytes[end - back] ?? 0
    if (c < 0x80) return end
    if (c >= 0xc0) return back < characterLength(c) ? end - back : end
  }
  return end
}

function characterLength(lead: number): number {
  if (lead >= 0xf0) return 4
  return lead >= 0xe0 ? 3 : 2
}

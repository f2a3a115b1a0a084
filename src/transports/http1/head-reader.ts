// Where the head of a message ends (RFC 9112, section 2.1).

import { Buffer } from 'node:buffer'
import { CR, LF } from '../../jsonrpc/ascii.js'
import { HttpSyntaxError } from './syntax-error.js'

const HEAD_END = Buffer.from('\r\n\r\n')
/** More than anybody sends by mistake. */
const BLANK_LINES_MAX = 100

const NOTHING = Buffer.alloc(0)

/** A head that has come whole: the first `length` of the bytes, without the empty line behind it. */
export interface WholeHead {
  readonly bytes: Buffer
  readonly length: number
  /** What came behind it. */
  readonly rest: Buffer
}

/** Gathers one head after another. */
export class HeadReader {
  readonly #bytesMax: number
  readonly #skipsBlankLines: boolean
  #pending: Buffer = NOTHING
  /** Before the head that is to come. */
  #blankLines = 0

  /** Some clients send an empty line behind a body (RFC 9112, section 2.2), and no server does. */
  constructor(bytesMax: number, skipsBlankLines = false) {
    this.#bytesMax = bytesMax
    this.#skipsBlankLines = skipsBlankLines
  }

  /** What there is of a head whose end has not come. */
  get pending(): Buffer {
    return this.#pending
  }

  /**
   * Takes all bytes; undefined while the end of the head is not among them.
   *
   * @throws HttpSyntaxError when it is too long
   */
  take(chunk: Buffer): WholeHead | undefined {
    const pending = this.#pending.length
    const joined = pending === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    const bytes = this.#skipsBlankLines ? this.#withoutBlankLines(joined) : joined
    const end = bytes.indexOf(HEAD_END, Math.max(0, pending - HEAD_END.length))
    if (end > this.#bytesMax || (end < 0 && bytes.length > this.#bytesMax))
      throw new HttpSyntaxError(`its head is longer than ${this.#bytesMax} bytes`, 'TOO_LONG')
    if (end >= 0) this.#blankLines = 0
    this.#pending = end < 0 && bytes.length > 0 ? bytes : NOTHING
    return end < 0 ? undefined : { bytes, length: end, rest: bytes.subarray(end + HEAD_END.length) }
  }

  #withoutBlankLines(bytes: Buffer): Buffer {
    let at = 0
    while (bytes[at] === CR && bytes[at + 1] === LF) {
      if (++this.#blankLines > BLANK_LINES_MAX) throw new HttpSyntaxError('it has many empty lines before it')
      at += 2
    }
    return at === 0 ? bytes : bytes.subarray(at)
  }
}

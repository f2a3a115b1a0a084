// The lengths in the first line of a kept file, and the parts that they are the lengths of.

import { FrameError } from '../jsonrpc/errors.js'

const SPACE = 0x20
const LF = 0x0a

/** Words are this long at most; no file is so large that one of its lengths has more digits. */
const WORD_LENGTH_MAX = 16

/** Reads words up to the line feed, and the parts behind it; whatever is odd throws a FrameError. */
export class KeptReader {
  readonly #bytes: Buffer
  readonly #lineEnd: number
  /** Where the next word and the next part begin. */
  #word = 0
  #part: number

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.#lineEnd = bytes.indexOf(LF)
    this.#part = this.#lineEnd + 1
  }

  /** Whether there is no word any more. */
  get atEnd(): boolean {
    return this.#word >= this.#lineEnd
  }

  expect(word: string): void {
    if (!this.follows(word)) this.#fail(`expected ${word}`)
  }

  oneOf(words: readonly string[]): string {
    const found = words.find((word) => this.follows(word))
    return found ?? this.#fail(`expected ${words.join(' or ')}`)
  }

  /** Takes the next word where it is this one. */
  follows(word: string): boolean {
    const end = this.#wordEnd()
    if (this.#bytes.toString('latin1', this.#word, end) !== word) return false
    this.#word = end + 1
    return true
  }

  number(): number {
    const end = this.#wordEnd()
    const word = this.#bytes.toString('latin1', this.#word, end)
    if (!/^(?:0|[1-9]\d*)$/.test(word)) this.#fail('expected a number')
    this.#word = end + 1
    return Number(word)
  }

  /** The next part, whose length is the next word. */
  part(): Buffer {
    const start = this.#part
    const end = start + this.number()
    if (end > this.#bytes.length) this.#fail('a part is longer than the file')
    this.#part = end
    return this.#bytes.subarray(start, end)
  }

  /** Asserts that the parts are all there is. */
  finish(): void {
    if (this.#lineEnd < 0 || this.#part !== this.#bytes.length)
      this.#fail('the lengths are not those of the file')
  }

  #wordEnd(): number {
    const most = Math.min(this.#lineEnd, this.#word + WORD_LENGTH_MAX)
    let end = this.#word
    while (end < most && this.#bytes[end] !== SPACE) end++
    return end
  }

  #fail(what: string): never {
    throw new FrameError('FRAME_SYNTAX', what, this.#word)
  }
}

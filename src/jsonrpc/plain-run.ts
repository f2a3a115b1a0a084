// How far a string goes on without a byte that means something, four bytes at a time.

const QUOTE = 0x22
const BACKSLASH = 0x5c
const SPACE = 0x20

const QUOTES = 0x22222222
const BACKSLASHES = 0x5c5c5c5c
const SPACES = 0x20202020
const ONES = 0x01010101
const TOP_BITS = 0x80808080

/** Below this length a plain loop beats the set-up of four-byte loads. */
const WORDS_FROM_BYTES = 512

/** The bytes of one text, as bytes and as words. */
export class PlainRun {
  readonly #bytes: Buffer
  /** Undefined for a short text. */
  readonly #words: Int32Array | undefined
  /** The byte at which the first word begins. */
  readonly #wordsFrom: number

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.#wordsFrom = -bytes.byteOffset & 3
    this.#words =
      bytes.length < WORDS_FROM_BYTES
        ? undefined
        : new Int32Array(
            bytes.buffer,
            bytes.byteOffset + this.#wordsFrom,
            (bytes.length - this.#wordsFrom) >> 2,
          )
  }

  /** The first quote, backslash or control byte in `[at, limit)`, or `limit`. */
  end(at: number, limit: number): number {
    const words = this.#words
    if (words === undefined) return this.#byBytes(at, limit)
    const aligned = at + ((this.#wordsFrom - at) & 3)
    const first = this.#byBytes(at, Math.min(aligned, limit))
    if (first < aligned || aligned >= limit) return first
    const last = Math.min((limit - this.#wordsFrom) >> 2, words.length)
    let word = (aligned - this.#wordsFrom) >> 2
    while (word < last && isPlain(words[word] ?? 0)) word++
    return this.#byBytes(this.#wordsFrom + word * 4, limit)
  }

  #byBytes(at: number, limit: number): number {
    const bytes = this.#bytes
    let i = at
    while (i < limit) {
      const c = bytes[i] ?? 0
      if (c === QUOTE || c === BACKSLASH || c < SPACE) return i
      i++
    }
    return limit
  }
}

/**
 * Whether none of four bytes is a quote, a backslash or a control byte.
 *
 * Each difference sets the top bit of a byte that was zero, or below a space, and
 * maybe that of the byte after it; it never misses one, so a hit is looked at
 * byte by byte.
 */
function isPlain(word: number): boolean {
  const quotes = word ^ QUOTES
  const backslashes = word ^ BACKSLASHES
  const hits = ((quotes - ONES) & ~quotes) | ((backslashes - ONES) & ~backslashes) | ((word - SPACES) & ~word)
  return (hits & TOP_BITS) === 0
}

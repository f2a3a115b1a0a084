// Searches the end of a long string with the engine's own byte search.
//
// What a search found is kept: a text is searched once, however its quotes and
// backslashes lie.

import { BACKSLASH, QUOTE } from '../ascii.js'

/** Finds the next byte of a text at which a string may end. */
export class StringSearch {
  readonly #bytes: Buffer
  #searchedFrom = 0
  #nextQuote = -1
  #nextBackslash = -1

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** The next quote or backslash, or the end of the text. */
  stopFrom(at: number): number {
    // What was found from a later place says nothing about this one, and callers scan a text more than once.
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

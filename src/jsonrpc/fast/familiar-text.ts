// A string that messages of one connection have in common.
//
// To make a string of bytes costs more than to compare them, and so does the first look-up of a string that is new: its
// hash is not known yet. A client that calls one tool often gets the same string for it each time.

import { QUOTE } from '../ascii.js'
import type { Span } from '../scan.js'
import { isKey, stringAt } from '../text.js'

/** A longer text is not remembered. */
const TEXT_LENGTH_MAX = 256

/** Remembers the latest text of one place. */
export class FamiliarText {
  #text = ''

  /** The text of the JSON string at `span`; undefined when it is no string. */
  at(bytes: Buffer, span: Span | undefined): string | undefined {
    if (span === undefined) return undefined
    const { start, end } = span
    if (bytes[start] === QUOTE && isKey(bytes, start, end, this.#text)) return this.#text
    const text = stringAt(bytes, span)
    // As long as its bytes it has no escapes, and all of it is ASCII, as `isKey` wants it.
    if (text?.length === end - start - 2 && text.length <= TEXT_LENGTH_MAX) this.#text = text
    return text
  }
}

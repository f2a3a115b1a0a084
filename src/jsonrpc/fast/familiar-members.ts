// What messages of one connection have in common.
//
// Who speaks without a session says of itself with each request what it has said with the one before. That is compared,
// which the engine does many bytes at a time, instead of scanned; and who has understood it once need not look into it.

import { CLOSE_OBJECT } from '../ascii.js'
import type { KnownMembers, Members, MembersMemory } from '../members.js'
import type { Span } from '../scan.js'
import { ComparedText } from './compared-text.js'
import { FamiliarText } from './familiar-text.js'

/** What is scanned as fast as it is compared is not remembered. */
const TEXT_BYTES_MIN = 64
const TEXT_BYTES_MAX = 4096

/** After so many that differed each time, one in several is remembered. */
const MISSES_MAX = 8
const ONE_IN = 64

/** Remembers of the latest message the object, its method, and the text that was read of its parameters: a tool's name. */
export class FamiliarMembers implements MembersMemory {
  readonly method: FamiliarText = new FamiliarText()
  readonly text: FamiliarText = new FamiliarText()
  #known: KnownMembers | undefined
  #compared: ComparedText | undefined
  #misses = 0

  /** The object at `start`, where it is the one of the message before. */
  at(bytes: Buffer, start: number): KnownMembers | undefined {
    const known = this.#known
    if (known === undefined) return undefined
    // Most of those that differ differ in length.
    if (bytes[start + known.text.length - 1] !== CLOSE_OBJECT) return undefined
    if (this.#compared?.isAt(bytes, start) !== true) return undefined
    this.#misses = 0
    return known
  }

  /** Takes the object of a message that was found to be in order, and that has no line breaks. */
  learn(bytes: Buffer, { start, end }: Span, members: Members): void {
    const length = end - start
    if (members.known !== undefined || length < TEXT_BYTES_MIN || length > TEXT_BYTES_MAX) return
    this.#misses++
    if (this.#misses > MISSES_MAX && this.#misses % ONE_IN !== 0) return
    const text = Buffer.from(bytes.subarray(start, end))
    this.#known = members.remembered(text, start)
    this.#compared = new ComparedText(text)
  }
}

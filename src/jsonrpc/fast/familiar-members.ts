// What messages of one connection have in common.
//
// Who speaks without a session says of itself with each request what it has said with the one before. That is compared,
// which the engine does many bytes at a time, instead of scanned; and who has understood it once need not look into it.

import { CLOSE_OBJECT } from '../ascii.js'
import type { FoundMembers, KnownMembers, Members, MembersMemory } from '../members.js'
import type { Span } from '../scan.js'
import { ComparedText } from './compared-text.js'
import { FamiliarText } from './familiar-text.js'
import { VaryingMembers, patternOf } from './varying-members.js'

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
  #found: FoundMembers | undefined
  /** Of the latest ones, where they differed in a few values. */
  #varying: VaryingMembers | undefined
  #compared: ComparedText | undefined
  #misses = 0

  /** The object at `start`, where it is the one of the message before, or differs from it as that did from another. */
  at(bytes: Buffer, start: number): FoundMembers | undefined {
    const found = this.#same(bytes, start) ?? this.#varying?.at(bytes, start)
    if (found !== undefined) this.#misses = 0
    return found
  }

  /** Takes the object of a message that was found to be in order, and that has no line breaks. */
  learn(bytes: Buffer, { start, end }: Span, members: Members): void {
    const length = end - start
    if (members.end !== undefined || length < TEXT_BYTES_MIN || length > TEXT_BYTES_MAX) return
    this.#misses++
    if (this.#misses > MISSES_MAX && this.#misses % ONE_IN !== 0) return
    const text = Buffer.from(bytes.subarray(start, end))
    const known = members.remembered(text, start)
    const compared = new ComparedText(text)
    this.#varying = this.#known && patternOf(this.#known, known, compared)
    this.#known = known
    this.#found = { length, places: known.places, known, pattern: undefined }
    this.#compared = compared
  }

  #same(bytes: Buffer, start: number): FoundMembers | undefined {
    const found = this.#found
    if (found === undefined) return undefined
    // Most of those that differ differ in length.
    if (bytes[start + found.length - 1] !== CLOSE_OBJECT) return undefined
    return this.#compared?.isAt(bytes, start) === true ? found : undefined
  }
}

// Long messages of one stream, looked at while they arrive.

import { CR } from '../jsonrpc/ascii.js'
import { IdFinder } from '../jsonrpc/id-finder.js'
import { type Line, toLine } from '../jsonrpc/line.js'
import { LongLine } from '../jsonrpc/fast/long-line.js'
import { StringFinder } from '../jsonrpc/fast/string-finder.js'

/** From here on a message is worth more than one look. */
export const LONG_BYTES_MIN: number = 4 * 1024

/** Makes one long line after the other. */
export class LongLines {
  /** Undefined until there is a long line, null where the engine has none. */
  #finder: StringFinder | undefined | null
  /** Of the line that has begun to come in parts, and may come to be dropped. */
  #ids: IdFinder | undefined
  /** How many parts of the line were looked at. */
  #followed = 0

  /** Looks at those of its parts that are new. */
  follow(parts: readonly Buffer[]): void {
    for (const part of parts.slice(this.#followed)) this.push(part)
    this.#followed = parts.length
  }

  /** Looks at the next part of a line of which only the id is wanted. */
  push(part: Buffer): void {
    if (this.#ids === undefined) this.#begin((this.#ids = new IdFinder()))
    if (this.#finder) this.#finder.push(part)
    else this.#ids.push(part)
  }

  /** The line that has these parts; a CR at its end belongs to the line end. */
  end(parts: readonly Buffer[]): LongLine {
    if (this.#ids === undefined) this.#begin()
    for (const part of parts.slice(this.#followed)) this.#finder?.push(part)
    const last = parts.at(-1) ?? EMPTY
    const end = last.at(-1) === CR ? last.length - 1 : last.length
    const strings = this.#finder?.finish()
    this.forget()
    return new LongLine(parts.slice(0, -1), toLine(last.subarray(0, end)), strings)
  }

  /** A line in one piece. */
  whole(line: Line): LongLine {
    this.#begin()
    this.#finder?.push(line)
    return new LongLine([], line, this.#finder?.finish())
  }

  /** Whether the id of the line that has begun is known. */
  get isSure(): boolean {
    return this.#ids?.isSure ?? false
  }

  /** What is known of the id of a line that was not kept. */
  dropped(): IdFinder {
    const ids = this.#ids ?? new IdFinder()
    this.#finder?.finish()
    this.forget()
    return ids
  }

  /** Forgets the line that has begun. */
  forget(): void {
    this.#ids = undefined
    this.#followed = 0
  }

  #begin(ids?: IdFinder): void {
    if (this.#finder === undefined) this.#finder = StringFinder.make() ?? null
    this.#finder?.start(ids)
  }
}

const EMPTY = toLine('')

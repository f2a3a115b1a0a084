// Long messages of one stream, looked at while they arrive.

import { CR } from '../jsonrpc/ascii.js'
import { type Sink, receivedMessage } from '../jsonrpc/connection.js'
import { readLongFrame } from '../jsonrpc/fast/long-frame.js'
import { LongLine } from '../jsonrpc/fast/long-line.js'
import { frameOrError } from '../jsonrpc/frame.js'
import { type Line, toLine } from '../jsonrpc/line.js'
import { StringFinder } from '../jsonrpc/fast/string-finder.js'

/** From here on a message is worth more than one look. */
export const LONG_BYTES_MIN: number = 4 * 1024

/** Makes one long line after the other. */
export class LongLines {
  /** Undefined until there is a long line, null where the engine has none. */
  #finder: StringFinder | undefined | null
  /** How many parts of the line that has begun were looked at. */
  #followed = 0

  /** Looks at those of its parts that are new, so that no turn has to look at all of them. */
  follow(parts: readonly Buffer[]): void {
    if (parts.length === this.#followed) return
    if (this.#followed === 0) this.#begin()
    for (const part of parts.slice(this.#followed)) this.#finder?.push(part)
    this.#followed = parts.length
  }

  /** The line that has these parts; a CR at its end belongs to the line end. */
  end(parts: readonly Buffer[]): LongLine {
    this.follow(parts)
    const last = parts.at(-1) ?? Buffer.alloc(0)
    const end = last.at(-1) === CR ? last.length - 1 : last.length
    this.forget()
    return new LongLine(parts.slice(0, -1), toLine(last.subarray(0, end)), this.#finder?.finish())
  }

  /** A line in one piece. */
  whole(line: Line): LongLine {
    this.#begin()
    this.#finder?.push(line)
    return new LongLine([], line, this.#finder?.finish())
  }

  /** Forgets the line that has begun. */
  forget(): void {
    this.#followed = 0
  }

  #begin(): void {
    if (this.#finder === undefined) this.#finder = StringFinder.make() ?? null
    this.#finder?.start()
  }
}

/** Of all messages that are looked at once they are whole, as over HTTP; each has its turn to the end. */
export const wholeLongLines: LongLines = new LongLines()

/** Reads a long message by its strings and delivers it; one that is not in order goes to the reader of whole messages. */
export function deliverLong(long: LongLine, sink: Sink): void {
  const frame = readLongFrame(long, sink.frameLimits)
  if (frame !== undefined) return sink.received?.(frame)
  const { noise } = long
  if (noise === undefined) sink.message(long.line)
  else sink.received?.(receivedMessage(frameOrError(noise, sink.frameLimits), noise, long.length))
}

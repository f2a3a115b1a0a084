// A long message, in the parts in which it arrived.
//
// Most long messages are results that the proxy only forwards. It forwards the parts, and joins them only for
// a caller that reads the content. A message of another kind, or with a fault, is joined when it is read.

import { Buffer } from 'node:buffer'
import { type ReceivedMessage, type ResultFrame, readMessage } from './frame.js'
import { type Line, PartReader, joinLine, lengthOf } from './line.js'
import type { Members } from './members.js'
import type { RequestId } from './request-id.js'
import type { Span } from './scan.js'

export function joinedLine(message: Line | LongLine): Line {
  return message instanceof LongLine ? message.line : message
}

/** One message in several pieces of memory; a line feed follows the last piece. */
export class LongLine {
  readonly parts: readonly Buffer[]
  readonly length: number
  /** The offsets of the starts and ends of the long strings, in turn; undefined if the scanner must read them. */
  readonly strings: readonly number[] | undefined
  #line: Line | undefined

  constructor(head: readonly Buffer[], last: Line, strings: readonly number[] | undefined) {
    this.parts = [...head, last]
    this.length = lengthOf(this.parts)
    this.strings = strings
  }

  /** Copies a range of the message without joining the parts. */
  slice(start: number, end: number): Buffer {
    const views: Uint8Array[] = []
    new PartReader(this.parts).read(start, end, views)
    return Buffer.concat(views)
  }

  /** The whole message in one piece. The first access joins the parts. */
  get line(): Line {
    this.#line ??= joinLine(this.parts, this.length)
    return this.#line
  }
}

export function readLong(long: LongLine): ReceivedMessage {
  const { strings } = long
  return (strings && resultInParts(long, strings)) ?? readMessage(long.line, strings ?? [])
}

function resultInParts(long: LongLine, strings: readonly number[]): ResultFrame | undefined {
  const { line, origin } = skeletonOf(long, strings)
  const frame = readMessage(line, [])
  return frame.kind === 'result' ? new LongResult(frame, long, origin) : undefined
}

/**
 * A result that joins its parts only for a caller that reads `line`.
 *
 * A getter in an object literal would create a function for each result. The engine would keep it, with the
 * parts, until the next full collection, which costs half of all CPU time.
 */
class LongResult implements ResultFrame {
  readonly kind = 'result'
  readonly long: LongLine
  readonly multiline: boolean
  readonly id: RequestId
  readonly idSpan: Span
  readonly result: Span
  readonly members: Members | undefined

  constructor(skeleton: ResultFrame, long: LongLine, origin: Origin) {
    const placed = ({ start, end }: Span): Span => ({ start: origin(start), end: origin(end) })
    this.long = long
    this.multiline = skeleton.multiline
    this.id = skeleton.id
    this.idSpan = placed(skeleton.idSpan)
    this.result = placed(skeleton.result)
    this.members = skeleton.members?.movedTo(skeleton.line, long, origin)
  }

  get line(): Line {
    return this.long.line
  }
}

/** Maps an offset in the skeleton to the offset in the message. */
type Origin = (at: number) => number

/**
 * The message without the content of its long strings, and the original offset of each byte.
 *
 * `{"id":1,"result":{"a":"…a megabyte…"}}` becomes `{"id":1,"result":{"a":""}}`. This short message parses
 * fast. It is valid exactly when the long message is, because the long strings are already checked.
 */
function skeletonOf(long: LongLine, strings: readonly number[]): { line: Line; origin: Origin } {
  const kept: Uint8Array[] = []
  const reader = new PartReader(long.parts)
  // The offsets of the closing quotes in the skeleton, and the number of bytes removed before each.
  const cuts: number[] = []
  const missing: number[] = []
  let left = 0
  let from = 0
  for (let i = 0; i < strings.length; i += 2) {
    const inside = (strings[i] ?? 0) + 1
    reader.read(from, inside, kept)
    from = (strings[i + 1] ?? 0) - 1
    left += from - inside
    cuts.push(from - left)
    missing.push(left)
  }
  reader.read(from, long.length, kept)
  const origin = (at: number): number => {
    let low = 0
    let high = cuts.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((cuts[middle] ?? 0) <= at) low = middle + 1
      else high = middle
    }
    return at + (missing[low - 1] ?? 0)
  }
  return { line: joinLine(kept, long.length - left), origin }
}

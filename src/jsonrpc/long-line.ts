// A long message, in the parts in which it came.
//
// Most long messages are results that are only passed on. They leave in the parts in which they came, and are joined into
// one line only for a caller that looks into them. A message of any other kind, or with any fault, is joined when it is read.

import { Buffer } from 'node:buffer'
import { type ReceivedMessage, type ResultFrame, readMessage } from './frame.js'
import { type Line, PartReader, joinLine, lengthOf } from './line.js'
import type { Members } from './members.js'
import type { RequestId } from './request-id.js'
import type { Span } from './scan.js'

/** The whole message in one piece. */
export function joinedLine(message: Line | LongLine): Line {
  return message instanceof LongLine ? message.line : message
}

/** One message in memory of several pieces; a line feed lies behind the last. */
export class LongLine {
  readonly parts: readonly Buffer[]
  readonly length: number
  /** The offsets at which its long strings begin and end, in turn; undefined where the scanner has to read them. */
  readonly strings: readonly number[] | undefined
  #line: Line | undefined

  constructor(head: readonly Buffer[], last: Line, strings: readonly number[] | undefined) {
    this.parts = [...head, last]
    this.length = lengthOf(this.parts)
    this.strings = strings
  }

  /** A few of its bytes; the parts are not joined for them. */
  slice(start: number, end: number): Buffer {
    if (this.#line !== undefined) return this.#line.subarray(start, end)
    const views: Uint8Array[] = []
    new PartReader(this.parts).read(start, end, views)
    return Buffer.concat(views)
  }

  /** The whole message in one piece, joined when it is first asked for. */
  get line(): Line {
    this.#line ??= joinLine(this.parts, this.length)
    return this.#line
  }
}

/** Reads the message. */
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
 * A result whose parts are joined only for a caller that asks for its `line`.
 *
 * A getter in a literal would be another function for each result, which the engine keeps, with the parts, until the next full
 * collection: half of all processor time.
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

/** The place in a message of a byte of its skeleton. */
type Origin = (at: number) => number

/**
 * A long message without what stands inside its long strings, and the original offset of each byte.
 *
 * `{"id":1,"result":{"a":"…a megabyte…"}}` becomes `{"id":1,"result":{"a":""}}`: a short message that is read in no time, and
 * that is good exactly when the long one is, since the strings were found to be good before.
 */
function skeletonOf(long: LongLine, strings: readonly number[]): { line: Line; origin: Origin } {
  const kept: Uint8Array[] = []
  const reader = new PartReader(long.parts)
  // The places of the closing quotes of those strings in the skeleton, and how many bytes are missing up to each.
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

// Reading a long message whose long strings are known already.
//
// This reader refuses no message. It leaves a message with any doubt to the reader of whole messages,
// which reports the fault and its offset. A result stays in the parts in which it arrived, since the proxy looks into few
// results; any other message is joined.

import { FrameError } from '../jsonrpc-errors.js'
import { type Frame, type FrameLimits, type ResultFrame, frameOrError } from '../frame.js'
import { type Line, joinLine } from '../line.js'
import { type LongLine, PartReader } from './long-line.js'
import type { Members } from '../members.js'
import type { RequestId } from '../request-id.js'
import type { Span } from '../scan.js'
import { COLON, isSpace } from '../ascii.js'

/** The frame that `readFrame` would read in the whole message; undefined when that has to be asked. */
export function readLongFrame(long: LongLine, limits?: FrameLimits): Frame | undefined {
  if (long.strings === undefined) return undefined
  const result = long.parts.length === 1 ? undefined : resultInParts(long, limits)
  if (result !== undefined) return result
  const frame = frameOrError(long.line, limits, long.strings)
  return frame instanceof FrameError ? undefined : frame
}

function resultInParts(long: LongLine, limits: FrameLimits | undefined): ResultFrame | undefined {
  const skeleton = Skeleton.of(long)
  const frame = skeleton && frameOrError(skeleton.line, limits)
  if (skeleton === undefined || frame instanceof FrameError || frame?.kind !== 'result') return undefined
  const idSpan = origin(skeleton, frame.idSpan)
  const isIdWhole = idSpan.end - idSpan.start === frame.idSpan.end - frame.idSpan.start
  return isIdWhole ? new LongResult(frame, long, idSpan, skeleton) : undefined
}

function origin(skeleton: Skeleton, { start, end }: Span): Span {
  return { start: skeleton.origin(start), end: skeleton.origin(end) }
}

const NOTHING = Buffer.alloc(0)

/** The parts are joined only for a caller that asks for `line`. */
class LongResult implements ResultFrame {
  readonly kind = 'result'
  readonly long: LongLine
  readonly multiline: boolean
  readonly id: RequestId
  readonly idSpan: Span
  readonly result: Span
  readonly named: Members | undefined

  constructor(
    { multiline, id, result, named }: ResultFrame,
    long: LongLine,
    idSpan: Span,
    skeleton: Skeleton,
  ) {
    this.long = long
    this.multiline = multiline
    this.id = id
    this.idSpan = idSpan
    this.result = origin(skeleton, result)
    this.named = named?.movedTo(NOTHING, long, skeleton.origin)
  }

  get line(): Line {
    return this.long.line
  }
}

/**
 * A long message without what stands inside its long strings, and the original offset of each byte.
 *
 * `{"id":1,"result":"…a megabyte…"}` becomes `{"id":1,"result":""}`: a short message that is read in no time, and that is
 * good exactly when the long one is, since the insides of the strings were found to be good before.
 */
class Skeleton {
  readonly line: Line
  /** The places of cuts: the closing quotes of strings that are empty here, in order. */
  readonly #cuts: readonly number[]
  /** How many bytes are missing up to each of them. */
  readonly #missing: readonly number[]

  private constructor(line: Line, cuts: readonly number[], missing: readonly number[]) {
    this.line = line
    this.#cuts = cuts
    this.#missing = missing
  }

  /** Undefined when little can be left out, or when a key is among it: keys are compared. */
  static of(long: LongLine): Skeleton | undefined {
    const { strings } = long
    if (strings === undefined) return undefined
    const cuts: number[] = []
    const missing: number[] = []
    let left = 0
    for (let i = 0; i < strings.length; i += 2) {
      left += (strings[i + 1] ?? 0) - (strings[i] ?? 0) - 2
      missing.push(left)
      cuts.push((strings[i + 1] ?? 0) - 1 - left)
    }
    if (left * 2 < long.length) return undefined
    const line = without(long, strings, long.length - left)
    return cuts.some((cut) => isKeyEnd(line, cut)) ? undefined : new Skeleton(line, cuts, missing)
  }

  /** The offset in the message of the byte at this offset. */
  readonly origin = (at: number): number => {
    const cuts = this.#cuts
    let low = 0
    let high = cuts.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((cuts[middle] ?? 0) <= at) low = middle + 1
      else high = middle
    }
    return at + (this.#missing[low - 1] ?? 0)
  }
}

function isKeyEnd(line: Line, quote: number): boolean {
  let at = quote + 1
  while (isSpace(line[at] ?? -1)) at++
  return line[at] === COLON
}

/** The bytes of the message but for those inside these strings. */
function without(long: LongLine, strings: readonly number[], length: number): Line {
  const kept: Uint8Array[] = []
  const reader = new PartReader(long.parts)
  let from = 0
  for (let i = 0; i < strings.length; i += 2) {
    reader.read(from, (strings[i] ?? 0) + 1, kept)
    from = (strings[i + 1] ?? 0) - 1
  }
  reader.read(from, long.length, kept)
  return joinLine(kept, length)
}

// Reading a long message whose long values are known already.
//
// This reader refuses no message. It leaves a message with any doubt to the reader of whole messages,
// which reports the fault and its offset. A result stays in the parts in which it arrived, since the proxy looks into few
// results; any other message is joined.

import { FrameError } from '../jsonrpc-errors.js'
import { type Frame, type FrameLimits, type ResultFrame, defaultFrameLimits, frameOrError } from '../frame.js'
import { type Line, joinLine } from '../line.js'
import { type LongLine, PartReader } from './long-line.js'
import { type ReceivedMessage, receivedMessage } from '../connection.js'
import type { KnownValues, Span } from '../scan.js'

/** The frame that `readFrame` would read in the whole message; undefined when that has to be asked. */
export function readLongFrame(long: LongLine, limits: FrameLimits = defaultFrameLimits): Frame | undefined {
  const { known } = long
  if (known === undefined || known.depth > limits.depthMax) return undefined
  const result = long.parts.length === 1 ? undefined : resultInParts(long, known, limits)
  if (result !== undefined) return result
  const frame = frameOrError(long.line, limits, known)
  return frame instanceof FrameError ? undefined : frame
}

/** The same message as it is received, be it in order or not. */
export function readLong(long: LongLine, limits?: FrameLimits): ReceivedMessage {
  return readLongFrame(long, limits) ?? receivedMessage(long.line, limits)
}

function resultInParts(long: LongLine, known: KnownValues, limits: FrameLimits): ResultFrame | undefined {
  const { line, origin } = skeletonOf(long, known.spans)
  const frame = frameOrError(line, limits, { ...known, spans: [] })
  if (frame instanceof FrameError || frame.kind !== 'result') return undefined
  const placed = ({ start, end }: Span): Span => ({ start: origin(start), end: origin(end) })
  return {
    ...frame,
    idSpan: placed(frame.idSpan),
    result: placed(frame.result),
    named: frame.named?.movedTo(line, long, origin),
    long,
    // The parts are joined only for a caller that asks for it.
    get line() {
      return long.line
    },
  }
}

/** The place in a message of a byte of its skeleton. */
type Origin = (at: number) => number

/**
 * A long message without what stands inside its long values, and the original offset of each byte.
 *
 * `{"id":1,"result":{"a":"…a megabyte…"}}` becomes `{"id":1,"result":{"a":""}}`: a short message that is read in no time, and
 * that is good exactly when the long one is, since the values were found to be good before.
 */
function skeletonOf(long: LongLine, spans: readonly number[]): { line: Line; origin: Origin } {
  const kept: Uint8Array[] = []
  const reader = new PartReader(long.parts)
  // The places of the last bytes of those values in the skeleton, and how many bytes are missing up to each.
  const cuts: number[] = []
  const missing: number[] = []
  let left = 0
  let from = 0
  for (let i = 0; i < spans.length; i += 2) {
    const inside = (spans[i] ?? 0) + 1
    reader.read(from, inside, kept)
    from = (spans[i + 1] ?? 0) - 1
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

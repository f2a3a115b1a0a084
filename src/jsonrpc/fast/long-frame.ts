// Reading a long message whose long strings are known already.
//
// Nothing is refused here. What is not plainly in good order is left to the reader of whole messages, who says what is
// wrong and where. A result stays in the parts in which it came, since hardly any is looked into; any other message is
// joined.

import { FrameError } from '../errors.js'
import { type Frame, type FrameLimits, type ResultFrame, frameOrError } from '../frame.js'
import type { Line } from '../line.js'
import type { LongLine } from './long-line.js'
import type { NamedMembers } from './named-members.js'
import type { RequestId } from '../request-id.js'
import type { Span } from '../scan.js'
import { Skeleton } from './skeleton.js'

/** The frame that `readFrame` would read in the whole message; undefined when that has to be asked. */
export function readLongFrame(long: LongLine, limits?: FrameLimits): Frame | undefined {
  if (long.strings === undefined) return undefined
  const result = long.head.length === 0 ? undefined : resultInParts(long, limits)
  if (result !== undefined) return result
  const frame = frameOrError(long.line, limits, undefined, long.strings)
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

/** Its parts are joined only for a reader that wants all of them. */
class LongResult implements ResultFrame {
  readonly kind = 'result'
  readonly long: LongLine
  readonly multiline: boolean
  readonly id: RequestId
  readonly idSpan: Span
  readonly result: Span
  readonly named: NamedMembers | undefined

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
    this.named = named?.movedInto(long, skeleton.origin)
  }

  get line(): Line {
    return this.long.line
  }
}

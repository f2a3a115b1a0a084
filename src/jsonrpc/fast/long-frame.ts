// Reading a long message by its skeleton.
//
// Nothing is refused here. What is not plainly a request or a result in good
// order is left to the reader of whole messages, who says what is wrong and where.

import { FrameError } from '../errors.js'
import { frameOrError, type Params, type RequestFrame, type ResultFrame, type FrameLimits } from '../frame.js'
import type { Line } from '../line.js'
import type { LongLine } from './long-line.js'
import type { NamedMembers } from './named-members.js'
import type { RequestId } from '../request-id.js'
import type { Span } from '../scan.js'
import { Skeleton } from './skeleton.js'

/** The frame that `readFrame` would read in the whole message; undefined when that has to be asked. */
export function readLongFrame(long: LongLine, limits?: FrameLimits): RequestFrame | ResultFrame | undefined {
  const skeleton = Skeleton.of(long)
  if (skeleton === undefined) return undefined
  const frame = frameOrError(skeleton.line, limits)
  if (frame instanceof FrameError || (frame.kind !== 'request' && frame.kind !== 'result')) return undefined
  const idSpan = origin(skeleton, frame.idSpan)
  const isIdWhole = idSpan.end - idSpan.start === frame.idSpan.end - frame.idSpan.start
  if (!isIdWhole) return undefined
  if (frame.kind === 'request') return requestOf(frame, idSpan, long, skeleton)
  const named = frame.named?.movedInto(long, (at) => skeleton.origin(at))
  return new LongResult(frame, long, idSpan, origin(skeleton, frame.result), named)
}

function requestOf(
  frame: RequestFrame,
  idSpan: Span,
  long: LongLine,
  skeleton: Skeleton,
): RequestFrame | undefined {
  // A method that is missing here is longer than any that is accepted.
  if (frame.method === '') return undefined
  return new LongRequest(frame, long, idSpan, paramsOf(frame.params, long, skeleton))
}

function paramsOf({ span, members, metaSpan, meta }: Params, long: LongLine, skeleton: Skeleton): Params {
  const moved = (at: number): number => skeleton.origin(at)
  return {
    span: span === undefined ? undefined : origin(skeleton, span),
    members: members.movedInto(long, moved),
    metaSpan: metaSpan === undefined ? undefined : origin(skeleton, metaSpan),
    meta: meta.movedInto(long, moved),
  }
}

function origin(skeleton: Skeleton, { start, end }: Span): Span {
  return { start: skeleton.origin(start), end: skeleton.origin(end) }
}

/** Of a long message little is looked at, so its parts are joined only for who wants all of it. */
class LongRequest implements RequestFrame {
  readonly kind = 'request'
  readonly long: LongLine
  readonly multiline: boolean
  readonly id: RequestId
  readonly idSpan: Span
  readonly method: string
  readonly params: Params

  constructor({ multiline, id, method }: RequestFrame, long: LongLine, idSpan: Span, params: Params) {
    this.long = long
    this.multiline = multiline
    this.id = id
    this.idSpan = idSpan
    this.method = method
    this.params = params
  }

  get line(): Line {
    return this.long.line
  }
}

class LongResult implements ResultFrame {
  readonly kind = 'result'
  readonly long: LongLine
  readonly multiline: boolean
  readonly id: RequestId
  readonly idSpan: Span
  readonly result: Span
  readonly named: NamedMembers | undefined

  constructor(
    { multiline, id }: ResultFrame,
    long: LongLine,
    idSpan: Span,
    result: Span,
    named: NamedMembers | undefined,
  ) {
    this.long = long
    this.multiline = multiline
    this.id = id
    this.idSpan = idSpan
    this.result = result
    this.named = named
  }

  get line(): Line {
    return this.long.line
  }
}

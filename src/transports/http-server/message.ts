// What HTTP must know of a message: which request it is or answers, and little else.

import { isBatch, splitBatch } from '../../jsonrpc/batch.js'
import { FrameError } from '../../jsonrpc/errors.js'
import type { Frame, FrameLimits } from '../../jsonrpc/frame.js'
import type { Line } from '../../jsonrpc/line.js'
import { type RequestId, canonical, readId } from '../../jsonrpc/request-id.js'
import type { Span } from '../../jsonrpc/scan.js'
import type { MessageReader } from '../message-reader.js'
import type { BodyReservation } from './body-reservation.js'

/** One body: a message, or several in an array. */
export interface Posted {
  readonly line: Line
  readonly frames: readonly Frame[]
  readonly isBatch: boolean
  /** Of a large one, what it has of the memory for all. */
  readonly hold: BodyReservation | undefined
}

/** @throws FrameError when any of it is not one acceptable message: then none of it is taken. */
export function readPosted(
  { line, hold }: Pick<Posted, 'line' | 'hold'>,
  limits: FrameLimits,
  reader: MessageReader,
): Posted {
  if (!isBatch(line)) return { line, frames: [reader.read(line)], isBatch: false, hold }
  const frames = splitBatch(line, limits).map((member) => reader.read(member))
  return { line, frames, isBatch: true, hold }
}

/** The key of the request that a client gives up with this message. */
export function cancelledBy(frame: Frame): RequestId | undefined {
  if (frame.kind !== 'notification' || frame.method !== 'notifications/cancelled') return undefined
  const span = frame.params.members.span('requestId')
  return span === undefined ? undefined : keyAt(frame.line, span)
}

function keyAt(line: Line, { start, end }: Span): RequestId | undefined {
  try {
    return canonical(readId(line, start, end))
  } catch (error) {
    if (error instanceof FrameError) return undefined
    throw error
  }
}

/** The key of each request among the frames. */
export function requestKeys(frames: readonly Frame[]): RequestId[] {
  const [only] = frames
  if (frames.length === 1 && only?.kind === 'request') return [canonical(only.id)]
  return frames.flatMap((frame) => (frame.kind === 'request' ? [canonical(frame.id)] : []))
}

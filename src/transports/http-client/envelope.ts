// The facts of messages that the transport needs. It reads each message of the server once, and passes the frame on.

import { isBatch, splitBatch } from '../../jsonrpc/batch.js'
import { type ReceivedMessage, receivedMessage } from '../../jsonrpc/connection.js'
import { readLongFrame } from '../../jsonrpc/fast/long-frame.js'
import { LongLine } from '../../jsonrpc/fast/long-line.js'
import { type FrameLimits, frameOrError, seemsAnswerTo } from '../../jsonrpc/frame.js'
import type { Line } from '../../jsonrpc/line.js'
import { membersAt } from '../../jsonrpc/members.js'
import { type RequestId, canonical } from '../../jsonrpc/request-id.js'
import { LONG_BYTES_MIN, type LongLines } from '../long-lines.js'

/** A version goes into a header, so it has to look like one. */
const headerText = /^[\x21-\x7e]{1,64}$/

/** The messages of a body or of an event: several where it is a batch. */
export function readMessages(
  message: Line | LongLine,
  longLines: LongLines,
  limits: FrameLimits | undefined,
): readonly ReceivedMessage[] {
  if (message instanceof LongLine) return [readLong(message, limits)]
  if (isBatch(message)) return membersOf(message).map((line) => readOne(line, limits))
  return [
    message.length < LONG_BYTES_MIN ? readOne(message, limits) : readLong(longLines.whole(message), limits),
  ]
}

function readLong(long: LongLine, limits: FrameLimits | undefined): ReceivedMessage {
  return readLongFrame(long, limits) ?? readOne(long.noise ?? long.line, limits, long.length)
}

function readOne(line: Line, limits: FrameLimits | undefined, bytes?: number): ReceivedMessage {
  return receivedMessage(frameOrError(line, limits), line, bytes)
}

/** A batch that is broken is one message, which cannot be read. */
function membersOf(line: Line): readonly Line[] {
  try {
    return splitBatch(line)
  } catch {
    return [line]
  }
}

/** Whether a message is the answer to that request, or was meant to be. */
export function answers(received: ReceivedMessage, id: RequestId): boolean {
  if (received.kind === 'unreadable') return seemsAnswerTo(received.line, id)
  const answered = answeredId(received)
  return answered !== undefined && (answered === id || canonical(answered) === canonical(id))
}

/** The request that an answer is to. */
export function answeredId(received: ReceivedMessage): RequestId | undefined {
  return received.kind === 'result' || received.kind === 'error' ? received.id : undefined
}

/** The version that the answer to an `initialize` settles on. */
export function versionIn(received: ReceivedMessage): string | undefined {
  if (received.kind !== 'result') return undefined
  const version = membersAt(received.line, received.result)?.string('protocolVersion')
  return version !== undefined && headerText.test(version) ? version : undefined
}

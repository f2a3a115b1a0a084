// The few things that a transport has to know of the messages it carries.

import type { MessageHead } from '../../jsonrpc/connection.js'
import { type FrameLimits, type Frame, type NotificationFrame, readFrame } from '../../jsonrpc/frame.js'
import type { Line } from '../../jsonrpc/line.js'
import { isAnswer } from '../../jsonrpc/peek.js'
import { membersAt } from '../../jsonrpc/members.js'
import { answerHead, notificationHead, requestHead } from '../../jsonrpc/message-head.js'
import { type RequestId, readId } from '../../jsonrpc/request-id.js'

/** Every message was read before it is sent, within limits that are not ours. */
export const sentFrameLimits: FrameLimits = { depthMax: 10_000, methodBytesMax: 1024 * 1024 }

/** A version goes into a header, so it has to look like one. */
const headerText = /^[\x21-\x7e]{1,64}$/

/** What a connection is told of a message that nobody else has read. */
export function headOf(frame: Frame): MessageHead {
  switch (frame.kind) {
    case 'request':
      return requestHead(frame.id, frame.method)
    case 'notification':
      return notificationHead(frame.method, { cancels: cancelledId(frame) })
    case 'result':
    case 'error':
      return answerHead(frame.kind, frame.id)
  }
}

/** The request that a cancel takes back. */
function cancelledId(frame: NotificationFrame): RequestId | undefined {
  if (frame.method !== 'notifications/cancelled') return undefined
  const span = frame.params.members.span('requestId')
  return span === undefined ? undefined : readId(frame.line, span.start, span.end)
}

/** The request that an answer is to. */
export function answeredId(line: Line): RequestId | undefined {
  if (!isAnswer(line)) return undefined
  try {
    const frame = readFrame(line, sentFrameLimits)
    return frame.kind === 'result' || frame.kind === 'error' ? frame.id : undefined
  } catch {
    return undefined
  }
}

/** The version that the answer to an `initialize` settles on. */
export function versionIn(line: Line): string | undefined {
  try {
    const frame = readFrame(line)
    if (frame.kind !== 'result') return undefined
    const members = membersAt(frame.line, frame.result)
    const version = members?.string('protocolVersion')
    return version !== undefined && headerText.test(version) ? version : undefined
  } catch {
    return undefined
  }
}

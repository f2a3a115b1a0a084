// The request that a client gives up with a message.

import { FrameError } from '../../jsonrpc/errors.js'
import type { Frame } from '../../jsonrpc/frame.js'
import { type RequestId, canonical, readId } from '../../jsonrpc/request-id.js'

/** Its key; undefined where the message gives up none. */
export function cancelledBy(frame: Frame): RequestId | undefined {
  if (frame.kind !== 'notification' || frame.method !== 'notifications/cancelled') return undefined
  const span = frame.params.members.span('requestId')
  try {
    return span && canonical(readId(frame.line, span.start, span.end))
  } catch (error) {
    if (error instanceof FrameError) return undefined
    throw error
  }
}

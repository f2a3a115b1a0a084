// Sending texts of a test, with what a peer says of a message.

import type { Connection, MessageHead } from '../../../src/jsonrpc/connection.js'
import { FrameError } from '../../../src/jsonrpc/jsonrpc-errors.js'
import { frameOrError } from '../../../src/jsonrpc/frame.js'
import { toLine } from '../../../src/jsonrpc/line.js'
import { answerHead } from '../../../src/jsonrpc/connection.js'
import type { RequestId } from '../../../src/jsonrpc/request-id.js'
import type { WireBytes } from '../../../src/jsonrpc/splice.js'
import { headOf } from '../../../src/replay/replay-remote.js'

/** What a peer says of these bytes; what is no message is a batch to it. */
export function headIn(bytes: Uint8Array | string, about?: RequestId): MessageHead {
  const frame = frameOrError(toLine(bytes))
  const head = frame instanceof FrameError ? answerHead('batch', undefined) : headOf(frame)
  return about === undefined ? head : { ...head, about }
}

export function send(connection: Connection, bytes: WireBytes, about?: RequestId): void {
  connection.send(bytes, headIn(bytes, about))
}

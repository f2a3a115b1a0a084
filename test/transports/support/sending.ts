import type { Connection, MessageHead } from '../../../src/jsonrpc/connection.js'
import { readMessage } from '../../../src/jsonrpc/frame.js'
import { toLine } from '../../../src/jsonrpc/line.js'
import type { Message } from '../../../src/jsonrpc/splice.js'
import { headOf } from '../../../src/replay/replay-remote.js'

/** The head of a message. For invalid bytes it is that of a batch. */
export function headIn(bytes: Uint8Array | string): MessageHead {
  const message = readMessage(toLine(bytes))
  return message.kind === 'unreadable' ? { kind: 'batch' as const } : headOf(message)
}

export function send(connection: Connection, bytes: Message): void {
  connection.send(bytes, headIn(bytes.joined))
}

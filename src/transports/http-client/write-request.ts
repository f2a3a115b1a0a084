// A request on its way to a socket, in one piece where that is cheap.

import { Buffer } from 'node:buffer'
import type { Duplex } from 'node:stream'

/** Up to here, copying a body behind its head beats handing the two over as they lie. */
const COPIED_BYTES_MAX = 16 * 1024

/** `sent` is told when the system has taken all of it, and with an error when it will not. */
export function writeRequest(
  socket: Duplex,
  head: string,
  body: Uint8Array | undefined,
  sent: (error?: Error | null) => void,
): void {
  if (body === undefined || body.length === 0) socket.write(head, 'latin1', sent)
  else if (body.length <= COPIED_BYTES_MAX) socket.write(joined(head, body), sent)
  else {
    socket.cork()
    socket.write(head, 'latin1')
    socket.write(body, sent)
    socket.uncork()
  }
}

function joined(head: string, body: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(head.length + body.length)
  bytes.write(head, 0, 'latin1')
  bytes.set(body, head.length)
  return bytes
}

// The body of an HTTP message, in one write with its head where that is cheaper.

import { Buffer } from 'node:buffer'
import type { OutgoingMessage } from 'node:http'

/** Up to here, copying a body behind its head beats handing the two over as they lie. */
const COPIED_BYTES_MAX = 16 * 1024

/** Ends the message. Node joins a head and a body only as text, so a small body is given as text of one byte a character. */
export function endWith(message: OutgoingMessage, body: Uint8Array | undefined): void {
  if (body === undefined || body.length > COPIED_BYTES_MAX) message.end(body)
  else message.end(Buffer.from(body.buffer, body.byteOffset, body.length).toString('latin1'), 'latin1')
}

/** The same for a body in parts, which leave in one write without having been joined. */
export function endWithParts(message: OutgoingMessage, parts: readonly Uint8Array[]): void {
  for (const part of parts) message.write(part)
  message.end()
}

// Socket functions that both sides of HTTP/1.1 use.

import { Buffer } from 'node:buffer'
import type { Duplex } from 'node:stream'
import { lengthOf } from '../../jsonrpc/line.js'

/** A socket. The optional members exist only on real sockets. */
export type HttpSocket = Duplex & {
  readonly connecting?: boolean
  readonly remoteAddress?: string | undefined
  setTimeout?(ms: number): unknown
  ref?(): unknown
  unref?(): unknown
}

/**
 * The time without traffic after which TCP checks whether the other side is still there. A gateway may forget
 * a silent connection and tell neither side; without the check, an event stream would wait for ever.
 */
export const TCP_KEEP_ALIVE_MS = 30_000

/** Up to this length, copying the bytes after their text is faster than writing them separately. */
const COPIED_BYTES_MAX = 16 * 1024

/** A head or a chunk size, in latin1, and the bytes after it: in one piece if copying is cheap. */
export function withHead(text: string, pieces: readonly Uint8Array[]): readonly Uint8Array[] {
  const length = text.length + lengthOf(pieces)
  if (length > COPIED_BYTES_MAX) return [Buffer.from(text, 'latin1'), ...pieces]
  const bytes = Buffer.allocUnsafe(length)
  let at = bytes.write(text, 0, 'latin1')
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.length
  }
  return [bytes]
}

/** Writes all pieces in one go. `written` is called when the system has accepted them, or with an error. */
export function writeAll(
  socket: Duplex,
  pieces: readonly Uint8Array[],
  written: (error?: Error | null) => void,
): void {
  const last = pieces.length - 1
  if (last > 0) socket.cork()
  for (const [at, piece] of pieces.entries()) socket.write(piece, at === last ? written : undefined)
  if (last > 0) socket.uncork()
}

// Writes on a connection: a text (a head, or the size of a chunk) and the bytes after it.

import { Buffer } from 'node:buffer'
import type { Duplex } from 'node:stream'
import { lengthOf } from '../../jsonrpc/line.js'

/** Up to here, copying bytes behind their text beats handing them over as they lie. */
const COPIED_BYTES_MAX = 16 * 1024

/** The text, in latin1, and the bytes: in one piece where that is cheap. */
export function behind(text: string, pieces: readonly Uint8Array[]): readonly Uint8Array[] {
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

/** Writes them in one go; `written` is called when the system has taken all of them, or with an error. */
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

/**
 * How long a connection is silent before TCP asks whether the other side is still there.
 *
 * A gateway between the two may forget a silent connection without telling either; without the question a stream of
 * events would wait on it for ever.
 */
export const TCP_KEEP_ALIVE_MS = 30_000

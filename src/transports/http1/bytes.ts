// What both sides of HTTP/1.1 do with a socket.

import { Buffer } from 'node:buffer'
import type { Duplex } from 'node:stream'
import { lengthOf } from '../../jsonrpc/line.js'

/** A socket; what only real ones have may be missing. */
export type HttpSocket = Duplex & {
  readonly connecting?: boolean
  readonly remoteAddress?: string | undefined
  setTimeout?(ms: number): unknown
  ref?(): unknown
  unref?(): unknown
}

/**
 * How long a connection is silent before TCP asks whether the other side is still there.
 *
 * A gateway between the two may forget a silent connection without telling either; without the question a stream of
 * events would wait on it for ever.
 */
export const TCP_KEEP_ALIVE_MS = 30_000

/** Up to here, copying bytes behind their text beats handing them over as they lie. */
const COPIED_BYTES_MAX = 16 * 1024

/** A head or the size of a chunk, in latin1, and the bytes behind it: in one piece where that is cheap. */
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

// The tap of a connection, which an owner gives with its sink.

import type { Sink } from '../jsonrpc/connection.js'
import { TransportError } from '../jsonrpc/jsonrpc-errors.js'
import type { Line } from '../jsonrpc/line.js'

/**
 * Shows bytes to the tap; false when they must not pass.
 *
 * `broken` closes the connection when the tap fails: an audit that fails must not pass traffic.
 */
export function passesTap(
  sink: Sink | undefined,
  direction: 'in' | 'out',
  bytes: Uint8Array,
  broken: (cause: TransportError) => void,
  whole = false,
): boolean {
  try {
    sink?.wire?.(direction, bytes, whole)
    return true
  } catch (error) {
    broken(new TransportError('TRANSPORT_TAP', 'the wire tap failed', { cause: error }))
    return false
  }
}

/** The same for a message of HTTP, with the line feed behind it, by which a recording is cut. */
export function messagePassesTap(
  sink: Sink | undefined,
  direction: 'in' | 'out',
  line: Line,
  broken: (cause: TransportError) => void,
): boolean {
  if (sink?.wire === undefined) return true
  return passesTap(sink, direction, Buffer.from(line.buffer, line.byteOffset, line.length + 1), broken, true)
}

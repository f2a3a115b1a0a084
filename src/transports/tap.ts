// Calls the tap of a connection, which its owner passes with the sink.

import type { Sink } from '../jsonrpc/connection.js'
import { TransportError } from '../jsonrpc/jsonrpc-errors.js'
import type { Line } from '../jsonrpc/line.js'

/**
 * Shows bytes to the tap. Returns false if they must not pass. If the tap fails, `broken` closes the
 * connection, because no traffic may pass an audit that fails.
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

/** Shows an HTTP message to the tap, with the line feed after it, at which a recording is split. */
export function messagePassesTap(
  sink: Sink | undefined,
  direction: 'in' | 'out',
  line: Line,
  broken: (cause: TransportError) => void,
): boolean {
  if (sink?.wire === undefined) return true
  return passesTap(sink, direction, Buffer.from(line.buffer, line.byteOffset, line.length + 1), broken, true)
}

// The TransportError for a stream that broke.

import { TransportError } from '../jsonrpc/errors.js'

export function streamFailure(error: unknown): TransportError {
  const message = error instanceof Error ? error.message : String(error)
  return new TransportError('TRANSPORT_IO', `the stream failed: ${message}`, { cause: error })
}

// The errors of this layer. Every error that is not a fault of this program has a stable `code`.

import type { RequestId } from './request-id.js'

/** Why bytes are not one acceptable JSON-RPC message. */
export type FrameErrorCode =
  /** Not RFC 8259 JSON. */
  | 'FRAME_SYNTAX'
  /** Not UTF-8. */
  | 'FRAME_UTF8'
  /** Nested deeper than the limit. */
  | 'FRAME_DEPTH'
  /** JSON, but not a request, notification or response of JSON-RPC 2.0. */
  | 'FRAME_ENVELOPE'
  /** A routed member appears twice, in another case, or with escapes. */
  | 'FRAME_AMBIGUOUS'
  /** An id that is neither a string nor an integer. */
  | 'FRAME_ID'
  /** Longer than the limit, or with more members. */
  | 'FRAME_TOO_LARGE'

/** Bytes that are not one acceptable JSON-RPC message; `offset` counts bytes from the start of the message. */
export class FrameError extends Error {
  override readonly name = 'FrameError'
  readonly code: FrameErrorCode
  readonly offset: number
  /** The id of a request, if it could be read, so that the sender gets the error. Never the id of an answer. */
  readonly id: RequestId | undefined

  constructor(code: FrameErrorCode, message: string, offset: number, id?: RequestId) {
    super(message)
    this.code = code
    this.offset = offset
    this.id = id
  }

  /** Whether the bytes are not JSON. JSON-RPC has another code for JSON that is no valid request. */
  get unreadable(): boolean {
    return this.code === 'FRAME_SYNTAX' || this.code === 'FRAME_UTF8'
  }
}

/** The failure of a connection. */
export type TransportErrorCode =
  | 'TRANSPORT_CLOSED'
  | 'TRANSPORT_IO'
  | 'TRANSPORT_TAP'
  /** The other end refuses the credentials of the proxy. */
  | 'TRANSPORT_AUTH'
  /** The other end requires a login by a person. */
  | 'TRANSPORT_LOGIN'
  /** The other end sent something that is not a valid answer. */
  | 'TRANSPORT_ANSWER'
  | 'TRANSPORT_TIMEOUT'
  /** The other end cannot be reached; nothing was sent. */
  | 'TRANSPORT_UNREACHABLE'
  /** The other end answered with an HTTP status that is not a success. */
  | 'TRANSPORT_STATUS'
  /** The other end no longer knows the session; it did not process the message. */
  | 'TRANSPORT_SESSION'
  /** No token is available now; nothing was sent. */
  | 'TRANSPORT_TOKEN'

interface TransportErrorOptions extends ErrorOptions {
  readonly details?: Readonly<Record<string, unknown>>
}

/** The connection is gone, or its other end broke the protocol. Every request in flight on it fails. */
export class TransportError extends Error {
  override readonly name = 'TransportError'
  readonly code: TransportErrorCode
  /** Facts for the client, such as a status, the beginning of a body, or a remedy. */
  readonly details: Readonly<Record<string, unknown>> | undefined

  constructor(code: TransportErrorCode, message: string, options?: TransportErrorOptions) {
    super(message, options)
    this.code = code
    this.details = options?.details
  }
}

/** An error for a fault of this program. `node:assert` would add three milliseconds to every start. */
export function fault(what: string): Error {
  return new Error(`does not hold: ${what}`)
}

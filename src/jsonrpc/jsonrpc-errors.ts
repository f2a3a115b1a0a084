// The errors of this layer. Every error that is not our own fault has a stable `code`.

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
  /** A routed member twice, in another case, or spelled with escapes. */
  | 'FRAME_AMBIGUOUS'
  /** An id that is neither a string nor an integer. */
  | 'FRAME_ID'
  /** Longer than the limit, or with more members. */
  | 'FRAME_TOO_LARGE'

/** Bytes that are not one acceptable JSON-RPC message; `offset` counts bytes from the message's start. */
export class FrameError extends Error {
  override readonly name = 'FrameError'
  readonly code: FrameErrorCode
  readonly offset: number
  /** The id of a request, where it could be read, so that the error can be addressed; never that of an answer. */
  readonly id: RequestId | undefined

  constructor(code: FrameErrorCode, message: string, offset: number, id?: RequestId) {
    // No stack: it is the costly part, it says nothing about bad input, and a flooding server makes many of these.
    // With frozen intrinsics the limit cannot be set, and the error has a stack.
    const { stackTraceLimit } = Error
    Reflect.set(Error, 'stackTraceLimit', 0)
    super(message)
    Reflect.set(Error, 'stackTraceLimit', stackTraceLimit)
    this.code = code
    this.offset = offset
    this.id = id
  }

  /** Whether the bytes are not JSON at all, which JSON-RPC tells apart from an invalid request. */
  get unreadable(): boolean {
    return this.code === 'FRAME_SYNTAX' || this.code === 'FRAME_UTF8'
  }
}

/** The failure of a connection. */
export type TransportErrorCode =
  | 'TRANSPORT_CLOSED'
  | 'TRANSPORT_IO'
  | 'TRANSPORT_TAP'
  /** The other end refuses our credentials. */
  | 'TRANSPORT_AUTH'
  /** It wants a login, which a person has to make. */
  | 'TRANSPORT_LOGIN'
  /** It answered with something that is no answer. */
  | 'TRANSPORT_ANSWER'
  | 'TRANSPORT_TIMEOUT'
  /** It cannot be reached; nothing was sent. */
  | 'TRANSPORT_UNREACHABLE'
  /** It answered with an HTTP status that is no success. */
  | 'TRANSPORT_STATUS'
  /** It does not know the session any more; what was sent was not taken. */
  | 'TRANSPORT_SESSION'
  /** There is no token for it just now; nothing was sent. */
  | 'TRANSPORT_TOKEN'

interface TransportErrorOptions extends ErrorOptions {
  readonly details?: Readonly<Record<string, unknown>>
}

/** The connection is gone, or its other end broke its protocol; everything in flight on it is drained. */
export class TransportError extends Error {
  override readonly name = 'TransportError'
  readonly code: TransportErrorCode
  /** Facts for the client: a status, the beginning of a body, a remedy. */
  readonly details: Readonly<Record<string, unknown>> | undefined

  constructor(code: TransportErrorCode, message: string, options?: TransportErrorOptions) {
    super(message, options)
    this.code = code
    this.details = options?.details
  }
}

/** The error where the condition `what` does not hold, by a fault of this program. `node:assert` would add three milliseconds to every start. */
export function fault(what: string): Error {
  return new Error(`does not hold: ${what}`)
}

// The error for bytes that are not valid HTTP/1.

/** Bytes that are no message, or one that two readers could understand in two ways; nothing behind it on its connection can be trusted. */
export class HttpSyntaxError extends Error {
  readonly code: 'NOT_HTTP' | 'BAD_HTTP' | 'TOO_LONG'

  constructor(message: string, code: 'NOT_HTTP' | 'BAD_HTTP' | 'TOO_LONG' = 'BAD_HTTP') {
    super(message)
    this.code = code
  }
}

// The failures of sockets, and of bytes that are read from them.

import { HttpSyntaxError } from './head.js'

/** A failure in words, with the system's error code if it has one. A failure with a remedy lasts until a person acts. */
export class SocketTroubleError extends Error {
  override readonly name = 'SocketTroubleError'
  readonly remedy: string | undefined

  constructor(message: string, remedy?: string) {
    super(message)
    this.remedy = remedy
  }
}

/** Describes an error of a socket. Failed attempts at several addresses arrive as one AggregateError. */
export function socketTrouble(thrown: unknown): SocketTroubleError {
  const error = asError(thrown instanceof AggregateError ? thrown.errors[0] : thrown)
  if (error instanceof SocketTroubleError) return error
  if (error instanceof HttpSyntaxError && error.code !== 'NOT_HTTP')
    return new SocketTroubleError(`its answer cannot be read: ${error.message}`)
  const code = 'code' in error ? String(error.code) : ''
  const remedy = remedies.find(([pattern]) => pattern.test(`${code} ${error.message}`))?.[1]
  // The OpenSSL error contains the position in its source code.
  const words = error.message.replace(/^.*:SSL routines:[^:]*:([^:\n]+)[^]*$/, 'TLS failed: $1')
  return new SocketTroubleError(code === '' || words.includes(code) ? words : `${words} (${code})`, remedy)
}

/** The first entry that matches the code and the message counts. */
const remedies: readonly (readonly [RegExp, string])[] = [
  [/wrong.version.number/i, 'check whether the url begins with http://'],
  [/^NOT_HTTP/, 'check whether the url begins with https://'],
  [
    /^(?!.*SSL routines).*(?:CERT|SELF_SIGNED|UNABLE_TO_)/,
    'check the host name in the url and the clock of this machine; a file with the certificate of its signer can be named in NODE_EXTRA_CA_CERTS',
  ],
  [
    /^(?:ERR_SSL_|EPROTO\b)|SSL routines/,
    'check "tls": { "cert", "key", "servername" }, and that the server speaks TLS 1.2 or later and HTTP/1.1',
  ],
]

export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}

// The failures of sockets, and of what is read from them.

import { HttpSyntaxError } from './head.js'

/** The failure of a socket. */
export interface SocketTrouble {
  /** In words, with the system's code where it has one. */
  readonly what: string
  readonly remedy: string | undefined
  /** It will be no different in a second. */
  readonly lasts: boolean
}

/** An error that says all of it already. */
export class SocketTroubleError extends Error {
  override readonly name = 'SocketTroubleError'
  readonly trouble: SocketTrouble

  constructor(trouble: SocketTrouble) {
    super(trouble.what)
    this.trouble = trouble
  }
}

/** An error of a socket; addresses of many attempts come as one AggregateError. */
export function socketTrouble(error: unknown): SocketTrouble {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error
  if (!(first instanceof Error)) return { what: String(first), remedy: undefined, lasts: false }
  if (first instanceof SocketTroubleError) return first.trouble
  if (first instanceof HttpSyntaxError && first.code !== 'NOT_HTTP')
    return { what: `its answer cannot be read: ${first.message}`, remedy: undefined, lasts: false }
  const code = 'code' in first ? String(first.code) : ''
  const text = `${code} ${first.message}`
  const remedy = lastingTroubles.find(([pattern]) => pattern.test(text))?.[1]
  return { what: withCode(inWords(first.message), code), remedy, lasts: remedy !== undefined }
}

/** The error of OpenSSL without the place in its sources. */
function inWords(message: string): string {
  const [, why] = /:SSL routines:[^:]*:([^:\n]+)/.exec(message) ?? []
  return why === undefined ? message : `TLS failed: ${why}`
}

function withCode(what: string, code: string): string {
  return code === '' || what.includes(code) ? what : `${what} (${code})`
}

/** Failures that last until a person does something. The first that fits the code and the message counts. */
const lastingTroubles: readonly (readonly [RegExp, string])[] = [
  [/wrong.version.number/i, 'check whether the url begins with http://'],
  [/^NOT_HTTP/, 'check whether the url begins with https://'],
  [
    /SELF_SIGNED|UNABLE_TO_|CERT_UNTRUSTED/,
    'if the machine is to trust the signer of its certificate, name a file with that certificate in NODE_EXTRA_CA_CERTS',
  ],
  [
    /^(?:CERT_|ERR_TLS_CERT)/,
    'check the clock of this machine, and the host name in the url; otherwise the operator of the server must renew its certificate',
  ],
  [
    /^(?:ERR_SSL_|EPROTO\b)|SSL routines/,
    'check "tls": { "cert", "key", "servername" }, and that the server speaks TLS 1.2 or later and HTTP/1.1',
  ],
]

/** The Error for a thrown value, which may be anything. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}

// Why a request got no response, in words, with a remedy.

import type { TransportError } from '../../jsonrpc/errors.js'
import { HttpSyntaxError } from '../http1/syntax-error.js'

/** The failure of a socket. */
export interface SocketTrouble {
  /** In words, with the system's code where it has one. */
  readonly what: string
  readonly remedy: string | undefined
  /** It will be no different in a second. */
  readonly lasts: boolean
}

/** Why there is no response. */
export interface HttpTrouble extends SocketTrouble {
  /** No byte of the request can have reached the server. */
  readonly neverSent: boolean
  /** What credentials say: that there are none, or what it means that they were refused. */
  readonly error?: TransportError
  /** Of the refusal, where there was one. */
  readonly status?: number
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

/** An error of a socket in words; addresses of many attempts come as one AggregateError. */
export function socketTrouble(error: unknown): SocketTrouble {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error
  if (!(first instanceof Error)) return { what: String(first), remedy: undefined, lasts: false }
  if (first instanceof SocketTroubleError) return first.trouble
  if (first instanceof HttpSyntaxError && first.code !== 'NOT_HTTP')
    return { what: `its answer cannot be read: ${first.message}`, remedy: undefined, lasts: false }
  const code = 'code' in first ? String(first.code) : ''
  const known = passing.get(code)
  if (known !== undefined) return { what: `${known} (${code})`, remedy: undefined, lasts: false }
  const found = lasting.get(code) ?? lastingWords.find(([words]) => words.test(first.message))?.[1]
  if (found === undefined) return { what: inWords(first.message), remedy: undefined, lasts: false }
  const detail = code === ALTNAME ? `: ${first.message.replace(/^.*altnames: /, '')}` : ''
  return { what: `${found.what} (${code})${detail}`, remedy: found.remedy, lasts: true }
}

/** Of what OpenSSL says: why, without where in its sources. */
function inWords(message: string): string {
  const [, why] = /:SSL routines:[^:]*:([^:\n]+)/.exec(message) ?? []
  return why === undefined ? message : `TLS failed: ${why}`
}

const passing: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'the connection was refused'],
  ['ENOTFOUND', 'the host name is not known'],
  ['EAI_AGAIN', 'the host name could not be looked up'],
  ['ECONNRESET', 'the connection was cut before an answer'],
  ['EPIPE', 'the connection was cut before an answer'],
  ['EHOSTUNREACH', 'the host is unreachable'],
  ['ENETUNREACH', 'the network is unreachable'],
  ['ETIMEDOUT', 'the connection timed out'],
])

interface Lasting {
  readonly what: string
  readonly remedy: string
}

const ALTNAME = 'ERR_TLS_CERT_ALTNAME_INVALID'
const authority: Lasting = {
  what: 'its certificate was signed by nobody this machine trusts',
  remedy: 'if it is meant to be so, name a file with the certificate of who signed it in NODE_EXTRA_CA_CERTS',
}
const noTls: Lasting = {
  what: 'it does not speak TLS there',
  remedy: 'check whether the url begins with http://',
}

/** While a connection is made, TLS tells in words what has no code of its own. */
const lastingWords: readonly (readonly [RegExp, Lasting])[] = [
  [/wrong version number/i, noTls],
  [
    /no application protocol/i,
    {
      what: 'it speaks no HTTP/1.1 there, perhaps only HTTP/2',
      remedy: 'have the server, or what stands before it, speak HTTP/1.1 too',
    },
  ],
  [
    /alert certificate required/i,
    {
      what: 'it wants a certificate of who asks',
      remedy: 'name the files of one in "tls": { "cert", "key" }',
    },
  ],
  [
    /alert (?:bad certificate|unsupported certificate|certificate \w+|unknown ca|access denied)/i,
    {
      what: 'it does not take our certificate',
      remedy: 'check that "tls": { "cert" } is one that the server takes, and that it has not ended',
    },
  ],
  [
    /unrecognized name/i,
    {
      what: 'it has no certificate for that name',
      remedy: 'use a host name that it has in the url, or in "tls": { "servername" }',
    },
  ],
  [
    /alert handshake failure/i,
    {
      what: 'it refuses the handshake of TLS',
      remedy:
        'it may want a certificate of who asks ("tls": { "cert", "key" }), or speak no TLS that is good today',
    },
  ],
  [
    /alert protocol version|unsupported protocol|no protocols available/i,
    {
      what: 'it speaks no version of TLS that is good today',
      remedy: 'have the server, or what stands before it, speak TLS 1.2 or later',
    },
  ],
]

const lasting: ReadonlyMap<string, Lasting> = new Map<string, Lasting>([
  ['DEPTH_ZERO_SELF_SIGNED_CERT', authority],
  ['SELF_SIGNED_CERT_IN_CHAIN', authority],
  ['UNABLE_TO_GET_ISSUER_CERT', authority],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', authority],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', authority],
  ['CERT_UNTRUSTED', authority],
  [
    'CERT_HAS_EXPIRED',
    { what: 'its certificate has expired', remedy: 'whoever runs it must renew it; or check the clock' },
  ],
  [
    'CERT_NOT_YET_VALID',
    { what: 'its certificate is not valid yet', remedy: 'check the clock of this machine' },
  ],
  ['CERT_REVOKED', { what: 'its certificate was revoked', remedy: 'whoever runs it must renew it' }],
  [
    ALTNAME,
    { what: 'its certificate is for another host', remedy: 'use a host name of the certificate in the url' },
  ],
  ['ERR_SSL_WRONG_VERSION_NUMBER', noTls],
  [
    'NOT_HTTP',
    { what: 'it answers something that is no HTTP', remedy: 'check whether the url begins with https://' },
  ],
])

/** The Error for a thrown value, which may be anything. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}

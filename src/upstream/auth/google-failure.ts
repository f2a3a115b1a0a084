// Why there is no ID token, in words of the proxy.
//
// Errors of Google's library hold requests, and what answers those may repeat them
// (a gateway of a company, say): refresh tokens, keys, access tokens. So the proxy repeats
// only the error members of an answer, without the secrets of the credentials, and
// without anything that looks like a token.

import { TransportError } from '../../jsonrpc/errors.js'
import { Redactor } from '../../text/redactor.js'

export const noCredentials =
  'No credentials found. Please run "gcloud auth application-default login" or set the GOOGLE_APPLICATION_CREDENTIALS environment variable.'

const SHOWN_LENGTH_MAX = 200

/** Members of a file with credentials that are no secrets. */
const publicMember =
  /^(?:type|version|audience|client_id|\w*project_id|\w*_email|\w*_ur[il]|\w*_type|\w*_domain|\w*_pool_\w+|url|file|command|output_file|environment_id)$/

/** Access tokens, JWTs, and every other long word with a digit in it. */
const tokenLike = /ya29\.[\w.-]+|\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?|(?=[\w+=~-]{0,200}\d)[\w+=~-]{32,}/g

/** The error for a failed request for a token, without secrets; `TRANSPORT_TOKEN` is a failure that passes. */
export function tokenFailure(error: unknown, credentials: unknown): TransportError {
  const message = error instanceof Error ? error.message : ''
  if (message.startsWith('Could not load the default credentials')) return refused(noCredentials)
  const refusal = refusalIn(error)
  const words = refusal === undefined ? message : `${refusal.code} ${refusal.description}`
  const known = knownFailure(words)
  if (known !== undefined) return refused(`Authentication failed: ${known}`)
  const why = `no ID token: ${withoutSecrets(whyNot(error, message, refusal), credentials)}`
  const passes =
    refusal === undefined
      ? passing.test(`${text(member(error, 'code'))} ${message}`)
      : passingStatus(refusal.status)
  return passes ? new TransportError('TRANSPORT_TOKEN', why) : refused(`Authentication failed: ${why}`)
}

/** The network does not work, or a host on the way takes too long. */
const passing =
  /^E(?!NOENT|ACCES|ISDIR|PERM)[A-Z]{4,}|fetch failed|socket hang up|aborted|timed? ?out|\breason: /i

function passingStatus(status: number): boolean {
  return status >= 500 || status === 429 || status === 408
}

function refused(message: string): TransportError {
  return new TransportError('TRANSPORT_AUTH', message)
}

function knownFailure(words: string): string | undefined {
  if (/reasonable timeframe|iat and exp/i.test(words))
    return 'the clock of this machine differs from that of Google; set it right'
  if (/invalid jwt signature|account not found/i.test(words))
    return 'the key of the service account is not valid any more; make a new one'
  if (/invalid_grant|invalid_rapt|reauth/i.test(words))
    return 'the credentials have expired or were revoked. Please run "gcloud auth application-default login"'
  // A parser cites what it cannot read, which may be a part of a key.
  if (/is not valid JSON|in JSON at position|of JSON input/.test(words))
    return 'no ID token: the file with the credentials is not JSON'
  return undefined
}

interface Refusal {
  readonly host: string
  readonly status: number
  readonly code: string
  readonly description: string
}

function whyNot(error: unknown, message: string, refusal: Refusal | undefined): string {
  if (refusal !== undefined) {
    const { host, status, code, description } = refusal
    const said = [code, description].filter((part) => part !== '').map((part) => `: ${part}`)
    return `${host} answered HTTP ${status}${said.join('')}`
  }
  // Of an answer that is none the library makes mistakes, and those cite it.
  if (error instanceof TypeError && !message.startsWith('fetch failed'))
    return 'the answer is none that gives a token'
  return message === '' || message.startsWith('Unknown error') ? 'the answer holds none' : message
}

/** The answer of an endpoint, in the form of OAuth or of Google's other services. */
function refusalIn(error: unknown): Refusal | undefined {
  const response = member(error, 'response')
  const status = member(response, 'status')
  if (typeof status !== 'number') return undefined
  const data = member(response, 'data')
  const inner = member(data, 'error')
  const code = text(inner) || text(member(inner, 'status'))
  return {
    host: hostOf(member(member(error, 'config'), 'url')),
    status,
    code: /^[\w.-]{1,64}$/.test(code) ? code : '',
    description: text(member(data, 'error_description')) || text(member(inner, 'message')),
  }
}

function hostOf(url: unknown): string {
  const address = url instanceof URL ? url.href : text(url)
  return URL.canParse(address) ? new URL(address).host : 'the token service'
}

/** Without white space that breaks lines, and cut where it is long. */
function withoutSecrets(said: string, credentials: unknown): string {
  const line = said
    .replaceAll(/<[^>]{0,1000}>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
  const clean = new Redactor(secretsIn(credentials)).clean(line).replaceAll(tokenLike, '[redacted]')
  return clean.slice(0, SHOWN_LENGTH_MAX)
}

/** Every text of a file with credentials that is not known to be public. */
function secretsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, each]) =>
    typeof each === 'string' && publicMember.test(key) ? [] : secretsIn(each),
  )
}

function member(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

// Turns failures of HTTP requests into errors of a connection.

import { TransportError, type TransportErrorCode } from '../../jsonrpc/jsonrpc-errors.js'
import { type ErrorFrame, readFrame } from '../../jsonrpc/frame.js'
import { toLine } from '../../jsonrpc/line.js'
import { membersAt } from '../../jsonrpc/members.js'
import { type RequestId, canonical } from '../../jsonrpc/request-id.js'
import type { HttpAnswer, SocketTroubleError } from '../http1/client.js'
import { mediaType } from './answer.js'
import { resolvedAddress } from '../address.js'
import type { HttpTarget } from './options.js'

/** Matches the body of a gateway that answers 200 to a wrong key. */
const saysUnauthorized = /^(?=[^]*"success"\s*:\s*false)[^]*"code"\s*:\s*"?(?:401|1001)\b/

const remedies: ReadonlyMap<number, string> = new Map([
  [403, 'check what the server allows, and the url and the headers that its configuration has'],
  [404, 'check the path of the url'],
  [405, 'check the path of the url'],
  [429, 'the server has had too many requests; try again later'],
  [502, 'the server behind the gateway failed; look at its logs'],
  [503, 'the server is overloaded or starting; try again later'],
  [504, 'the server took too long; raise its own request timeout'],
])

/** The error for a response that is not an answer. `said` is the beginning of its body. */
export function noAnswer(target: HttpTarget, answer: HttpAnswer, said: string): TransportError {
  const { status } = answer
  const text = target.redactor.beginning(said)
  const rpcWords = rpcMessage(text)
  const body = excerpt(text)
  const words = rpcWords ?? body
  if (status >= 300 && status < 400) return redirected(target, status, answer.fields.get('location'))
  const isUnauthorized = status === 401 || status === 403 || (status < 300 && saysUnauthorized.test(text))
  const refusal = isUnauthorized ? target.refusal(status, words) : undefined
  // The message leaves out the text of the server, which may repeat the key. The remedy says what to change.
  if (refusal?.remedy !== undefined) {
    const { message, remedy } = refusal
    return failure('TRANSPORT_AUTH', `${message}; ${remedy}`, { status, body: words, remedy })
  }
  if (refusal !== undefined) return failure('TRANSPORT_AUTH', refusal.message)
  const behind = words === '' ? '' : `: ${words}`
  if (status < 300) {
    const what = `HTTP ${status} with ${mediaType(answer).slice(0, 100) || 'no content type'}`
    return failure('TRANSPORT_ANSWER', `it answered ${what}, which is no answer${body && `: ${body}`}`, {
      status,
      body,
    })
  }
  const remedy = remedies.get(status)
  // A refusal in JSON-RPC needs no further details.
  const details = rpcWords === undefined ? { status, body, ...(remedy && { remedy }) } : { status }
  return failure('TRANSPORT_STATUS', `it answered HTTP ${status}${behind}`, details)
}

/** The error for a missing response. `neverSent` means that no byte of the request reached the server. */
export function unreachable(
  { url: { origin }, via }: Pick<HttpTarget, 'url' | 'via'>,
  { message, remedy }: SocketTroubleError,
  neverSent: boolean,
): TransportError {
  const details = remedy === undefined ? undefined : { remedy }
  const tail = remedy === undefined ? '' : `; ${remedy}`
  const where = `${origin}${via === undefined ? '' : ` through the proxy ${via}`}`
  return neverSent
    ? failure('TRANSPORT_UNREACHABLE', `it cannot be reached at ${where}: ${message}${tail}`, details)
    : failure('TRANSPORT_IO', `${message} (${where})${tail}`, details)
}

function redirected(target: HttpTarget, status: number, location: string | undefined): TransportError {
  const { origin = 'null', pathname = '' } = resolvedAddress(location, target.url) ?? {}
  const elsewhere = origin === 'null' ? 'nowhere' : origin
  const where = origin === target.url.origin ? target.redactor.shown(pathname, 200) : elsewhere
  const message = `it redirects to ${where} (HTTP ${status}), which is not followed: configure the final url`
  return failure('TRANSPORT_STATUS', message, { status })
}

export function failure(
  code: TransportErrorCode,
  message: string,
  details?: Readonly<Record<string, unknown>>,
): TransportError {
  return new TransportError(code, message, details === undefined ? {} : { details })
}

/** The error response in a body, if it answers the request `id`. */
export function errorTo(id: RequestId | undefined, body: string): ErrorFrame | undefined {
  const frame = errorIn(body)
  const isOurs = id !== undefined && frame?.id !== undefined && canonical(frame.id) === canonical(id)
  return isOurs ? frame : undefined
}

/** The message of a JSON-RPC error with any id. */
function rpcMessage(body: string): string | undefined {
  const frame = errorIn(body)
  return frame && membersAt(frame.line, frame.error)?.string('message')
}

function errorIn(body: string): ErrorFrame | undefined {
  try {
    const frame = readFrame(toLine(body))
    return frame.kind === 'error' ? frame : undefined
  } catch {
    return undefined
  }
}

const EXCERPT_CHARS_MAX = 200

/** The beginning of a body as text, without tags and repeated white space. */
function excerpt(body: string): string {
  const text = body
    .replaceAll(/<[^<>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
  return text.length > EXCERPT_CHARS_MAX ? `${text.slice(0, EXCERPT_CHARS_MAX)}…` : text
}

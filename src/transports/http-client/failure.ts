// The failures of HTTP requests: of the socket, of the response, and as the errors of a connection.

import { TransportError, type TransportErrorCode } from '../../jsonrpc/jsonrpc-errors.js'
import { type ErrorFrame, readFrame } from '../../jsonrpc/frame.js'
import { toLine } from '../../jsonrpc/line.js'
import { membersAt } from '../../jsonrpc/members.js'
import { type RequestId, canonical } from '../../jsonrpc/request-id.js'
import { type HttpAnswer, HttpSyntaxError, type SocketTrouble } from '../http1/client.js'
import { mediaType } from './answer.js'
import { resolvedAddress } from '../address.js'
import type { CredentialsRefusal, HttpTarget } from './options.js'

/** Gateways that answer 200 say in the body that the key is wrong. */
const saysUnauthorized = /^(?=[^]*"success"\s*:\s*false)[^]*"code"\s*:\s*"?(?:401|1001)\b/

const remedies: ReadonlyMap<number, string> = new Map([
  [403, 'check what the server allows, and the url and the headers that its configuration has'],
  [404, 'check the path of the url'],
  [405, 'check the path of the url'],
  [406, 'the server does not take what this proxy accepts'],
  [413, 'the request is larger than the server takes'],
  [429, 'the server has had too many requests; try again later'],
  [502, 'the server behind the gateway failed; look at its logs'],
  [503, 'the server is overloaded or starting; try again later'],
  [504, 'the server took too long; raise its own request timeout'],
])

/** Why a response is no answer: its status, or a body that is no message; `said` is the beginning of the body. */
export function noAnswer(target: HttpTarget, answer: HttpAnswer, said: string): TransportError {
  const { status } = answer
  const body = target.redactor.beginning(said)
  if (status >= 300 && status < 400) return redirected(target, status, answer.get('location'))
  const isUnauthorized = status === 401 || status === 403 || (status < 300 && saysUnauthorized.test(body))
  const rpcWords = rpcMessage(body)
  const words = rpcWords ?? excerpt(target, body)
  const refusal = isUnauthorized ? target.refusal(status, words) : undefined
  if (refusal !== undefined) return credentialsRefused(refusal, status, words)
  if (status < 300) return notAMessage(status, mediaType(answer), excerpt(target, body))
  const message = `it answered HTTP ${status}${words === '' ? '' : `: ${words}`}`
  const remedy = remedies.get(status)
  // A server that refuses in JSON-RPC has said everything with that.
  const details = rpcWords === undefined ? { status, body: words, ...(remedy && { remedy }) } : { status }
  return failure('TRANSPORT_STATUS', message, details)
}

/** The words of the server are in the log: they may repeat the key, and the variable says what to change. */
function credentialsRefused(
  { message, remedy }: CredentialsRefusal,
  status: number,
  body: string,
): TransportError {
  if (remedy === undefined) return failure('TRANSPORT_AUTH', message)
  return failure('TRANSPORT_AUTH', `${message}; ${remedy}`, { status, body, remedy })
}

function notAMessage(status: number, type: string, body: string): TransportError {
  const what = type === '' ? 'without a content type' : `with ${type.slice(0, 100)}`
  const message = `it answered HTTP ${status} ${what}, which is no answer${body === '' ? ', and nothing else' : `: ${body}`}`
  return failure('TRANSPORT_ANSWER', message, { status, body })
}

/** A server that asks for a longer pause than a caller waits. */
export function paused({ pause }: HttpTarget): TransportError {
  const { status, leftMs } = pause
  const message = `it asked to be left alone (HTTP ${status}) for another ${Math.ceil(leftMs / 1000)} s`
  return failure('TRANSPORT_STATUS', message, { status, remedy: remedies.get(status) })
}

export function unreachable(
  { url: { origin }, via }: Pick<HttpTarget, 'url' | 'via'>,
  { neverSent, what, remedy }: HttpTrouble,
): TransportError {
  const details = remedy === undefined ? undefined : { remedy }
  const tail = remedy === undefined ? '' : `; ${remedy}`
  const through = via === undefined ? '' : ` through the proxy ${via}`
  return neverSent
    ? failure('TRANSPORT_UNREACHABLE', `it cannot be reached at ${origin}${through}: ${what}${tail}`, details)
    : failure('TRANSPORT_IO', `${what} (${origin}${through})${tail}`, details)
}

/** An answer that ended before it was whole; `error` is about the bytes that broke it. */
export function incomplete(what: string, error: Error | undefined): TransportError {
  return error instanceof HttpSyntaxError
    ? failure('TRANSPORT_ANSWER', `its answer cannot be read: ${error.message}`)
    : failure('TRANSPORT_IO', what)
}

function redirected(target: HttpTarget, status: number, location: string | undefined): TransportError {
  const to = location === undefined ? undefined : resolvedAddress(location, target.url)
  const where =
    to === undefined || to.origin === 'null'
      ? 'nowhere'
      : to.origin === target.url.origin
        ? 'another path of it'
        : to.origin
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

/** The error response in a body that names the request `id`. */
export function errorTo(id: RequestId | undefined, body: string): ErrorFrame | undefined {
  const frame = errorIn(body)
  const isOurs = id !== undefined && frame?.id !== undefined && canonical(frame.id) === canonical(id)
  return isOurs ? frame : undefined
}

/** The message of a JSON-RPC error that names no request. */
function rpcMessage(body: string): string | undefined {
  const frame = errorIn(body)
  if (frame === undefined) return undefined
  return membersAt(frame.line, frame.error)?.string('message')
}

function errorIn(body: string): ErrorFrame | undefined {
  try {
    const frame = readFrame(toLine(body))
    return frame.kind === 'error' ? frame : undefined
  } catch {
    return undefined
  }
}

/** The beginning of a body as text: tags and runs of white space say nothing. */
function excerpt({ limits }: HttpTarget, body: string): string {
  const blocks = body.split(/<\/(?:style|script)>/i)
  const text = blocks
    .map((block, at) => (at === blocks.length - 1 ? block : block.replace(/<(?:style|script)[^]*/i, ' ')))
    .join(' ')
    .replaceAll(/<[^<>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
  return text.length > limits.excerptCharsMax ? `${text.slice(0, limits.excerptCharsMax)}…` : text
}

/** A compressed answer, though `Accept-Encoding: identity` was sent. */
export function compressed(coding: string): TransportError {
  return failure(
    'TRANSPORT_ANSWER',
    `its answer is compressed (${coding}) although none is asked for (Accept-Encoding: identity); have the server, or what stands before it, send it as it is`,
  )
}

/** Why there is no response. */
export interface HttpTrouble extends SocketTrouble {
  /** No byte of the request can have reached the server. */
  readonly neverSent: boolean
  /** The error of the credentials: none are available, or the server refused them. */
  readonly error?: TransportError
  /** Of the refusal, where there was one. */
  readonly status?: number
}

import type { ErrorBody } from '../../jsonrpc/build.js'
import { TransportError, type TransportErrorCode } from '../../jsonrpc/jsonrpc-errors.js'
import type { Redactor } from '../../text/redactor.js'
import { type FailureReason, authenticationFailed, upstreamFailed } from '../../mcp/error-codes.js'
import { errorText } from '../../text/error-text.js'
import type { DialEnd } from './dialed.js'

/** The error of a server that cannot serve. Its `code` is `UPSTREAM_` and the reason in capitals. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError'
  readonly service: string
  readonly reason: FailureReason
  readonly details: Readonly<Record<string, unknown>> | undefined

  /** `details` are further members of `error.data`. */
  constructor(
    service: string,
    reason: FailureReason,
    message: string,
    { details, ...options }: ErrorOptions & Pick<DialEnd, 'details'> = {},
  ) {
    super(message, options)
    this.service = service
    this.reason = reason
    this.details = details
  }

  get code(): string {
    return `UPSTREAM_${this.reason.toUpperCase().replaceAll('-', '_')}`
  }

  /** The error as a client sees it. */
  get body(): ErrorBody {
    const { details, message, reason, service } = this
    if (reason === 'unauthorized') return authenticationFailed(service, message, details)
    if (reason === 'login-required') return authenticationFailed(service, message, { reason, ...details })
    return upstreamFailed(service, reason, message, details)
  }
}

/** The most characters of a server's own text in an error. */
const SHOWN_LENGTH_MAX = 500

/** The error of a server that answers but does not open; `why` may be text of the server. */
export function unusable(
  { service, redactor }: { readonly service: string; readonly redactor: Redactor },
  why: string,
): UpstreamError {
  return thatServer(service, 'handshake-failed', `cannot be used: ${redactor.shown(why, SHOWN_LENGTH_MAX)}`)
}

/** The error whose message is the name of the server and `what`. */
export function thatServer(service: string, reason: FailureReason, what: string): UpstreamError {
  return new UpstreamError(service, reason, `'${service}' ${what}`)
}

const reasons: Readonly<Record<TransportErrorCode, FailureReason>> = {
  TRANSPORT_CLOSED: 'closed',
  TRANSPORT_IO: 'closed',
  TRANSPORT_TAP: 'closed',
  TRANSPORT_AUTH: 'unauthorized',
  TRANSPORT_LOGIN: 'login-required',
  TRANSPORT_ANSWER: 'invalid-answer',
  TRANSPORT_TIMEOUT: 'timeout',
  TRANSPORT_UNREACHABLE: 'unavailable',
  TRANSPORT_STATUS: 'http-status',
  TRANSPORT_SESSION: 'closed',
  TRANSPORT_TOKEN: 'unavailable',
}

/** The error for a failed message. A refusal of credentials is a complete sentence already. */
export function fromTransport(service: string, error: TransportError): UpstreamError {
  const reason = reasons[error.code]
  const message = isAboutCredentials(reason) ? error.message : `'${service}': ${error.message}`
  return new UpstreamError(service, reason, message, { cause: error, details: error.details })
}

/** Whether a person has to change the credentials, so that another attempt is useless. */
export function isAboutCredentials(reason: FailureReason | undefined): boolean {
  return reason === 'unauthorized' || reason === 'login-required'
}

/** Converts any failure to reach a server to an error that names the server. */
export function asUpstreamError(service: string, error: unknown): UpstreamError {
  if (error instanceof UpstreamError) return error
  if (error instanceof TransportError) return fromTransport(service, error)
  const message = errorText(error)
  return new UpstreamError(service, 'closed', `'${service}' cannot be reached: ${message}`, { cause: error })
}

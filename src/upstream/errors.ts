import type { ErrorBody } from '../jsonrpc/build.js'
import { type FailureReason, upstreamFailed } from '../mcp/error-codes.js'

/** An upstream cannot serve. Its `code` is `UPSTREAM_` and the reason in capitals. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError'
  readonly service: string
  readonly reason: FailureReason

  constructor(service: string, reason: FailureReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.service = service
    this.reason = reason
  }

  get code(): string {
    return `UPSTREAM_${this.reason.toUpperCase().replaceAll('-', '_')}`
  }

  /** The error as a client sees it. */
  get body(): ErrorBody {
    return upstreamFailed(this.service, this.reason, this.message)
  }
}

/** Any failure to reach a server, as the error that names the server. */
export function asUpstreamError(service: string, error: unknown): UpstreamError {
  if (error instanceof UpstreamError) return error
  const message = error instanceof Error ? error.message : String(error)
  return new UpstreamError(service, 'closed', `'${service}' cannot be reached: ${message}`, { cause: error })
}

// The words that metrics and spans have for a call.

import type { CallEvent } from '../events/proxy-events.js'
import { isClientMistake } from '../mcp/error-codes.js'
import { requests, statelessRequests } from '../mcp/methods.js'

/** The protocol version and the transport of a server, as OpenTelemetry names them. */
export interface ServerLabels {
  readonly revision: string
  readonly transport: string
}

export function isKnownMethod(method: string): boolean {
  return requests.get(method) !== undefined || statelessRequests.get(method) !== undefined
}

/**
 * The error of a call towards its client, but for that of a tool; empty where there is none.
 *
 * A mistake of the client is no error of the side that was asked (OpenTelemetry, RPC: server spans).
 */
export function frontError({ outcome, code }: Pick<CallEvent, 'outcome' | 'code'>): string {
  if (outcome === 'cancelled') return 'cancelled'
  return code === undefined || isClientMistake(code) ? '' : String(code)
}

/** The server's own error, or why there was no answer; empty where there is none. */
export function upstreamError({
  outcome,
  code,
  reason,
}: Pick<CallEvent, 'outcome' | 'code' | 'reason'>): string {
  if (outcome === 'cancelled') return 'cancelled'
  return reason ?? (code === undefined ? '' : String(code))
}

/** Empty for a connection inside the process. */
export function transportOf({ transport }: Pick<CallEvent, 'transport'>): string {
  if (transport === 'stdio') return 'pipe'
  return transport === 'http' || transport === 'sse' ? 'tcp' : ''
}

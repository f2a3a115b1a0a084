// A question that a server may not know, and what may come of it.
//
// Over the network a server refuses what it does not know with a status; which of them say nothing of the server is
// decided here (MCP 2026-07-28, Streamable HTTP, Backward Compatibility).

import type { ResponseFrame } from '../../jsonrpc/frame.js'
import type { Probed } from '../../mcp/eras/leg.js'
import type { Runtime } from '../../runtime/runtime.js'
import { within } from '../../runtime/within.js'
import { UpstreamError } from '../contracts/errors.js'

/** Of credentials, of time, of too many requests. */
const inconclusive: readonly unknown[] = [401, 403, 408, 429]

/**
 * Waits for the answer to a request that a server may not know.
 *
 * `ended` says whether the server has ended by itself.
 *
 * @throws UpstreamError where what has happened says nothing of what the server knows
 */
export async function probe(
  asked: Promise<ResponseFrame>,
  waitMs: number,
  runtime: Runtime,
  ended: () => boolean,
): Promise<Probed> {
  try {
    const answer = waitMs === Infinity ? await asked : await within(asked, waitMs, runtime)
    return answer === undefined ? { kind: 'silent', late: asked } : { kind: 'answered', answer }
  } catch (error) {
    if (ended()) return { kind: 'ended' }
    if (error instanceof UpstreamError && isRefusal(error)) return { kind: 'refused' }
    throw error
  }
}

/** Whether a status was the answer that a server gives to what it does not know. */
function refusesUnknown(status: unknown): boolean {
  return typeof status === 'number' && status >= 400 && status < 500 && !inconclusive.includes(status)
}

function isRefusal({ reason, details }: UpstreamError): boolean {
  return reason === 'http-status' && refusesUnknown(details?.['status'])
}

// Why a request is not served: a status code for machines on the way, and a
// JSON-RPC error for the client.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { FrameError } from '../../jsonrpc/jsonrpc-errors.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import {
  internalError,
  invalidRequest,
  malformed,
  sessionNotFound,
  transportRefused,
} from '../../mcp/error-codes.js'

export interface Refusal {
  readonly status: number
  readonly error: ErrorBody
  /** Of the request that the error answers, where it could be read. */
  readonly id?: RequestId | undefined
  /** The revision of the client, if it is known better than from its header fields. */
  readonly revision?: { readonly orphanId: 'null' | 'omit' } | undefined
  readonly headers?: Readonly<Record<string, string>>
  /** For a body that is not JSON-RPC: plain JSON instead of `error`. */
  readonly body?: string
}

/** Why a request is not served, if there is a reason; otherwise the response is on its way. */
export type ServeResult = Refusal | undefined | Promise<Refusal | undefined>

export function isRefusal(value: object): value is Refusal {
  return 'status' in value
}

/** On connections on which nothing behind this request is read: others may see its end elsewhere. */
const closing = { connection: 'close' } as const

export function refuse(status: number, why: string, headers?: Readonly<Record<string, string>>): Refusal {
  const error = status >= 500 ? internalError(why) : transportRefused(why)
  return headers === undefined ? { status, error } : { status, error, headers }
}

/** The message itself is at fault. */
export function invalid(why: string): Refusal {
  return { status: 400, error: invalidRequest(why) }
}

/** Bytes behind such a body may belong to it, so they are not read as a request. */
export function unreadable(error: FrameError): Refusal {
  return { status: 400, error: malformed(error), id: error.id, headers: closing }
}

/** A client that is turned away loses its connection too. */
export const crowded: Refusal = refuse(503, 'Too many clients', { ...closing, 'retry-after': '5' })

/** The front, or the endpoint of the request, is closing. */
export const frontClosing: Refusal = refuse(503, 'Shutting down', { ...closing, 'retry-after': '1' })

/** No session begins, and none goes on here, while the store of the instances cannot be asked. */
export const storeAway: Refusal = refuse(503, 'The store of the sessions cannot be reached', {
  'retry-after': '5',
})

export const noSession: Refusal = { status: 404, error: sessionNotFound('Session not found') }

export const noSessionId: Refusal = refuse(400, 'Mcp-Session-Id is required')

// Why a request is not served: a status code for HTTP software, and a JSON-RPC error for the client.

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
  /** The id of the request that the error answers, if it could be read. */
  readonly id?: RequestId | undefined
  /** The revision of the client, if a better source than its header fields is known. */
  readonly revision?: { readonly orphanId: 'null' | 'omit' } | undefined
  readonly headers?: Readonly<Record<string, string>>
  /** A body in plain JSON instead of `error`. */
  readonly body?: string
}

/** Why a request is not served; undefined if its response has begun or follows. */
export type ServeResult = Refusal | undefined | Promise<Refusal | undefined>

export function isRefusal(value: object): value is Refusal {
  return 'status' in value
}

/** Ends a connection whose later bytes are not read, as other readers may see another end of this request. */
const closing = { connection: 'close' } as const

export function refuse(status: number, why: string, headers?: Readonly<Record<string, string>>): Refusal {
  const error = status >= 500 ? internalError(why) : transportRefused(why)
  return headers === undefined ? { status, error } : { status, error, headers }
}

/** A refusal because of a fault in the message itself. */
export function invalid(why: string): Refusal {
  return { status: 400, error: invalidRequest(why) }
}

/** Later bytes may belong to the unreadable body, so they are not read as a request. */
export function unreadable(error: FrameError): Refusal {
  return { status: 400, error: malformed(error), id: error.id, headers: closing }
}

/** A refused client also loses its connection. */
export const crowded: Refusal = refuse(503, 'Too many clients', { ...closing, 'retry-after': '5' })

/** The front, or the endpoint of the request, is closing. */
export const frontClosing: Refusal = refuse(503, 'Shutting down', { ...closing, 'retry-after': '1' })

/** While the store of the instances is unreachable, no session begins or is revived. */
export const storeAway: Refusal = refuse(503, 'The store of the sessions cannot be reached', {
  'retry-after': '5',
})

export const noSession: Refusal = { status: 404, error: sessionNotFound('Session not found') }

export const noSessionId: Refusal = refuse(400, 'Mcp-Session-Id is required')

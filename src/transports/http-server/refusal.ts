// Why a request is not served: a status code for machines on the way, and a
// JSON-RPC error for the client.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { FrameError } from '../../jsonrpc/errors.js'
import type { RequestId } from '../../jsonrpc/request-id.js'

/** The reason of a refusal; another layer chooses its error number. */
export type RefusalKind = 'invalid' | 'transport' | 'session' | 'internal'

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

export function isRefusal(value: object): value is Refusal {
  return 'status' in value
}

/** Makes error bodies: this layer knows no JSON-RPC number. */
export interface Wording {
  refused(kind: RefusalKind, why: string): ErrorBody
  malformed(error: FrameError): ErrorBody
}

/** On connections on which nothing behind this request is read: others may see its end elsewhere. */
export const closing = { connection: 'close' } as const

/** Makes refusals with one wording. */
export class Refusals {
  readonly #wording: Wording

  constructor(wording: Wording) {
    this.#wording = wording
  }

  plain(status: number, why: string, headers?: Readonly<Record<string, string>>): Refusal {
    const error = this.#wording.refused(status >= 500 ? 'internal' : 'transport', why)
    return headers === undefined ? { status, error } : { status, error, headers }
  }

  invalid(why: string, id?: RequestId): Refusal {
    return { status: 400, error: this.#wording.refused('invalid', why), id }
  }

  /** A client that is turned away loses its connection too. */
  crowded(): Refusal {
    return this.plain(503, 'Too many clients', { ...closing, 'retry-after': '5' })
  }

  noSession(): Refusal {
    return { status: 404, error: this.#wording.refused('session', 'Session not found') }
  }

  noSessionId(): Refusal {
    return this.plain(400, 'Mcp-Session-Id is required')
  }

  /** Bytes behind such a body may belong to it, so they are not read as a request. */
  malformed(error: FrameError): Refusal {
    return { status: 400, error: this.#wording.malformed(error), id: error.id, headers: closing }
  }
}

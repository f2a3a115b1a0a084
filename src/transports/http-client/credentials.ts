// The interface to credentials that change during a connection.

import type { TransportError } from '../../jsonrpc/errors.js'

/** The credentials of one request; never logged. */
export interface Credential {
  /** Header fields: a name, its value, the next name, and so on. */
  readonly fields: readonly string[]
  /** The part of them that must not be repeated. */
  readonly secret: string
}

/** A request that is to be proven. */
export interface UnprovenRequest {
  readonly method: 'POST' | 'GET' | 'DELETE'
  readonly url: URL
}

/** The answer of a server that refused a credential. */
export interface CredentialRefusal {
  /** 401 or 403. */
  readonly status: number
  /** Its `WWW-Authenticate` fields, as they came (RFC 9110, section 11.6.1). */
  readonly challenges: readonly string[]
  /** The JSON-RPC method of the request; undefined where it had none. */
  readonly rpc?: string | undefined
}

/**
 * 'again' where another credential is worth a try, 'other' where it is one that was there before and may be refused too; an error
 * takes the place of the server's refusal.
 */
export type CredentialVerdict = 'again' | 'other' | TransportError | undefined

/** Credentials that change while a connection lasts. */
export interface HttpCredentials {
  /** The credential of this request, synchronously where it is known; undefined where there is none yet. Rejects with TransportError. */
  credential(request: UnprovenRequest): Credential | undefined | Promise<Credential | undefined>
  /** The server refused a request that carried `sent`, or no credential. Never rejects. */
  refused(sent: Credential | undefined, refusal: CredentialRefusal): Promise<CredentialVerdict>
}

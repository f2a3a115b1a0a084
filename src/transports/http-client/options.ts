// The options of the HTTP transports: address, credentials, limits.

import type { TransportError } from '../../jsonrpc/jsonrpc-errors.js'
import type { Line } from '../../jsonrpc/line.js'
import type { Runtime } from '../../runtime/runtime.js'
import type { Redactor } from '../../text/redactor.js'
import type { DoubtfulRefusals } from './forgotten-session.js'

export type HttpTimers = Pick<Runtime, 'now' | 'setTimer' | 'random'>

export interface CredentialsRefusal {
  readonly message: string
  /** Undefined if the message is complete. */
  readonly remedy: string | undefined
}

const limits = {
  sse: {
    dataBytesMax: 67_108_864, // 64 MiB
    fieldBytesMax: 1024,
  },
  /** The longest JSON answer or batch. Servers send files over HTTP as they do over stdio. */
  answerBytesMax: 67_108_864, // 64 MiB
  /** Every call in flight uses a socket, and so does the standalone stream of each of the thousand sessions of a front. */
  socketsMax: 2048,
  /**
   * Servers close idle connections, Node's after five seconds. The proxy closes them earlier, so that no
   * request meets a closed connection.
   */
  idleSocketMs: 4000,
  /** The time until a socket is connected and, for https, encrypted. */
  connectMs: 10_000,
  /** The time until the server has accepted a notification or an answer of the proxy. */
  acceptMs: 30_000,
  /** The time after which calls start if the server has not accepted `notifications/initialized`. */
  readyMs: 5000,
  /** The total time of a request. The owner of the connection stops waiting earlier. */
  answerMs: 660_000,
  /** How much longer `answerMs` is than the longest timeout of the owner. */
  answerMarginMs: 60_000,
  /** The total time of a request without an end: the longest delay of a timer. */
  endlessMs: 2_147_483_647,
  /** How long an exchange may continue after a cancel or after its answer. */
  lingerMs: 5000,
  /** How long a closing connection waits for its last notifications. */
  closeMs: 1000,
  retryAfterMsMax: 60_000,
  redirectsMax: 3,
  /** Attempts to resume one answer without a new event between them. */
  resumesMax: 5,
  reconnectMsMin: 100,
  reconnectMsMax: 60_000,
  cookiesMax: 20,
  cookieBytesMax: 4096,
}

export type HttpClientLimits = Readonly<typeof limits>
export const defaultHttpClientLimits: HttpClientLimits = limits

export interface HttpTarget {
  readonly url: URL
  /** The address of the proxy to the server, without its credentials; undefined without a proxy. */
  readonly via?: string | undefined
  /** From the configuration. Only this origin gets them. */
  readonly headers: Readonly<Record<string, string>>
  readonly credentials: HttpCredentials | undefined
  /** Redacts header values, keys in the address, and cookies, which the server may repeat. */
  readonly redactor: Redactor
  /** How often a message is sent again that the server has not accepted, or may safely get twice. */
  readonly retries: number
  readonly retryDelayMs: number
  /** Called when no connection can be made. The message is sent again later. */
  readonly onUnreachable?: () => void
  /** The delay before a lost event stream is opened again, unless the server names another. */
  readonly reconnectMs: number
  /** Returns header fields that repeat parts of a message, names and values in turn; undefined for a session. */
  readonly mirror?: ((message: Line, method: string | undefined) => readonly string[] | undefined) | undefined
  /**
   * Explains a refusal of the credentials. `words` is the text of the server, without secrets. Returns
   * undefined if the refusal is not about credentials.
   */
  readonly refusal: (status: number, words: string) => CredentialsRefusal | undefined
  readonly log: (level: 'debug' | 'warn', message: string) => void
  /** Logs every request; undefined if tracing is off. */
  readonly trace: ((message: string) => void) | undefined
  /** Shared by all connections to the server. */
  readonly refusals: DoubtfulRefusals
  /** The longest time that a caller waits for an answer. */
  readonly patienceMs: number
  readonly timers: HttpTimers
  readonly limits: HttpClientLimits
}

/** The credentials of one request. They are never logged. */
export interface Credential {
  /** Header fields: names and values in turn. */
  readonly fields: readonly string[]
  /** The part of the fields that must not be repeated. */
  readonly secret: string
}

export interface CredentialRefusal {
  /** 401 or 403. */
  readonly status: number
  /** The `WWW-Authenticate` fields of the response, unchanged (RFC 9110, section 11.6.1). */
  readonly challenges: readonly string[]
  /** The JSON-RPC method of the request; undefined without one. */
  readonly rpc?: string | undefined
}

/**
 * `again`: another credential may work. `other`: an older credential may work, or may be refused too. An
 * error replaces the refusal of the server.
 */
export type CredentialVerdict = 'again' | 'other' | TransportError | undefined

/** Credentials that may change while a connection is open. */
export interface HttpCredentials {
  /** The credential of a request, synchronously if it is known; undefined without one. Rejects with TransportError. */
  credential(): Credential | undefined | Promise<Credential | undefined>
  /** The server refused a request with the credential `sent`, or without one. Never rejects. */
  refused(sent: Credential | undefined, refusal: CredentialRefusal): Promise<CredentialVerdict>
}

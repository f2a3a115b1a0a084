// The options of the HTTP transports: address, credentials, limits.

import type { TransportError } from '../../jsonrpc/jsonrpc-errors.js'
import type { Line } from '../../jsonrpc/line.js'
import type { Runtime } from '../../runtime/runtime.js'
import type { Redactor } from '../../text/redactor.js'
import type { DoubtfulRefusals } from './forgotten-session.js'

/** Time and chance, from outside. */
export type HttpTimers = Pick<Runtime, 'now' | 'setTimer' | 'random'>

export interface CredentialsRefusal {
  readonly message: string
  /** The remedy; undefined when the message is complete. */
  readonly remedy: string | undefined
}

/** The limits of a connection, with their usual values. */
const limits = {
  sse: {
    dataBytesMax: 67_108_864, // 64 MiB
    fieldBytesMax: 1024,
  },
  /** A JSON answer, or a batch of them: servers send files, over HTTP as over stdio. */
  answerBytesMax: 67_108_864, // 64 MiB
  /** Every call in flight holds a socket, and so does the standalone stream of each of the thousand sessions of a front. */
  socketsMax: 2048,
  /**
   * Shorter than what servers keep an idle connection open for, so that a request does not meet its end: Node's own
   * close theirs after five seconds.
   */
  idleSocketMs: 4000,
  /** Until a socket is connected and, for https, encrypted. */
  connectMs: 10_000,
  /** For a notification or an answer of ours, until the server has taken it. */
  acceptMs: 30_000,
  /** Until a server is called that has not said that it took `notifications/initialized`. */
  readyMs: 5000,
  /** For a request, in all; the owner of the connection gives up before. */
  answerMs: 660_000,
  /** How much longer than the owner's longest time that is. */
  answerMarginMs: 60_000,
  /** For the answer to a request that is endless: the longest time that a timer has. */
  endlessMs: 2_147_483_647,
  /** After a cancel, or when an answered stream goes on, until the exchange is dropped. */
  lingerMs: 5000,
  /** For the last words of a connection that is closed. */
  closeMs: 1000,
  retryAfterMsMax: 60_000,
  redirectsMax: 3,
  /** Attempts to resume one answer without any event in between. */
  resumesMax: 5,
  reconnectMsMin: 100,
  reconnectMsMax: 60_000,
  cookiesMax: 20,
  cookieBytesMax: 4096,
}

export type HttpClientLimits = Readonly<typeof limits>
export const defaultHttpClientLimits: HttpClientLimits = limits

/** One server as the transports see it. */
export interface HttpTarget {
  readonly url: URL
  /** The proxy on the way there, without its credentials; undefined where there is none. */
  readonly via?: string | undefined
  /** From the configuration; sent to this origin and to no other. */
  readonly headers: Readonly<Record<string, string>>
  readonly credentials: HttpCredentials | undefined
  /** Knows what must not be repeated, though the server may say it: values of headers, keys in the address, cookies. */
  readonly redactor: Redactor
  /** How often a message is sent again that provably was not taken, or may safely be taken twice. */
  readonly retries: number
  readonly retryDelayMs: number
  /** No connection can be made; the message is sent again later. */
  readonly onUnreachable?: () => void
  /** Before a lost event stream is opened again, unless the server says otherwise. */
  readonly reconnectMs: number
  /** The header fields that repeat what a message of ours says, names and values in turn; undefined for one of a session. */
  readonly mirror?: ((message: Line, method: string | undefined) => readonly string[] | undefined) | undefined
  /**
   * Says what a refusal of our credentials means; `words` are the server's, without secrets.
   *
   * Undefined when the refusal is not about credentials.
   */
  readonly refusal: (status: number, words: string) => CredentialsRefusal | undefined
  readonly log: (level: 'debug' | 'warn', message: string) => void
  /** Logs every request; undefined when tracing is off. */
  readonly trace: ((message: string) => void) | undefined
  /** Shared by all connections to the server. */
  readonly refusals: DoubtfulRefusals
  /** The longest time that a caller waits for an answer. */
  readonly patienceMs: number
  readonly timers: HttpTimers
  readonly limits: HttpClientLimits
}

/** The credentials of one request; never logged. */
export interface Credential {
  /** Header fields: a name, its value, the next name, and so on. */
  readonly fields: readonly string[]
  /** The part of them that must not be repeated. */
  readonly secret: string
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
  /** The credential of a request, synchronously where it is known; undefined where there is none yet. Rejects with TransportError. */
  credential(): Credential | undefined | Promise<Credential | undefined>
  /** The server refused a request that carried `sent`, or no credential. Never rejects. */
  refused(sent: Credential | undefined, refusal: CredentialRefusal): Promise<CredentialVerdict>
}

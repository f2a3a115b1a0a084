// A connection receives and sends whole messages over any transport.

import type { TransportError } from './jsonrpc-errors.js'
import type { Frame, ReceivedMessage } from './frame.js'
import type { Line } from './line.js'
import type { RequestId } from './request-id.js'
import type { Message } from './splice.js'

/** Reads a header field of the request that brought a message, by its name in lower case. */
export type FieldReader = (name: string) => string | undefined

/** The way back to the sender of one request: the response to its POST, or the connection that carried it. */
export interface Reply {
  /** Sends the answer. Called once, unless `drop` is called. */
  answer(message: Message, kind: AnswerKind): void
  /** Ends a request that was cancelled, without an answer. */
  drop(): void
  /** Sends a notification, or a request of the proxy, that belongs to this request. */
  tell(message: Message, head: MessageHead): void
  /** Reads a header field of the HTTP request. */
  readonly field?: FieldReader | undefined
  /** Whether the client cancels the request by closing its response. Another request may have the same id. */
  readonly isCancelledByClosing: boolean
}

/** The events of a connection. No handler may throw. */
export interface Sink {
  /**
   * Receives one message. The receiver may keep the view.
   *
   * `during` is the id of the proxy's request whose response stream carries the message. `reply` is the way
   * back for a request or a batch; without it, answers leave with `send`.
   */
  message(line: Line, during?: RequestId, reply?: Reply): void
  /** Receives a message that the transport has parsed. If the sink lacks this method, `message` gets the line. */
  readonly received?: ((message: ReceivedMessage, during?: RequestId, reply?: Reply) => void) | undefined
  /** The peer has cancelled a request by closing its response. */
  readonly gaveUp?: ((reply: Reply) => void) | undefined
  /**
   * A message of the proxy did not arrive, or its answer will not come. `id` is the id of the proxy's
   * request; undefined for a notification or an answer.
   */
  readonly failed?: (id: RequestId | undefined, error: TransportError) => void
  /**
   * A message over the limit was skipped. `id` is set if the skipped bytes contained exactly one id.
   *
   * `isCall` means that the message has a `method`, so its sender chose the id.
   */
  oversize(id: RequestId | undefined, bytes: number, isCall: boolean): void
  /** Unsolicited messages of the peer arrive from now on; earlier ones may be lost. */
  readonly missed?: (() => void) | undefined
  /** The connection takes bytes again after it was congested. */
  drained(): void
  /** The other end will send nothing more; it may still read. */
  ended(): void
  /** Called once, as the last event. `cause` is undefined when either end closed in order. */
  closed(cause: TransportError | undefined): void
  /** Shows the bytes of every read and write of the operating system. `whole` means that they are one message. */
  readonly wire?: ((direction: 'in' | 'out', bytes: Uint8Array, whole: boolean) => void) | undefined
}

/** The facts of a message that the proxy sends, so that transports need not parse it. */
export interface MessageHead {
  readonly kind: Frame['kind'] | 'batch'
  /** Set for a request. */
  readonly id?: RequestId
  /** Set for a request or a notification. */
  readonly method?: string
  /** The id of the proxy's request that this message cancels. */
  readonly cancels?: RequestId | undefined
}

/** The requests that a notification belongs to. */
export interface Relation {
  /** The way back to the sender of a request. */
  readonly reply?: Reply | undefined
  /** The proxy's request that the notification cancels. */
  readonly cancels?: RequestId | undefined
}

export type AnswerKind = 'result' | 'error' | 'batch'

/** The transport of a client: two byte streams, Streamable HTTP, the older HTTP+SSE, or the memory of the process. */
export type TransportName = 'stdio' | 'http' | 'sse' | 'memory'

/** A channel of messages. It is silent until `start`, has one sink, and closes once. No promise of it rejects. */
export interface Connection {
  /** Undefined for a transport of another program. */
  readonly transport?: TransportName
  /** The prefix of the ids of the proxy's requests. Set if other processes may get the answers too. */
  readonly idPrefix?: string | undefined
  start(sink: Sink): void
  /** Queues a message. A closed connection drops it. */
  send(message: Message, head: MessageHead): void
  /** Whether the queue is longer than the peer can read; `drained` follows. */
  readonly congested: boolean
  /** The number of queued bytes that the other end has not read. */
  readonly backlogBytes: number
  /**
   * On a connection that several clients share, disconnects the client with the most unread bytes and cancels
   * its requests. Returns the number of these bytes; 0 if no client can be disconnected alone.
   */
  cutSlowest?(): number
  /** Whether the other end listens or waits for an answer; undefined if the transport cannot tell. */
  readonly busy?: boolean
  /** Resumes or stops reading. The other end feels the back-pressure. */
  read(on: boolean): void
  /** Sends the queue (drops it if `atOnce` is true), then closes. All callers wait for the same end. */
  close(atOnce?: boolean): Promise<void>
}

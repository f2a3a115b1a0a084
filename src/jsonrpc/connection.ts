// A connection: whole messages in, whole messages out, over any transport.

import type { TransportError } from './jsonrpc-errors.js'
import type { Frame, ReceivedMessage } from './frame.js'
import type { Line } from './line.js'
import type { RequestId } from './request-id.js'
import type { Message } from './splice.js'

/** Reads a header field of the request that brought a message, by its name in lower case. */
export type FieldReader = (name: string) => string | undefined

/** The way back of one request of the other end: the response to its POST, or the connection that brought it. */
export interface Reply {
  /** Sends the answer. Called once, unless `drop` is. */
  answer(message: Message, kind: AnswerKind): void
  /** The request was cancelled and gets no answer. */
  drop(): void
  /** Sends a notification or a question that is about the request. */
  tell(message: Message, head: MessageHead): void
  /** Reads a header field of the HTTP request. */
  readonly field?: FieldReader | undefined
  /** The client cancels the request by closing its response. Another request may have the same id. */
  readonly isCancelledByClosing: boolean
}

/** The events of a connection. No handler may throw. */
export interface Sink {
  /**
   * One message; the view is the receiver's to keep.
   *
   * `during` is the id of our request on whose own stream it came, where the transport has such streams. `reply` is the way
   * back of a request or a batch; if it is absent, answers leave with `send`.
   */
  message(line: Line, during?: RequestId, reply?: Reply): void
  /** One message that the transport had to read itself. A sink without this method is given its line. */
  readonly received?: ((message: ReceivedMessage, during?: RequestId, reply?: Reply) => void) | undefined
  /** The peer cancelled a request by closing its response. */
  readonly gaveUp?: ((reply: Reply) => void) | undefined
  /**
   * A message of ours did not get through, or its answer will not come; everything else goes on.
   *
   * `id` is that of our request; undefined for a notification or an answer.
   */
  readonly failed?: (id: RequestId | undefined, error: TransportError) => void
  /**
   * A message over the limit was skipped; its id is given where exactly one was found on the way.
   *
   * `isCall` says that it has a `method`, so that the id is its sender's own and not that of an answer.
   */
  oversize(id: RequestId | undefined, bytes: number, isCall: boolean): void
  /** The peer's unsolicited messages arrive from now on; earlier ones may be lost. */
  readonly missed?: (() => void) | undefined
  /** The connection takes bytes again after it was congested. */
  drained(): void
  /** The other end will send nothing more; it may still read. */
  ended(): void
  /** Called once; nothing comes after it. `cause` is undefined when either end closed in order. */
  closed(cause: TransportError | undefined): void
  /** The bytes of every read and write, as the operating system sees them; `whole` says that they are one message. */
  readonly wire?: ((direction: 'in' | 'out', bytes: Uint8Array, whole: boolean) => void) | undefined
}

/** The facts of a message that the proxy sends, so that no transport reads the bytes for them. */
export interface MessageHead {
  readonly kind: Frame['kind'] | 'batch'
  /** Of a request. */
  readonly id?: RequestId
  /** Of a request or notification. */
  readonly method?: string
  /** The id of our request that the message gives up. */
  readonly cancels?: RequestId | undefined
}

/** The requests that a notification is about. */
export interface Relation {
  /** The way back of a request of the other end. */
  readonly reply?: Reply | undefined
  /** A request of ours that it gives up. */
  readonly cancels?: RequestId | undefined
}

/** Several answers in one array are a batch. */
export type AnswerKind = 'result' | 'error' | 'batch'

export const unrelated: Relation = {}

/** How the messages of a client travel: over two byte streams, Streamable HTTP, the older HTTP+SSE, or inside the process. */
export type TransportName = 'stdio' | 'http' | 'sse' | 'memory'

/** A channel of messages. It starts silent, delivers to one sink, and closes once; no promise of it rejects. */
export interface Connection {
  /** Undefined for a transport that another program has written. */
  readonly transport?: TransportName
  /** The ids of our requests are texts that begin so, where answers to another process may come too. */
  readonly idPrefix?: string | undefined
  start(sink: Sink): void
  /** Queues a message, or drops it once closed. */
  send(message: Message, head: MessageHead): void
  /** Whether the queue is longer than the peer has been taking; `drained` follows. */
  readonly congested: boolean
  /** Bytes queued here that the other end has not taken. */
  readonly backlogBytes: number
  /**
   * On a connection that several clients share, cuts off the client with most unread bytes and gives up its
   * requests. Returns the number of these bytes; 0 where no client can be cut alone.
   */
  cutSlowest?(): number
  /** Whether the other end listens, or waits for an answer, where the transport can tell. */
  readonly busy?: boolean
  /** Stops or resumes reading, so that the other end feels the back-pressure. */
  read(on: boolean): void
  /** Sends the queue, or drops it where `atOnce` is true, then closes; every caller waits for the same end. */
  close(atOnce?: boolean): Promise<void>
}

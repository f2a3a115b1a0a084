// A connection: whole messages in, whole messages out, whatever carries them.

import { FrameError, type TransportError } from './errors.js'
import type { Frame, FrameLimits } from './frame.js'
import type { Line } from './line.js'
import type { RequestId } from './request-id.js'
import type { Outgoing } from './fast/splice-parts.js'

/** A message that a transport has read. */
export type ReceivedMessage = Frame | UnreadableMessage

/** Bytes that are not one acceptable message: so many, of which `line` may be no more than the beginning. */
export interface UnreadableMessage {
  readonly kind: 'unreadable'
  readonly error: FrameError
  readonly line: Line
  readonly bytes: number
}

/** What became of reading `line`. */
export function receivedMessage(
  read: Frame | FrameError,
  line: Line,
  bytes: number = line.length,
): ReceivedMessage {
  return read instanceof FrameError ? { kind: 'unreadable', error: read, line, bytes } : read
}

/** Reads a header field of the request that brought a message, by its name in lower case. */
export type FieldReader = (name: string) => string | undefined

/** The events of a connection. No handler may throw. */
export interface Sink {
  /**
   * One message; the view is the receiver's to keep.
   *
   * `during` is the id of our request on whose own stream it came, where the transport has such streams.
   */
  message(line: Line, during?: RequestId): void
  /** One message that the transport had to read itself. A sink without this method is given its line. */
  readonly received?:
    ((message: ReceivedMessage, during?: RequestId, field?: FieldReader) => void) | undefined
  /** The limits with which a transport reads messages. */
  readonly frameLimits?: FrameLimits | undefined
  /** The other end does not want the answer to this request any more, and has said so by closing what it was to come on. */
  readonly gaveUp?: ((key: RequestId) => void) | undefined
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
  /** What the other end says unasked is heard from now on; what it said before may be lost. */
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

/** What a message of ours is: no transport reads our own bytes for it. */
export interface MessageHead {
  /** Several answers in one array are a `batch`. */
  readonly kind: Frame['kind'] | 'batch'
  /** Of a request. */
  readonly id: RequestId | undefined
  /** Of a request or notification. */
  readonly method: string | undefined
  /** The id of our request that the message gives up. */
  readonly cancels: RequestId | undefined
  /** The id of the other end's request that the message answers or belongs to, as it was written. */
  readonly about: RequestId | undefined
}

/** The requests that a notification is about. */
export interface Ties {
  /** A request of the other end's. */
  readonly about?: RequestId | undefined
  /** A request of ours that it gives up. */
  readonly cancels?: RequestId | undefined
}

/** Several answers in one array are a batch. */
export type AnswerKind = 'result' | 'error' | 'batch'

export const untied: Ties = {}

export function requestHead(id: RequestId, method: string, about?: RequestId): MessageHead {
  return { kind: 'request', id, method, cancels: undefined, about }
}

export function notificationHead(method: string, { about, cancels }: Ties): MessageHead {
  return { kind: 'notification', id: undefined, method, cancels, about }
}

/** An answer; `id` is the request's, and undefined where that could not be read, and of a batch. */
export function answerHead(kind: AnswerKind, id: RequestId | undefined): MessageHead {
  return { kind, id: undefined, method: undefined, cancels: undefined, about: id }
}

/** Messages that a connection was given to send. */
export interface Traffic {
  readonly given: number
  readonly departed: number
}

/** A channel of messages. It starts silent, delivers to one sink, and closes once; no promise of it rejects. */
export interface Connection {
  start(sink: Sink): void
  /** Queues a message, or drops it once closed. */
  send(message: Outgoing, head: MessageHead): void
  /** Whether more is queued than the other end has taken for a while; `drained` follows. */
  readonly congested: boolean
  /** Bytes queued here that the other end has not taken. */
  readonly backlogBytes: number
  /** How many messages it was given, and how many of them, in that order, may have left: the others provably have not. */
  readonly traffic?: Traffic | undefined
  /**
   * Where the connection carries requests of several readers, cuts off the one that has left most unread; its requests
   * are given up. Gives how many bytes it had left; 0 where nothing can be cut alone.
   */
  cutSlowest?(): number
  /** Whether the other end listens, or waits for an answer, where the transport can tell. */
  readonly busy?: boolean
  /** Stops or resumes reading, so that the other end feels the back-pressure. */
  read(on: boolean): void
  /** Sends what is queued, or drops it at once, then closes; every caller waits for the same end. */
  close(atOnce?: boolean): Promise<void>
}

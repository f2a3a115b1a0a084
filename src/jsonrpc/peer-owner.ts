// The events of a peer, and its options.

import type { FieldReader } from './connection.js'
import type { FrameError, TransportError } from './errors.js'
import type { NotificationFrame, RequestFrame, ResponseFrame, FrameLimits } from './frame.js'
import type { Line } from './line.js'
import type { RequestId } from './request-id.js'
import type { Edit } from './splice.js'

/** Who waits for the answer to a forwarded request. */
export interface AnswerWaiter {
  /** The answer has come; called once. */
  answered(frame: ResponseFrame): void
}

/** The owner of a peer: what arrives, and the end. Answers go to who waits for them. */
export interface PeerOwner<E> {
  /** `during` is our request on whose own stream it came, where the transport has such streams. */
  request(frame: RequestFrame, during: E | undefined, field?: FieldReader): void
  /** The other end does not want the answer to this request any more. */
  gaveUp?(key: RequestId): void
  notification(frame: NotificationFrame, during: E | undefined): void
  /** An answer that nobody waits for: late, or made up. */
  stray(frame: ResponseFrame): void
  /** Several messages in one array. */
  batch(line: Line): void
  /** Bytes that are not one acceptable message: so many, of which `line` may be no more than the beginning. */
  malformed(error: FrameError, line: Uint8Array, bytes: number): void
  /** A message of ours did not get through; `entry` is the request that it was. */
  failed(entry: E | undefined, error: TransportError): void
  /** A message over the limit: `id` is its own if it was a request, `entry` is the request it would have answered. */
  oversize(id: RequestId | undefined, entry: E | undefined, bytes: number): void
  /** What the other end said unasked until now may be lost. */
  missed?(): void
  /** What was sent to the other end has left, after more than it took at once. */
  drained?(): void
  /** The other end will send nothing more; it may still read. */
  ended(): void
  /** Called once, with the forwarded requests that nobody will answer now. */
  closed(unanswered: readonly E[], cause: TransportError | undefined): void
}

export interface PeerOptions {
  readonly inflightMax: number
  readonly frame?: FrameLimits
  readonly wire?: (direction: 'in' | 'out', bytes: Uint8Array, whole: boolean) => void
  readonly forwarded?: (input: Uint8Array, edits: readonly Edit[], output: Uint8Array) => void
  /** Is given what the owner throws at the end of the connection, where nothing else can report it. */
  readonly onFault?: (error: unknown) => void
}

/** The options that observe a connection. */
export type PeerWatch = Pick<PeerOptions, 'wire' | 'forwarded' | 'onFault'>

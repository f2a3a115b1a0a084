// What a connection is told of the messages that it sends.

import type { MessageHead } from './connection.js'
import type { RequestId } from './request-id.js'

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

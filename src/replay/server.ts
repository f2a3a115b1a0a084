// The interface to a server that a transcript is replayed against.

import type { ChildExit } from '../runtime/runtime.js'
import type { Sent } from './line.js'
import type { Mail } from './mailbox.js'

/** The output of a server. */
export type ServerOutput =
  | { readonly kind: 'message'; readonly bytes: Buffer }
  /** A message of ours did not get through; `id` is that of a request, as it was written. */
  | { readonly kind: 'failed'; readonly id: string | undefined; readonly why: string }

export interface Server {
  send(message: Pick<Sent, 'bytes' | 'lineEnd' | 'whole'>): void
  /** We have said everything. */
  closeInput(): void
  /** The next message, waited for until `deadline`. */
  next(deadline: number): Promise<Mail<ServerOutput>>
  /** How its process ended by itself; undefined when it has none, or not within `ms`. */
  exit(ms: number): Promise<ChildExit | undefined>
  /** Why nothing more comes. */
  endedWhy(): Promise<string>
}

// The interface to a server that a transcript is replayed against.

import type { ChildExit, Runtime } from '../runtime/runtime.js'
import type { Sent } from './transcript.js'

/** The output of a server. */
export type ServerOutput =
  | { readonly kind: 'message'; readonly bytes: Buffer }
  /** A message of ours did not get through; `id` is that of a request, as it was written. */
  | { readonly kind: 'failed'; readonly id: string | undefined; readonly why: string }

export interface ReplayedServer {
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

/** A transcript is far shorter; a server that sends more than that before it is read is not read any further. */
const ITEMS_MAX = 100_000

/** An item, or why there is none. */
export type Mail<T> = T | { readonly kind: 'ended' } | { readonly kind: 'too-late' }

/** Holds the items that were not taken yet. */
export class Mailbox<T> {
  readonly #runtime: Runtime
  readonly #items: T[] = []
  #ended = false
  #wake: () => void = () => {}

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  put(item: T): void {
    if (this.#ended) return
    if (this.#items.length < ITEMS_MAX) this.#items.push(item)
    else this.#ended = true
    this.#wake()
  }

  /** Nothing more will come; what is here can still be taken. */
  end(): void {
    this.#ended = true
    this.#wake()
  }

  /** The next item, waited for until `deadline`. */
  async next(deadline: number): Promise<Mail<T>> {
    if (this.#items.length === 0 && !this.#ended) await this.#arrival(deadline)
    return this.#items.shift() ?? { kind: this.#ended ? 'ended' : 'too-late' }
  }

  async #arrival(deadline: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const delayMs = Math.max(0, deadline - this.#runtime.now())
      const timer = this.#runtime.setTimer(delayMs, resolve)
      this.#wake = () => {
        timer.cancel()
        resolve()
      }
    })
    this.#wake = () => {}
  }
}

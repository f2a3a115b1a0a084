// The messages of one connection that are on their way, and how much of them the server has not taken.

import { BriefMap } from '../../jsonrpc/fast/brief-map.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import { Congestion } from '../congestion.js'
import type { HttpTimers } from './options.js'
import type { HttpPost } from './post.js'

/** Every message that was sent and has not come to its end. */
export class OutgoingMessages {
  readonly #posts = new BriefMap<number, HttpPost>()
  readonly #congestion = new Congestion()
  readonly #bytesHigh: number
  readonly #drained: () => void
  #last = 0
  #unsentBytes = 0
  #quiet: (() => void) | undefined

  constructor(bytesHigh: number, drained: () => void) {
    this.#bytesHigh = bytesHigh
    this.#drained = drained
  }

  get size(): number {
    return this.#posts.size
  }

  get bytes(): number {
    return this.#unsentBytes
  }

  get congested(): boolean {
    return this.#congestion.on
  }

  /** Resolves when more may be sent. */
  get relieved(): Promise<void> {
    return this.#congestion.relieved
  }

  add(post: HttpPost): void {
    post.number = ++this.#last
    this.#posts.set(post.number, post)
    this.#unsentBytes += post.bytes.length
    if (this.#unsentBytes > this.#bytesHigh) this.#congestion.begin()
  }

  /** The system has the whole message. */
  sent(post: HttpPost): void {
    if (post.isSent) return
    post.isSent = true
    this.#unsentBytes -= post.bytes.length
    if (this.#unsentBytes <= this.#bytesHigh && this.#congestion.end()) this.#drained()
  }

  ended(post: HttpPost): void {
    this.sent(post)
    this.#posts.take(post.number)
    if (this.#quiet !== undefined && !this.#isTelling()) this.#quiet()
  }

  /** The request of ours that is known by this id: the last one, since an id may have been given back and lent again. */
  request(id: RequestId): HttpPost | undefined {
    let found: HttpPost | undefined
    for (const post of this.#posts.values()) if (post.id === id) found = post
    return found
  }

  read(on: boolean): void {
    for (const post of this.#posts.values()) post.read(on)
  }

  /** Waits until nothing is on its way that expects no answer (a cancel, or an answer of ours), but not for long. */
  async quiet(timers: HttpTimers, ms: number): Promise<void> {
    if (!this.#isTelling()) return
    await new Promise<void>((resolve) => {
      const timer = timers.setTimer(ms, resolve)
      this.#quiet = () => {
        timer.cancel()
        resolve()
      }
    })
  }

  cancel(): void {
    for (const post of this.#posts.values()) post.cancel()
    this.#congestion.end()
  }

  #isTelling(): boolean {
    for (const post of this.#posts.values()) if (post.id === undefined) return true
    return false
  }
}

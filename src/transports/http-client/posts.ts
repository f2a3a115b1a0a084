// The messages of ours that are on their way to one server.

import { BriefMap } from '../../jsonrpc/fast/brief-map.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import type { HttpMessages } from './messages.js'
import type { HttpPost } from './post.js'
import type { HttpTarget } from './options.js'

interface Entry {
  readonly post: HttpPost
  /** Whether the system has the whole of it. */
  isSent: boolean
}

/**
 * Keeps every message of ours until its end, and counts what the server has not taken.
 *
 * Two POSTs may overtake each other, and a server must not be called before it is ready: what follows
 * `notifications/initialized` is held until the server has taken that.
 */
export class HttpPosts {
  congested = false
  readonly #target: HttpTarget
  readonly #messages: HttpMessages
  readonly #onReady: () => void
  readonly #entries = new BriefMap<number, Entry>()
  /** Our requests by their ids; of two with one id, which was given back and lent again, the later one. */
  readonly #requests = new BriefMap<RequestId, HttpPost>()
  #last = 0
  #unsentBytes = 0
  #quiet: (() => void) | undefined
  /** The message that the server must take before any other is sent, and the messages that wait. */
  #gate: HttpPost | undefined
  #patience: { cancel(): void } | undefined
  #held: HttpPost[] = []
  #isStopped = false

  /** `onReady` is called when the server has taken `notifications/initialized`, or has not answered it for a while. */
  constructor(target: HttpTarget, messages: HttpMessages, onReady: () => void = () => {}) {
    this.#target = target
    this.#messages = messages
    this.#onReady = onReady
  }

  /** How many are on their way. */
  get size(): number {
    return this.#entries.size
  }

  /** How much the server has not taken. */
  get bytes(): number {
    return this.#unsentBytes
  }

  /** Stops or resumes reading what comes back. */
  read(on: boolean): void {
    for (const { post } of this.#entries.values()) post.read(on)
  }

  /** Gives up what is on its way. */
  stop(): void {
    this.#isStopped = true
    this.#patience?.cancel()
    for (const { post } of this.#entries.values()) post.cancel()
    this.congested = false
  }

  /** Gives the number by which the message is known here. */
  add(post: HttpPost): number {
    const { head, bytes } = post
    this.#entries.set(++this.#last, { post, isSent: false })
    if (head.id !== undefined) this.#requests.set(head.id, post)
    this.#unsentBytes += bytes.length
    if (this.#unsentBytes > this.#target.limits.backlogBytesHigh) this.congested = true
    return this.#last
  }

  send(post: HttpPost): void {
    if (this.#gate !== undefined) return void this.#held.push(post)
    if (post.head.method === 'notifications/initialized') this.#closeGate(post)
    if (!this.#messages.passes('out', post.bytes)) return
    post.send()
    const { cancels } = post.head
    if (cancels !== undefined) this.request(cancels)?.abandon()
  }

  /** Gives back the messages that are held; they are not sent any more. */
  takeHeld(): readonly HttpPost[] {
    return this.#held.splice(0)
  }

  /** A server that says nothing to it is called all the same. */
  #closeGate(post: HttpPost): void {
    const { timers, limits } = this.#target
    this.#gate = post
    this.#patience = timers.setTimer(limits.readyMs, () => this.#openGate())
  }

  #openGate(): void {
    this.#patience?.cancel()
    this.#gate = undefined
    const held = this.takeHeld()
    if (this.#isStopped) return
    this.#onReady()
    for (const post of held) this.send(post)
  }

  /** The system has the whole message. */
  sent(number: number): void {
    const entry = this.#entries.get(number)
    if (entry === undefined || entry.isSent) return
    entry.isSent = true
    this.#unsentBytes -= entry.post.bytes.length
    if (!this.congested || this.#unsentBytes > this.#target.limits.backlogBytesHigh) return
    this.congested = false
    this.#messages.drained()
  }

  ended(number: number): void {
    this.sent(number)
    const post = this.#entries.take(number)?.post
    const id = post?.head.id
    if (id !== undefined && this.#requests.get(id) === post) this.#requests.take(id)
    if (post !== undefined && post === this.#gate) this.#openGate()
    if (this.#quiet !== undefined && !this.#isTelling()) this.#quiet()
  }

  /** The request of ours that is known by this id. */
  request(id: RequestId): HttpPost | undefined {
    return this.#requests.get(id)
  }

  /** Waits until nothing is on its way that expects no answer (a cancel, or an answer of ours), but not for long. */
  async quiet(): Promise<void> {
    if (!this.#isTelling()) return
    const { timers, limits } = this.#target
    await new Promise<void>((resolve) => {
      const timer = timers.setTimer(limits.closeMs, resolve)
      this.#quiet = () => {
        timer.cancel()
        resolve()
      }
    })
  }

  #isTelling(): boolean {
    for (const { post } of this.#entries.values()) if (post.head.id === undefined) return true
    return false
  }
}

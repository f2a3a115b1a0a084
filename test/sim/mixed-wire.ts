// A client over HTTP that also sends requests without a session.

import type { ClientInbox } from './client-inbox.js'
import { StatelessPosts } from './stateless-posts.js'
import type { ClientWire, Said } from './client-wire.js'
import type { HttpRequestsParts } from './http-requests.js'
import type { Entry } from './ledger.js'

/** Its session, or its requests of an older revision, beside them. */
export class MixedWire implements ClientWire {
  readonly #old: ClientWire
  readonly #posts: StatelessPosts
  #inbox: ClientInbox | undefined

  constructor(parts: HttpRequestsParts, old: ClientWire) {
    this.#old = old
    this.#posts = new StatelessPosts(parts, () => this.#inbox)
  }

  get speaks(): boolean {
    return this.#old.speaks
  }

  get hears(): boolean {
    return this.#old.hears
  }

  get backlogBytes(): number {
    return this.#old.backlogBytes + this.#posts.backlogBytes
  }

  get released(): boolean {
    return this.#old.released && this.#posts.released
  }

  start(inbox: ClientInbox): void {
    this.#inbox = inbox
    this.#old.start(inbox)
  }

  send(said: Said): void {
    const [entry] = said.entries
    if (said.cancels?.root !== undefined) this.#posts.close(said.cancels, said.read)
    else if (entry?.root === undefined) this.#old.send(said)
    else this.#posts.send(said)
  }

  /** What is said without a session is in no order with anything else. */
  taken(entry: Entry): number | undefined {
    return entry.root === undefined ? this.#old.taken(entry) : undefined
  }

  read(on: boolean): void {
    this.#old.read(on)
    this.#posts.read(on)
  }

  finish(): void {
    this.#old.finish()
    this.#posts.leave()
  }

  gone(): void {
    this.#posts.leave()
  }

  vanish(): void {
    this.#old.vanish()
    this.#posts.leave()
  }

  cut(): void {
    this.#old.cut()
    this.#posts.cut()
  }
}

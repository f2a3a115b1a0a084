// The calls that servers have refused until a page is visited, and that have not been made again.
//
// Each is made again once: a state that a client sends twice must not have two calls made.

import type { ClientPort } from '../../mcp/call.js'
import { isFairShare } from './fair-share.js'

/** Remembers them by their ids; of too many of one principal the oldest is forgotten. */
export class PageVisits {
  readonly #visitsMax: number
  /** In the order in which they were refused. */
  readonly #visits = new Map<string, ClientPort>()

  constructor(visitsMax: number) {
    this.#visitsMax = visitsMax
  }

  add(id: string, client: ClientPort): void {
    const { size } = this.#visits
    const own = this.#of(({ profile }) => profile.principal === client.profile.principal)
    const [oldest] = this.#visits.keys()
    if (!isFairShare(own.length, size, this.#visitsMax)) this.#visits.delete(own[0] ?? oldest ?? '')
    this.#visits.set(id, client)
  }

  /** The client comes again; false when it has done so, or that was forgotten. */
  take(id: string): boolean {
    return this.#visits.delete(id)
  }

  /** No request of this client will come any more. */
  left(client: ClientPort): void {
    for (const id of this.#of((each) => each === client)) this.#visits.delete(id)
  }

  #of(is: (client: ClientPort) => boolean): string[] {
    return [...this.#visits].flatMap(([id, client]) => (is(client) ? [id] : []))
  }
}

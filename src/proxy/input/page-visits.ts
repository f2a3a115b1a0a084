// The calls that servers have refused until a page is visited, and that have not been made again.
//
// Each is made again once: a state that a client sends twice must not have two calls made.

import type { ClientPort } from '../../mcp/call.js'

export interface VisitLimits {
  readonly visitsMax: number
  /** Of one client. */
  readonly visitsOfOneMax: number
}

/** Remembers them by their ids; of too many the oldest is forgotten. */
export class PageVisits {
  readonly #limits: VisitLimits
  /** In the order in which they were refused. */
  readonly #visits = new Map<string, ClientPort>()

  constructor(limits: VisitLimits) {
    this.#limits = limits
  }

  add(id: string, client: ClientPort): void {
    const { visitsMax, visitsOfOneMax } = this.#limits
    const own = this.#of(client)
    const [oldest] = this.#visits.keys()
    if (own.length >= visitsOfOneMax) this.#visits.delete(own[0] ?? '')
    else if (this.#visits.size >= visitsMax) this.#visits.delete(oldest ?? '')
    this.#visits.set(id, client)
  }

  /** The client comes again; false when it has done so, or that was forgotten. */
  take(id: string): boolean {
    return this.#visits.delete(id)
  }

  /** No request of this client will come any more. */
  left(client: ClientPort): void {
    for (const id of this.#of(client)) this.#visits.delete(id)
  }

  #of(client: ClientPort): string[] {
    return [...this.#visits].flatMap(([id, of]) => (of === client ? [id] : []))
  }
}

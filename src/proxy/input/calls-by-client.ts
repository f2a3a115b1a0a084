// Calls of several clients, of which each may have so many.

import type { Call, ClientPort } from '../../mcp/call.js'

/** Finds those of one client without a look at the others. */
export class CallsByClient<T extends { readonly inner: Call }> {
  readonly #calls = new Map<ClientPort, Set<T>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  of(client: ClientPort): ReadonlySet<T> {
    return this.#calls.get(client) ?? new Set()
  }

  /** How many are of this principal, whatever its clients can be asked. */
  countOf(principal: string | undefined): number {
    let count = 0
    for (const [{ profile }, calls] of this.#calls) if (profile.principal === principal) count += calls.size
    return count
  }

  has(call: T): boolean {
    return this.of(call.inner.client).has(call)
  }

  add(call: T): void {
    if (this.has(call)) return
    const { client } = call.inner
    const known = this.#calls.get(client)
    if (known === undefined) this.#calls.set(client, new Set([call]))
    else known.add(call)
    this.#size++
  }

  delete(call: T): void {
    const { client } = call.inner
    const known = this.#calls.get(client)
    if (known?.delete(call) !== true) return
    this.#size--
    if (known.size === 0) this.#calls.delete(client)
  }
}

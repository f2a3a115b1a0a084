// Who follows what, by name: resources, or tasks.

import type { ClientPort } from '../../mcp/call.js'

/** The clients of one lane that follow something. */
export class Followers {
  readonly #clients = new Map<string, Set<ClientPort>>()

  /** How many things are followed. */
  get size(): number {
    return this.#clients.size
  }

  /** What is followed. */
  get names(): IterableIterator<string> {
    return this.#clients.keys()
  }

  has(name: string): boolean {
    return this.#clients.has(name)
  }

  /** Who follows exactly this. */
  at(name: string): ReadonlySet<ClientPort> {
    return this.#clients.get(name) ?? new Set()
  }

  /** Whether this is the first one who follows it. */
  add(client: ClientPort, name: string): boolean {
    const clients = this.#clients.get(name) ?? new Set()
    clients.add(client)
    this.#clients.set(name, clients)
    return clients.size === 1
  }

  /** Whether this was the last one who followed it. */
  remove(client: ClientPort, name: string): boolean {
    const clients = this.#clients.get(name)
    if (clients === undefined || !clients.delete(client) || clients.size > 0) return false
    this.#clients.delete(name)
    return true
  }

  /** The client follows nothing any more; gives what nobody follows now. */
  removeAll(client: ClientPort): string[] {
    return [...this.#clients.keys()].filter((name) => this.remove(client, name))
  }
}

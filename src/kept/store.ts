// What servers said of themselves, in memory.

import type { KeptFacts, KeptServer, KeptServers } from '../upstream/kept.js'
import type { ServerConfig } from '../upstream/server-config.js'

/** Clients of more sets of capabilities than this push out the set that was kept first. */
const SETS_MAX = 16

/** Keeps the facts of every server of one proxy. */
export class KeptStore implements KeptServers {
  readonly #servers = new Map<string, KeptInMemory>()

  of(config: ServerConfig): KeptServer | undefined {
    const server = this.#servers.get(config.name) ?? new KeptInMemory()
    this.#servers.set(config.name, server)
    return server
  }
}

class KeptInMemory implements KeptServer {
  readonly #facts = new Map<string, KeptFacts>()

  recall(set: string): KeptFacts | undefined {
    return this.#facts.get(set)
  }

  keep(set: string, facts: KeptFacts): void {
    this.#facts.delete(set)
    this.#facts.set(set, facts)
    const [oldest] = this.#facts.keys()
    if (this.#facts.size > SETS_MAX && oldest !== undefined) this.#facts.delete(oldest)
  }
}

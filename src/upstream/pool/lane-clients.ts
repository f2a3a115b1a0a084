// The clients of one lane: who may hear what a server says without naming anybody.

import { BriefMap } from '../../jsonrpc/fast/brief-map.js'
import type { ClientPort } from '../../mcp/call.js'
import { severity } from '../../mcp/methods/logging.js'
import { isFollowedBy } from '../../mcp/resource-uris.js'
import { Followers } from './followers.js'

/** Clients, the log levels they asked for, and the resources they follow. */
export class LaneClients {
  /** By their serials. */
  readonly #clients = new BriefMap<number, ClientPort>()
  readonly #levels = new Map<ClientPort, string>()
  readonly #resources = new Followers()
  /** Of the tasks of the extension Tasks. */
  readonly tasks: Followers = new Followers()
  /** Somebody has left whose business the server may still be at. */
  #mixed = false
  /** The one client there is; undefined when what belongs to one cannot be told from what belongs to another. */
  only: ClientPort | undefined

  get size(): number {
    return this.#clients.size
  }

  [Symbol.iterator](): IterableIterator<ClientPort> {
    return this.#clients.values()
  }

  add(client: ClientPort): void {
    this.#clients.set(client.serial, client)
    this.#findOnly()
  }

  /** Forgets a client and gives the resources that nobody follows any more. */
  remove(client: ClientPort): string[] {
    const was = this.#clients.take(client.serial)
    if (was !== undefined && was.asksNothing !== true) this.#mixed = true
    this.#findOnly()
    this.#levels.delete(client)
    this.tasks.removeAll(client)
    return this.#resources.removeAll(client)
  }

  /** The server has started anew and knows of nobody. */
  renew(): void {
    this.#mixed = false
    this.#findOnly()
  }

  #findOnly(): void {
    const [first] = this.size === 1 && !this.#mixed ? this : []
    this.only = first
  }

  setLevel(client: ClientPort, level: string): void {
    this.#levels.set(client, level)
  }

  /** The most verbose level that any client asked for. */
  get level(): string | undefined {
    let most: string | undefined
    for (const level of this.#levels.values()) {
      if (most === undefined || severity(level) < severity(most)) most = level
    }
    return most
  }

  get followed(): IterableIterator<string> {
    return this.#resources.names
  }

  /** Who follows exactly this. */
  followersAt(uri: string): Iterable<ClientPort> {
    return this.#resources.at(uri)
  }

  isFollowedAt(uri: string): boolean {
    return this.#resources.has(uri)
  }

  /** How many resources are followed. */
  get followedCount(): number {
    return this.#resources.size
  }

  follows(client: ClientPort, uri: string): boolean {
    return this.#resources.at(uri).has(client)
  }

  /** Whether this is the first one who follows it. */
  follow(client: ClientPort, uri: string): boolean {
    return this.#resources.add(client, uri)
  }

  /** The client follows nothing here any more; gives what it followed. */
  surrender(client: ClientPort): string[] {
    const followed = [...this.followed].filter((uri) => this.follows(client, uri))
    for (const uri of followed) this.unfollow(client, uri)
    return followed
  }

  /** Whether this was the last one who followed it. */
  unfollow(client: ClientPort, uri: string): boolean {
    return this.#resources.remove(client, uri)
  }

  /**
   * Who follows this resource.
   *
   * The updated URI may be a sub-resource of the followed one (MCP, Resources: subscriptions).
   */
  followersOf(uri: string): Set<ClientPort> {
    const found = new Set(this.#resources.at(uri))
    for (const followed of this.followed) {
      if (followed !== uri && isFollowedBy(uri, followed))
        for (const client of this.#resources.at(followed)) found.add(client)
    }
    return found
  }
}

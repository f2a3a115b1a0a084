// The clients of one lane: who may hear what a server says without naming anybody.

import { BriefMap } from '../../jsonrpc/fast/brief-map.js'
import type { ClientPort } from '../../mcp/call.js'
import { severity } from '../../mcp/methods/logging.js'
import { isFollowedBy } from '../../mcp/resource-uris.js'

/** Clients, the log levels they asked for, and the resources they follow. */
export class LaneClients {
  /** By their serials. */
  readonly #clients = new BriefMap<number, ClientPort>()
  readonly #levels = new Map<ClientPort, string>()
  readonly #followers = new Map<string, Set<ClientPort>>()
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
    if (this.#followers.size === 0) return []
    return [...this.#followers.keys()].filter((uri) => this.unfollow(client, uri))
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
    return this.#followers.keys()
  }

  /** Who follows exactly this. */
  followersAt(uri: string): Iterable<ClientPort> {
    return this.#followers.get(uri) ?? []
  }

  isFollowedAt(uri: string): boolean {
    return this.#followers.has(uri)
  }

  /** How many resources are followed. */
  get followedCount(): number {
    return this.#followers.size
  }

  follows(client: ClientPort, uri: string): boolean {
    return this.#followers.get(uri)?.has(client) ?? false
  }

  /** Whether this is the first one who follows it. */
  follow(client: ClientPort, uri: string): boolean {
    const followers = this.#followers.get(uri) ?? new Set()
    followers.add(client)
    this.#followers.set(uri, followers)
    return followers.size === 1
  }

  /** The client follows nothing here any more; gives what it followed. */
  surrender(client: ClientPort): string[] {
    const followed = [...this.#followers].flatMap(([uri, followers]) => (followers.has(client) ? [uri] : []))
    for (const uri of followed) this.unfollow(client, uri)
    return followed
  }

  /** Whether this was the last one who followed it. */
  unfollow(client: ClientPort, uri: string): boolean {
    const followers = this.#followers.get(uri)
    if (followers === undefined || !followers.delete(client) || followers.size > 0) return false
    this.#followers.delete(uri)
    return true
  }

  /**
   * Who follows this resource.
   *
   * The updated URI may be a sub-resource of the followed one (MCP, Resources: subscriptions).
   */
  followersOf(uri: string): Set<ClientPort> {
    const found = new Set(this.#followers.get(uri))
    for (const [followed, followers] of this.#followers) {
      if (followed !== uri && isFollowedBy(uri, followed)) for (const client of followers) found.add(client)
    }
    return found
  }
}

// The store of kept facts: in memory, and on a disk where there is one.

import { Buffer } from 'node:buffer'
import { type KeptLimits, limits as defaultLimits } from '../limits.js'
import type { KeptFacts, KeptServer, KeptServers } from '../upstream/contracts/kept.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'
import type { KeptDisk, KeptFile } from './disk.js'
import { identityOf } from './identity.js'

const NOTHING = Buffer.alloc(0)

/** Keeps the facts of every server of one proxy, or of all schemas of a gateway. */
export class KeptStore implements KeptServers {
  readonly #limits: KeptLimits
  readonly #disk: KeptDisk | undefined
  /** By what makes a server the one that it is. */
  readonly #servers = new Map<string, RememberedServer>()

  constructor(limits: KeptLimits = defaultLimits.kept, disk?: KeptDisk) {
    this.#limits = limits
    this.#disk = disk
  }

  of(config: ServerConfig): KeptServer | undefined {
    if (!config.keep) return undefined
    const identity = identityOf(config)
    const there = this.#servers.get(identity)
    if (there !== undefined) return there
    const server = new RememberedServer(this.#limits.setsMax, this.#disk?.file(config))
    this.#servers.set(identity, server)
    const [oldest] = this.#servers.keys()
    if (this.#servers.size > this.#limits.serversMax && oldest !== undefined) this.#servers.delete(oldest)
    return server
  }

  /** Resolves when what there is to be written is written. */
  async close(): Promise<void> {
    await this.#disk?.close()
  }
}

class RememberedServer implements KeptServer {
  readonly #setsMax: number
  readonly #file: KeptFile | undefined
  #sets: Map<string, KeptFacts> | undefined

  constructor(setsMax: number, file: KeptFile | undefined) {
    this.#setsMax = setsMax
    this.#file = file
  }

  get isDescribed(): boolean {
    return [...this.#loaded().values()].some(({ description }) => description !== undefined)
  }

  get isShy(): boolean {
    return [...this.#loaded().values()].some(({ description }) => description?.isShy === true)
  }

  recall(set: string): KeptFacts | undefined {
    return this.#loaded().get(set)
  }

  keep(set: string, facts: KeptFacts): void {
    const sets = this.#loaded()
    const before = sets.get(set)
    sets.delete(set)
    sets.set(set, facts)
    const [oldest] = sets.keys()
    if (sets.size > this.#setsMax && oldest !== undefined) sets.delete(oldest)
    if (before === undefined || !isSameFacts(before, facts)) this.#file?.save(sets)
  }

  #loaded(): Map<string, KeptFacts> {
    this.#sets ??= new Map(this.#file?.load())
    return this.#sets
  }
}

/** Byte by byte. */
function isSameFacts(one: KeptFacts, other: KeptFacts): boolean {
  if (one.answered !== other.answered) return false
  const [a, b] = [one.description, other.description]
  if (a === undefined || b === undefined) return a === b
  if (a.isShy !== b.isShy || a.lists.size !== b.lists.size || !isSame([a.handshake], [b.handshake]))
    return false
  return [...a.lists].every(([kind, items]) => isSame(items, b.lists.get(kind)))
}

function isSame(one: readonly Uint8Array[], other: readonly Uint8Array[] | undefined): boolean {
  if (one.length !== other?.length) return false
  return one.every((item, at) => Buffer.compare(item, other[at] ?? NOTHING) === 0)
}

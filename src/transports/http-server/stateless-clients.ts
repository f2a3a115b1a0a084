// The connections of clients without sessions: few, each for requests of one principal at one endpoint.
//
// A request needs nothing of those before it, and has a response of its own. A connection for each would cost more than
// the request, so they are shared; two requests with one id are on two connections.

import { Waits } from '../../runtime/waits.js'
import { StreamableConnection } from './connection.js'
import type { FrontParts, HttpEndpoint, Owner } from './endpoint.js'
import { attach } from './sessions.js'
import type { RequestId } from '../../jsonrpc/request-id.js'

interface Entry {
  readonly connection: StreamableConnection
  readonly ready: Promise<unknown>
  usedMs: number
}

/** Finds the connection for a request. */
export class StatelessClients {
  readonly #parts: FrontParts
  readonly #waits: Waits
  readonly #entries = new Map<HttpEndpoint, Map<string, Entry[]>>()
  #size = 0

  constructor(parts: FrontParts, waits: Waits) {
    this.#parts = parts
    this.#waits = waits
  }

  /** One on which no request has these ids, and which is ready; undefined when there are too many. */
  find(
    owner: Owner,
    keys: readonly RequestId[],
  ): StreamableConnection | Promise<StreamableConnection> | undefined {
    const known = this.#of(owner).find(({ connection }) => connection.open && !connection.knows(keys))
    const entry = known ?? this.#open(owner)
    if (entry === undefined) return undefined
    entry.usedMs = this.#parts.around.now()
    const { connection } = entry
    return connection.attached === undefined ? entry.ready.then(() => connection) : connection
  }

  /** Ends those that nobody has used for long. */
  sweep(): void {
    const { limits, around } = this.#parts
    const sinceMs = around.now() - limits.statelessIdleMs
    for (const { connection, usedMs } of this.#all())
      if (!connection.busy && usedMs < sinceMs) void connection.close()
  }

  /** Ends those of these principals once what was asked is answered. */
  leave(isGone: (principal: string) => boolean): void {
    for (const owners of this.#entries.values())
      for (const [principal, entries] of owners) {
        if (!isGone(principal)) continue
        owners.delete(principal)
        for (const { connection } of entries) connection.leave()
      }
  }

  endAll(): void {
    for (const { connection } of this.#all()) void connection.close()
  }

  #all(): Entry[] {
    return [...this.#entries.values()].flatMap((owners) => [...owners.values()].flat())
  }

  #of({ endpoint, principal }: Owner): Entry[] {
    return this.#entries.get(endpoint)?.get(principal) ?? []
  }

  #open(owner: Owner): Entry | undefined {
    const { limits, around } = this.#parts
    if (this.#size >= limits.sessionlessMax) return undefined
    this.#size++
    const closed = (): void => this.#closed(owner, entry)
    const parts = { limits, around, waits: this.#waits, session: undefined, stays: true, closed }
    const connection = new StreamableConnection(parts)
    const ready = attach(owner, connection).then((attached) => (connection.attached = attached))
    const entry: Entry = { connection, ready, usedMs: around.now() }
    const owners = this.#entries.get(owner.endpoint) ?? new Map<string, Entry[]>()
    this.#entries.set(owner.endpoint, owners)
    owners.set(owner.principal, [...(owners.get(owner.principal) ?? []), entry])
    return entry
  }

  #closed({ endpoint, principal }: Owner, entry: Entry): void {
    this.#size--
    const owners = this.#entries.get(endpoint)
    const left = owners?.get(principal)?.filter((each) => each !== entry) ?? []
    if (left.length > 0) owners?.set(principal, left)
    else owners?.delete(principal)
    if (owners?.size === 0) this.#entries.delete(endpoint)
  }
}

// The connections of clients without sessions: few, each for requests of one principal at one endpoint.
//
// A request needs nothing of earlier ones, and has a separate response. A connection for each would cost more than
// the request, so they are shared; two requests with one id are on two connections.

import { Waits } from '../../runtime/waits.js'
import { StreamableConnection } from './connection.js'
import type { HttpEndpoint, HttpEnvironment, Owner } from './endpoint.js'
import { attach } from './sessions.js'
import type { Wire } from '../../jsonrpc/fast/splice-parts.js'
import type { AnswerStatus } from './exchange.js'
import type { RequestId } from '../../jsonrpc/request-id.js'

interface Entry {
  readonly connection: StreamableConnection
  readonly ready: Promise<unknown>
  /** Ids of requests that wait until it is ready. */
  readonly arriving: Set<RequestId>
  usedMs: number
}

/** Finds the connection for a request. */
export class StatelessClients {
  readonly #environment: HttpEnvironment
  readonly #waits: Waits
  readonly #statusOf: (error: Wire) => AnswerStatus
  readonly #entries = new Map<HttpEndpoint, Map<string, Entry[]>>()
  /** Those for one message of a revision with sessions. */
  readonly #single = new Set<StreamableConnection>()
  #size = 0

  /** `statusOf` gives the status of an error that is the whole response. */
  constructor(environment: HttpEnvironment, waits: Waits, statusOf: (error: Wire) => AnswerStatus) {
    this.#environment = environment
    this.#waits = waits
    this.#statusOf = statusOf
  }

  /** Serves a request with these ids on a connection on which no other one has them; `crowded` when there are too many. */
  serve<T>(
    owner: Owner,
    keys: readonly RequestId[],
    serve: (connection: StreamableConnection) => T,
  ): T | Promise<T> | 'crowded' {
    const isFree = ({ connection, arriving }: Entry): boolean =>
      connection.open && !connection.knows(keys) && !keys.some((key) => arriving.has(key))
    const entry = this.#of(owner).find(isFree) ?? this.#open(owner)
    if (entry === undefined) return 'crowded'
    entry.usedMs = this.#environment.now()
    const { connection, arriving, ready } = entry
    if (connection.attached !== undefined) return serve(connection)
    for (const key of keys) arriving.add(key)
    return ready.then(() => {
      for (const key of keys) arriving.delete(key)
      return serve(connection)
    })
  }

  /** One for a single message, of the revision that its head names; undefined when there are too many. */
  async single(owner: Owner, version: string | undefined): Promise<StreamableConnection | undefined> {
    if (this.#single.size >= this.#environment.limits.sessionlessMax) return undefined
    const closed = (): void => void this.#single.delete(connection)
    const life = { kind: 'single' } as const
    const connection: StreamableConnection = new StreamableConnection(
      this.#environment,
      this.#waits,
      life,
      closed,
    )
    this.#single.add(connection)
    connection.attached = await attach(owner, connection, version)
    return connection
  }

  /** Ends the connections that have been idle for too long. */
  sweep(): void {
    const { limits } = this.#environment
    const sinceMs = this.#environment.now() - limits.statelessIdleMs
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
    for (const connection of this.#single) void connection.close()
  }

  #all(): Entry[] {
    return [...this.#entries.values()].flatMap((owners) => [...owners.values()].flat())
  }

  #of({ endpoint, principal }: Owner): Entry[] {
    return this.#entries.get(endpoint)?.get(principal) ?? []
  }

  #open(owner: Owner): Entry | undefined {
    const { limits } = this.#environment
    if (this.#size >= limits.sessionlessMax) return undefined
    this.#size++
    const closed = (): void => this.#closed(owner, entry)
    const life = { kind: 'shared', statusOf: this.#statusOf } as const
    const connection = new StreamableConnection(this.#environment, this.#waits, life, closed)
    const ready = attach(owner, connection).then((attached) => (connection.attached = attached))
    const entry: Entry = { connection, ready, arriving: new Set(), usedMs: this.#environment.now() }
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

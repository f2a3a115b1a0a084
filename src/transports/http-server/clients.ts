// The clients of Streamable HTTP: those with a session, and those that are gone after one request.

import { BriefSet } from '../../jsonrpc/fast/brief-set.js'
import type { Connection } from '../../jsonrpc/connection.js'
import { StreamableConnection } from './connection.js'
import type { HttpAttached, HttpRevision, HttpSurroundings, Owner } from './endpoint.js'
import { EventBudget, EventStore } from './event-store.js'
import type { SessionClient } from './judge.js'
import type { HttpServerLimits } from './limits.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import { HttpSessions, type Kept } from './sessions.js'
import type { Fields } from './status-line.js'
import { HttpStreams } from './streams.js'
import { Waits } from '../../runtime/waits.js'

/** One client and its connection. */
export class Client implements Kept, SessionClient {
  readonly connection: StreamableConnection
  readonly #attached: HttpAttached
  readonly #store: EventStore | undefined

  constructor(connection: StreamableConnection, attached: HttpAttached, store: EventStore | undefined) {
    this.connection = connection
    this.#attached = attached
    this.#store = store
  }

  get revision(): HttpRevision {
    return this.#attached.revision
  }

  get busy(): boolean {
    return this.connection.busy
  }

  knows(keys: readonly RequestId[]): boolean {
    return this.connection.knows(keys)
  }

  /** A client without a session has said everything. */
  done(): void {
    if (this.#store === undefined) this.end()
  }

  sweep(): void {
    this.#store?.sweep()
  }

  leave(): void {
    this.connection.leave()
  }

  end(): void {
    void this.connection.close()
  }
}

/** Opens and finds clients. */
export class Clients {
  readonly #limits: HttpServerLimits
  readonly #around: HttpSurroundings
  readonly #sessions: HttpSessions<Client>
  readonly #budget: EventBudget
  readonly #waits: Waits
  /** Clients without a session that are being served. */
  readonly #passing = new BriefSet<StreamableConnection>()

  constructor(limits: HttpServerLimits, around: HttpSurroundings) {
    this.#limits = limits
    this.#around = around
    this.#sessions = new HttpSessions(limits, { ...around, transport: 'streamable-http' })
    this.#waits = new Waits(limits.answerWaitMs, around)
    this.#budget = new EventBudget(limits.events.totalBytesMax)
  }

  find(id: string, owner: Owner): Client | undefined {
    return this.#sessions.find(id, owner)
  }

  /** Attaches a client and opens its session; undefined when there are too many. */
  async open(owner: Owner): Promise<Client | undefined> {
    const id = this.#sessions.admit(owner)
    return id === undefined ? undefined : this.#openSession(id, owner)
  }

  /** The same for one message, without a session; `version` is what it says that it speaks. */
  async openAlone(owner: Owner, version: string | undefined): Promise<Client | undefined> {
    if (this.#passing.size >= this.#limits.sessionlessMax) return undefined
    const connection: StreamableConnection = new StreamableConnection({
      streams: new HttpStreams({
        limits: this.#limits,
        setTimer: this.#around.setTimer,
        store: undefined,
        primes: () => false,
      }),
      waits: this.#waits,
      headers: () => [],
      refused: () => undefined,
      // Whoever said the last word is still in the middle of it.
      idle: () => setImmediate(() => void connection.close()),
      closed: () => this.#passing.delete(connection),
    })
    this.#passing.add(connection)
    return new Client(connection, await attach(owner, connection, version), undefined)
  }

  sweep(): void {
    this.#sessions.sweep()
  }

  /** Ends the sessions there are, once what was asked in them is answered. */
  leaveAll(): void {
    this.#sessions.leaveAll()
  }

  endAll(): void {
    this.#waits.stop()
    this.#sessions.endAll()
    for (const connection of this.#passing) void connection.close()
  }

  async #openSession(id: string, owner: Owner): Promise<Client> {
    const store = new EventStore(this.#limits.events, this.#budget, this.#around.now)
    let fields: Fields = ['mcp-session-id', id]
    const connection: StreamableConnection = new StreamableConnection({
      streams: new HttpStreams({
        limits: this.#limits,
        setTimer: this.#around.setTimer,
        store,
        primes: () => attached.revision.primesStreams,
      }),
      waits: this.#waits,
      headers: () => fields,
      refused: () => {
        fields = []
        setImmediate(() => void connection.close())
      },
      idle: () => undefined,
      closed: () => this.#sessions.delete(id),
    })
    const attached = await attach(owner, connection)
    const client = new Client(connection, attached, store)
    if (connection.open) this.#sessions.add(id, owner, client)
    return client
  }
}

/** A connection that nobody takes is closed. */
async function attach(
  { endpoint, principal }: Owner,
  connection: Connection,
  version?: string,
): Promise<HttpAttached> {
  try {
    return await endpoint.attach(connection, { principal, version })
  } catch (error) {
    await connection.close()
    throw error
  }
}

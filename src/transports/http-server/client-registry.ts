// The clients of a front, in their sessions and without: who they belong to, how long they last, how many there are.
//
// A session id is no proof of identity (MCP, Security Best Practices): a session is found only at the endpoint and by the
// principal that it was opened with.

import { ChurnMap } from '../../jsonrpc/churn-map.js'
import { ofMost } from '../../runtime/limited-table.js'
import { ClientConnection, type ConnectionLife } from './client-connection.js'
import type { HttpEnvironment, Owner } from './endpoint.js'
import { EventStore, type StoredEvents } from './event-stream.js'

interface Entry extends Owner {
  readonly connection: ClientConnection
  usedMs: number
}

type Entries = ChurnMap<string, Entry>

/** Makes the connections of clients, and has them until they end. */
export class ClientRegistry {
  readonly #environment: HttpEnvironment
  readonly #stored: StoredEvents = { stores: new Set(), bytes: 0 }
  readonly #sessions: Entries = new ChurnMap()
  /** The connections of clients without sessions: by endpoint and principal if they are shared, else by a number. */
  readonly #sessionless: Entries = new ChurnMap()
  #singles = 0

  constructor(environment: HttpEnvironment) {
    this.#environment = environment
  }

  /**
   * A new session of either transport; undefined when there is no room.
   *
   * Room may be made at the cost of the principal that has most sessions.
   */
  openSession(
    kind: 'session' | 'events',
    owner: Owner,
  ): { id: string; connection: ClientConnection } | undefined {
    const { newId, room, limits } = this.#environment
    if (room() !== 'enough' || !this.#makesRoom(owner)) return undefined
    const id = newId(owner)
    const store = new EventStore(limits.events, this.#stored)
    const life: ConnectionLife = kind === 'session' ? { kind, id, store } : { kind }
    return { id, connection: this.#add(this.#sessions, id, owner, life) }
  }

  /**
   * The one connection for all requests without a session of this owner, because a connection for each request would cost
   * more than the request; undefined when there are too many.
   */
  shared(owner: Owner): ClientConnection | undefined {
    const key = `${owner.endpoint.name} ${owner.principal}`
    const found = this.#find(this.#sessionless, key, owner)
    if (found?.open === true && !found.isLeaving) return found
    const made = this.#sessionlessFor(key, owner, 'shared')
    void made?.attachTo(owner)
    return made
  }

  /** The connection for a single message of a revision with sessions; undefined when there are too many. */
  single(owner: Owner): ClientConnection | undefined {
    return this.#sessionlessFor(String(++this.#singles), owner, 'single')
  }

  /** The session of that id, if it is this owner's and of this transport; it counts as used. */
  session(kind: 'session' | 'events', id: string, owner: Owner): ClientConnection | undefined {
    const found = this.#find(this.#sessions, id, owner)
    return found?.kind === kind ? found : undefined
  }

  sweep(): void {
    const { sessionIdleMs, statelessIdleMs } = this.#environment.limits
    const nowMs = this.#environment.now()
    for (const entry of this.#all()) {
      const { connection } = entry
      const idleMs = connection.kind === 'session' ? sessionIdleMs : statelessIdleMs
      if (connection.busy) entry.usedMs = nowMs
      else if (nowMs - entry.usedMs > idleMs) void connection.close()
    }
  }

  /** Ends the connections of these principals after their pending answers. */
  leave(isGone: (principal: string) => boolean): void {
    for (const { connection, principal } of this.#all()) if (isGone(principal)) connection.leave()
  }

  endAll(): void {
    for (const { connection } of this.#all()) void connection.close()
  }

  *#all(): IterableIterator<Entry> {
    yield* this.#sessions.values()
    yield* this.#sessionless.values()
  }

  #find(entries: Entries, key: string, owner: Owner): ClientConnection | undefined {
    const entry = entries.get(key)
    if (entry?.endpoint !== owner.endpoint || entry.principal !== owner.principal) return undefined
    entry.usedMs = this.#environment.now()
    return entry.connection
  }

  #sessionlessFor(key: string, owner: Owner, kind: 'shared' | 'single'): ClientConnection | undefined {
    const isFull = this.#sessionless.size >= this.#environment.limits.sessionlessMax
    return isFull ? undefined : this.#add(this.#sessionless, key, owner, { kind })
  }

  /** Adds synchronously, so that the limits count a connection whose client is still being attached. */
  #add(entries: Entries, key: string, owner: Owner, life: ConnectionLife): ClientConnection {
    const environment = this.#environment
    const { endpoint, principal } = owner
    const openedMs = environment.now()
    const transport = life.kind === 'events' ? 'http+sse' : 'streamable-http'
    const ended = entries === this.#sessions ? environment.watch(endpoint.name, transport) : undefined
    const connection = new ClientConnection(environment, life, () => {
      if (entries.get(key)?.connection === connection) entries.take(key)
      ended?.(environment.now() - openedMs)
    })
    entries.set(key, { endpoint, principal, connection, usedMs: openedMs })
    return connection
  }

  /** Ends the session that has been idle longest of the principal that has most; of another than the new one also a busy one. */
  #makesRoom({ principal }: Owner): boolean {
    if (this.#sessions.size < this.#environment.limits.sessionsMax) return true
    const [last] = ofMost([...this.#sessions.values()], (each) => each.principal)
      .filter(({ connection, principal: other }) => !connection.busy || other !== principal)
      .sort(
        (one, other) =>
          Number(one.connection.busy) - Number(other.connection.busy) || one.usedMs - other.usedMs,
      )
    void last?.connection.close()
    return last !== undefined
  }
}

// The clients of a front, with and without sessions: their owners, their lifetime, and their number.
//
// A session id does not prove an identity (MCP, Security Best Practices), so a session is found only at its
// endpoint and by its principal.

import { ChurnMap } from '../../jsonrpc/churn-map.js'
import type { RequestFrame } from '../../jsonrpc/frame.js'
import { sessionRevision } from '../../mcp/revisions.js'
import { ofMost } from '../../runtime/limited-table.js'
import { ClientConnection, type ConnectionLife } from './client-connection.js'
import type { HttpEnvironment, Owner, SessionWatch } from './endpoint.js'
import { EventStore, type StoredEvents } from './event-stream.js'
import { crowded, noSession, type Refusal } from './refusal.js'
import type { SealedFacts } from './session-ids.js'
import { factsIn, SessionRecord } from './session-record.js'

interface Entry extends Owner {
  readonly connection: ClientConnection
  usedMs: number
}

type Entries = ChurnMap<string, Entry>

export class ClientRegistry {
  readonly #environment: HttpEnvironment
  readonly #stored: StoredEvents = { stores: new Set(), bytes: 0 }
  readonly #sessions: Entries = new ChurnMap()
  /** The connections of clients without sessions: by endpoint and principal if they are shared, else by a number. */
  readonly #sessionless: Entries = new ChurnMap()
  #singles = 0
  /** The number of sessions that were opened by another process, or closed here before, and continued here. */
  revived = 0

  constructor(environment: HttpEnvironment) {
    this.#environment = environment
  }

  /** Opens a session of the older transport; undefined if there is no room. */
  openEvents(owner: Owner): { id: string; connection: ClientConnection } | undefined {
    if (!this.#hasRoom(owner)) return undefined
    const id = this.#environment.newId(owner)
    return { id, connection: this.#add(this.#sessions, id, owner, { kind: 'events' }) }
  }

  /** Opens a session for this `initialize`; undefined if there is no room. */
  openSession(owner: Owner, initialize: RequestFrame | undefined): ClientConnection | undefined {
    if (!this.#hasRoom(owner)) return undefined
    const { newId, sessions } = this.#environment
    const facts = sessions && initialize && factsIn(initialize, owner.endpoint.isBound())
    const sealed = facts && sessions?.ids.seal(facts, owner)
    const id = sealed ?? newId(owner)
    return this.#add(this.#sessions, id, owner, this.#lifeOf(id, sealed !== undefined))
  }

  /** Continues a session of another process. */
  revive(id: string, owner: Owner, version: string | undefined): ClientConnection | Refusal {
    const ids = this.#environment.sessions?.ids
    const facts = ids?.open(id, owner)
    if (facts === undefined || facts.isBound || owner.endpoint.isBound()) return noSession
    if (!this.#hasRoom(owner)) return crowded
    const revision = sessionRevision(version)?.version ?? facts.revision
    // A session that was closed here has sent events and requests under the name of this process.
    const life = this.#lifeOf(id, true, `${ids?.source}.${(++this.revived).toString(36)}`)
    return this.#add(this.#sessions, id, owner, life, { ...facts, revision })
  }

  /**
   * The connection that all requests of this owner without a session share, because a new connection costs
   * more than a request; undefined if there are too many.
   */
  shared(owner: Owner): ClientConnection | undefined {
    const key = `${owner.endpoint.name} ${owner.principal}`
    const found = this.#find(this.#sessionless, key, owner)
    if (found?.open === true && !found.isLeaving) return found
    const made = this.#sessionlessFor(key, owner, 'shared')
    void made?.attachTo(owner)
    return made
  }

  /** The connection for a single message of a revision with sessions; undefined if there are too many. */
  single(owner: Owner): ClientConnection | undefined {
    return this.#sessionlessFor(String(++this.#singles), owner, 'single')
  }

  /** The session with this id, if its owner and its transport match. Marks it as used. */
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

  #hasRoom(owner: Owner): boolean {
    return this.#environment.room() === 'enough' && this.#makesRoom(owner)
  }

  #lifeOf(id: string, isSealed: boolean, source?: string): ConnectionLife {
    const { sessions, limits } = this.#environment
    const record = isSealed && sessions !== undefined ? new SessionRecord(sessions.book, id) : undefined
    const store = new EventStore(limits.events, this.#stored)
    return { kind: 'session', id, store, source: source ?? sessions?.ids.source, record }
  }

  /**
   * Adds the connection before its client is attached. So the limits count it, and two requests for the same
   * session of another process find one connection. `facts` belong to such a session.
   */
  #add(
    entries: Entries,
    key: string,
    owner: Owner,
    life: ConnectionLife,
    facts?: SealedFacts,
  ): ClientConnection {
    const environment = this.#environment
    const { endpoint, principal } = owner
    const openedMs = environment.now()
    const transport = life.kind === 'events' ? 'http+sse' : 'streamable-http'
    let ended: ReturnType<SessionWatch> | undefined
    const begin = (): void => {
      if (entries === this.#sessions) ended = environment.watch(endpoint.name, transport, facts !== undefined)
    }
    const connection = new ClientConnection(environment, life, () => {
      if (entries.get(key)?.connection === connection) entries.take(key)
      ended?.(environment.now() - openedMs)
    })
    entries.set(key, { endpoint, principal, connection, usedMs: openedMs })
    if (facts === undefined) begin()
    else connection.revive(owner, facts, begin)
    return connection
  }

  /** Ends the longest idle session of the principal with most sessions; a busy one only for another principal. */
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

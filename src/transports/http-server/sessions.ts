// The clients of a front, in their sessions and without: who they belong to, how long they last, how many there are.
//
// A session id is no proof of identity (MCP, Security Best Practices): a session
// is found only at the endpoint and by the principal that it was opened with.

import type { Connection } from '../../jsonrpc/connection.js'
import { ChurnMap } from '../../jsonrpc/fast/churn-map.js'
import type { HttpAttached, HttpEnvironment, Owner, SessionTransport } from './endpoint.js'

/** One client's session as the registry sees it. */
export interface RegisteredSession extends Connection {
  /** Whether the client listens or waits. */
  readonly busy: boolean
  /** Lets go of what has become too old. */
  sweep?(): void
  /** Answers what was asked, and ends. */
  leave(): void
}

interface Entry<S> extends Owner {
  readonly session: S
  readonly number: number
  readonly openedMs: number
  usedMs: number
}

/** Sessions by id, or connections of clients without one by a key. */
export class HttpSessions<S extends RegisteredSession> {
  readonly #entries = new ChurnMap<string, Entry<S>>()
  readonly #environment: HttpEnvironment
  readonly #idleMs: number
  readonly #transport: SessionTransport | undefined

  /** `transport` is that of sessions. */
  constructor(environment: HttpEnvironment, idleMs: number, transport?: SessionTransport) {
    this.#environment = environment
    this.#idleMs = idleMs
    this.#transport = transport
  }

  get size(): number {
    return this.#entries.size
  }

  /**
   * The id of one more session for this owner; undefined when there is no room.
   *
   * Room may be made at the cost of the principal that has most sessions.
   */
  admit(owner: Owner): string | undefined {
    const { newId, room } = this.#environment
    return room() === 'enough' && this.#makesRoom(owner) ? newId(owner) : undefined
  }

  add(id: string, { endpoint, principal }: Owner, session: S): void {
    const openedMs = this.#environment.now()
    const transport = this.#transport
    const number = transport === undefined ? 0 : this.#environment.watch.opened(endpoint.name, transport)
    this.#entries.set(id, { endpoint, principal, session, number, openedMs, usedMs: openedMs })
  }

  /** The session of that id, if it is this owner's; it counts as used. */
  find(id: string, owner: Owner): S | undefined {
    const entry = this.#entries.get(id)
    if (entry?.endpoint !== owner.endpoint || entry.principal !== owner.principal) return undefined
    entry.usedMs = this.#environment.now()
    return entry.session
  }

  /** It has ended; another may have taken its place. */
  delete(id: string, session: S): void {
    const entry = this.#entries.get(id)
    if (entry?.session !== session) return
    this.#entries.take(id)
    const { endpoint, number, openedMs } = entry
    const ms = this.#environment.now() - openedMs
    if (this.#transport !== undefined)
      this.#environment.watch.ended(endpoint.name, this.#transport, number, ms)
  }

  /** Ends those that have been idle for too long. */
  sweep(): void {
    const nowMs = this.#environment.now()
    for (const entry of this.#entries.values()) {
      entry.session.sweep?.()
      if (entry.session.busy) entry.usedMs = nowMs
      else if (nowMs - entry.usedMs > this.#idleMs) void entry.session.close()
    }
  }

  leave(isGone: (principal: string) => boolean): void {
    for (const { session, principal } of this.#entries.values()) if (isGone(principal)) session.leave()
  }

  endAll(): void {
    for (const { session } of this.#entries.values()) void session.close()
  }

  /** Ends the session that has been idle longest of the principal that has most; of another than the new one also a busy one. */
  #makesRoom({ principal }: Owner): boolean {
    if (this.#entries.size < this.#environment.limits.sessionsMax) return true
    const counts = new Map<string, number>()
    for (const each of this.#entries.values())
      counts.set(each.principal, (counts.get(each.principal) ?? 0) + 1)
    const most = Math.max(...counts.values())
    const found = [...this.#entries.values()].filter((each) => counts.get(each.principal) === most)
    const [last] = found
      .filter(({ session, principal: other }) => !session.busy || other !== principal)
      .sort(
        (one, other) => Number(one.session.busy) - Number(other.session.busy) || one.usedMs - other.usedMs,
      )
    void last?.session.close()
    return last !== undefined
  }
}

/** Attaches a client; a connection that is not taken is closed. `version` is the revision that the client names. */
export async function attach(
  { endpoint, principal, address }: Owner,
  connection: Connection,
  version?: string,
): Promise<HttpAttached> {
  try {
    return await endpoint.attach(
      connection,
      version === undefined ? { principal, address } : { principal, version },
    )
  } catch (error) {
    await connection.close()
    throw error
  }
}

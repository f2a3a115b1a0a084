// The sessions of a front: who they belong to, how long they last, how many there are.
//
// A session id is no proof of identity (MCP, Security Best Practices): a session
// is found only at the endpoint and by the principal that it was opened with.

import { BriefMap } from '../../jsonrpc/fast/brief-map.js'
import type { HttpSurroundings, Owner } from './endpoint.js'
import type { SessionTransport } from './session-watch.js'

/** One client's session as the registry sees it. */
export interface Kept {
  /** Whether somebody listens or waits. */
  readonly busy: boolean
  /** Lets go of what has become too old. */
  sweep(): void
  /** Answers what was asked, and ends. */
  leave(): void
  end(): void
}

interface Entry<S> extends Owner {
  readonly session: S
  readonly number: number
  readonly openedMs: number
  usedMs: number
}

export interface SessionsParts extends Pick<HttpSurroundings, 'newId' | 'now' | 'room' | 'watch'> {
  readonly transport: SessionTransport
}

export interface SessionsLimits {
  readonly sessionsMax: number
  readonly sessionIdleMs: number
}

/** Sessions by id. */
export class HttpSessions<S extends Kept> {
  readonly #entries = new BriefMap<string, Entry<S>>()
  readonly #limits: SessionsLimits
  readonly #parts: SessionsParts

  constructor(limits: SessionsLimits, parts: SessionsParts) {
    this.#limits = limits
    this.#parts = parts
  }

  get size(): number {
    return this.#entries.size
  }

  /**
   * The id of one more session for this owner; undefined when there is no room.
   *
   * Room may be made at the cost of the session that has been idle longest.
   */
  admit(owner: Owner): string | undefined {
    const { newId, room } = this.#parts
    return room() === 'enough' && this.#makesRoom() ? newId(owner) : undefined
  }

  add(id: string, { endpoint, principal }: Owner, session: S): void {
    const { transport, now, watch } = this.#parts
    const openedMs = now()
    const number = watch.opened(endpoint.name, transport)
    this.#entries.set(id, { endpoint, principal, session, number, openedMs, usedMs: openedMs })
  }

  /** The session of that id, if it is this owner's; it counts as used. */
  find(id: string, owner: Owner): S | undefined {
    const entry = this.#entries.get(id)
    if (entry?.endpoint !== owner.endpoint || entry.principal !== owner.principal) return undefined
    entry.usedMs = this.#parts.now()
    return entry.session
  }

  delete(id: string): void {
    const entry = this.#entries.take(id)
    if (entry === undefined) return
    const { transport, now, watch } = this.#parts
    watch.ended(entry.endpoint.name, transport, entry.number, now() - entry.openedMs)
  }

  /** Ends the sessions that nobody has used for long. */
  sweep(): void {
    const nowMs = this.#parts.now()
    for (const entry of this.#entries.values()) {
      entry.session.sweep()
      if (entry.session.busy) entry.usedMs = nowMs
      else if (nowMs - entry.usedMs > this.#limits.sessionIdleMs) entry.session.end()
    }
  }

  leaveAll(): void {
    for (const { session } of this.#entries.values()) session.leave()
  }

  endAll(): void {
    for (const { session } of this.#entries.values()) session.end()
  }

  #makesRoom(): boolean {
    if (this.#entries.size < this.#limits.sessionsMax) return true
    let idlest: Entry<S> | undefined
    for (const entry of this.#entries.values())
      if (!entry.session.busy && entry.usedMs < (idlest?.usedMs ?? Infinity)) idlest = entry
    idlest?.session.end()
    return idlest !== undefined
  }
}

// The clients that send requests without a session, as events and the status count them.
//
// Over HTTP requests of many clients share a connection, and one client may use several. A client is who sends the same
// principal, name and version; it is gone when it has sent nothing for a while.

import { write } from '../../jsonrpc/text.js'
import type { Call, Outcome, StatelessContext } from '../../mcp/call.js'
import type { ClientReports } from './client-reports.js'
import type { SessionStatus } from '../routing/session-status.js'

export interface SeenClientsParts {
  readonly clientsMax: number
  readonly now: () => number
  readonly wallNow: () => number
  /** Reports of one more client. */
  readonly newReports: () => ClientReports
}

/** A client as events and the status count it. */
export class SeenClient {
  readonly status: SessionStatus
  readonly #reports: ClientReports
  readonly #now: () => number
  /** Its requests that are not answered. */
  #open = 0
  usedAt: number
  /** It has sent nothing for long: what it sends next is of another client. */
  hasLeft = false

  constructor({ info, revision }: StatelessContext, { newReports, now, wallNow }: SeenClientsParts) {
    this.#reports = newReports()
    this.#now = now
    this.usedAt = now()
    this.status = { client: info, revision: revision.version, connectedAtMs: wallNow(), processes: [] }
  }

  get isIdle(): boolean {
    return this.#open === 0
  }

  /** It has sent a request. */
  begun(context: StatelessContext): void {
    this.#open++
    this.#reports.attached(context)
  }

  settled(call: Call, outcome: Outcome): void {
    this.#open--
    this.usedAt = this.#now()
    this.#reports.settled(call, outcome)
  }

  gone(): void {
    this.hasLeft = true
    this.#reports.gone()
  }
}

/** The clients of one proxy. */
export class SeenClients {
  readonly #parts: SeenClientsParts
  readonly #clients = new Map<string, SeenClient>()

  constructor(parts: SeenClientsParts) {
    this.#parts = parts
  }

  get size(): number {
    return this.#clients.size
  }

  of(context: StatelessContext): SeenClient {
    const { principal, info } = context
    const key = write([principal, info?.name, info?.version])
    const known = this.#clients.get(key)
    if (known !== undefined) return known
    if (this.#clients.size >= this.#parts.clientsMax) this.#forgetOne()
    const client = new SeenClient(context, this.#parts)
    this.#clients.set(key, client)
    return client
  }

  status(): SessionStatus[] {
    return [...this.#clients.values()].map(({ status }) => status)
  }

  /** Those that have sent nothing since then are gone. */
  sweep(since: number): void {
    this.#end(({ isIdle, usedAt }) => isIdle && usedAt <= since)
  }

  /** The principal sends nothing any more. */
  left(principal: string): void {
    this.#end((_client, key) => key.startsWith(write([principal]).slice(0, -1)))
  }

  close(): void {
    this.#end(() => true)
  }

  #end(isGone: (client: SeenClient, key: string) => boolean): void {
    for (const [key, client] of this.#clients) {
      if (!isGone(client, key)) continue
      this.#clients.delete(key)
      client.gone()
    }
  }

  #forgetOne(): void {
    const [oldest] = [...this.#clients].sort(([, one], [, other]) => one.usedAt - other.usedAt)
    if (oldest === undefined) return
    this.#clients.delete(oldest[0])
    oldest[1].gone()
  }
}

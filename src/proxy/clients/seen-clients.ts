// The clients that send requests without a session, as events and the status count them.
//
// Over HTTP requests of many clients share a connection, and one client may use several. A client is who sends the same
// principal, name and version; it is gone when it has sent nothing for a while.

import { write } from '../../jsonrpc/text.js'
import type { Call, Outcome, StatelessContext } from '../../mcp/call.js'
import type { Runtime } from '../../runtime/runtime.js'
import type { ClientReports } from './client-reports.js'
import type { SessionStatus } from '../routing/session-status.js'

/** A client as events and the status count it. */
export class SeenClient {
  readonly status: SessionStatus
  readonly #reports: ClientReports
  readonly #runtime: Pick<Runtime, 'now' | 'wallNow'>
  /** Its requests that are not answered. */
  #open = 0
  usedAt: number
  /** It has sent nothing for long: what it sends next is of another client. */
  hasLeft = false

  constructor(
    { info, revision, origin }: StatelessContext,
    reports: ClientReports,
    runtime: Pick<Runtime, 'now' | 'wallNow'>,
  ) {
    this.#reports = reports
    this.#runtime = runtime
    this.usedAt = runtime.now()
    const connectedAtMs = runtime.wallNow()
    const { version } = revision
    this.status = {
      client: info,
      view: origin?.view,
      revision: version,
      connectedAtMs,
      processes: [],
      unreadBytes: 0,
    }
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
    this.usedAt = this.#runtime.now()
    this.#reports.settled(call, outcome)
  }

  gone(): void {
    this.hasLeft = true
    this.#reports.gone()
  }
}

/** The clients of one proxy. */
export class SeenClients {
  readonly #clientsMax: number
  readonly #newReports: () => ClientReports
  readonly #runtime: Pick<Runtime, 'now' | 'wallNow'>
  readonly #clients = new Map<string, SeenClient>()

  /** `newReports` makes the reports of one more client. */
  constructor(
    clientsMax: number,
    newReports: () => ClientReports,
    runtime: Pick<Runtime, 'now' | 'wallNow'>,
  ) {
    this.#clientsMax = clientsMax
    this.#newReports = newReports
    this.#runtime = runtime
  }

  get size(): number {
    return this.#clients.size
  }

  of(context: StatelessContext): SeenClient {
    const { principal, info } = context
    const key = write([principal, info?.name, info?.version])
    const known = this.#clients.get(key)
    if (known !== undefined) return known
    if (this.#clients.size >= this.#clientsMax) this.#forgetOne()
    const client = new SeenClient(context, this.#newReports(), this.#runtime)
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

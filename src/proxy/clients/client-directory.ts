// The clients of one proxy whose requests say by themselves what they are.
//
// Clients choose what they say, so how many of them are told apart is bounded. Who has been idle for a while makes room.

import { type DirectoryParts, StatelessClient } from './stateless-client.js'
import type { SeenClient } from './seen-clients.js'
import type { StatelessContext } from '../../mcp/call.js'
import { askableCapabilities, isAskable } from '../../mcp/capabilities.js'
import type { ServerDescription } from '../../mcp/eras/leg.js'
import { latestStateless } from '../../mcp/revisions.js'
import type { CatalogView } from '../routing/catalog-view.js'
import { PrincipalTasks } from '../routing/tasks.js'
import type { Timer } from '../../runtime/runtime.js'

/** Clients by principal, by what they see, and by what they can be asked. */
export class ClientDirectory {
  readonly #parts: DirectoryParts
  readonly #clients = new Map<string, StatelessClient>()
  /** Of contexts, which are the same where requests say the same. */
  readonly #keys = new WeakMap<StatelessContext, string>()
  #sweeping: Timer | undefined

  constructor(parts: DirectoryParts) {
    this.#parts = parts
  }

  /** Whose a request with this context is; undefined when there are too many. */
  of(context: StatelessContext, view: CatalogView): StatelessClient | undefined {
    const key = this.#keyOf(context, view)
    const known = this.#clients.get(key)
    if (known !== undefined) return known
    const { principal, isSeveral, capabilities } = context
    const askable = askableCapabilities(capabilities, isSeveral)
    const [, sibling] = this.#of(principal)[0] ?? []
    const leavers = this.#placeFor(principal, isAskable(askable))
    if (leavers === undefined) return undefined
    const tasks = sibling?.tasks ?? new PrincipalTasks(this.#parts.taskLimits)
    const profile = { principal, revision: latestStateless, capabilities: askable }
    const mayListen = (): boolean => this.#mayListen(principal)
    const client = new StatelessClient(profile, isSeveral, view, tasks, this.#parts, mayListen)
    this.#clients.set(key, client)
    for (const leaver of leavers) this.#end(leaver)
    this.#sweepLater()
    return client
  }

  /** The client that sends this, for events and the status. */
  sender(context: StatelessContext): SeenClient {
    return this.#parts.seen.of(context)
  }

  /** What is behind the proxy, without anything being started for it. */
  describe(view: CatalogView): ServerDescription {
    return this.#parts.describe(view)
  }

  /** No request of this principal will come any more. */
  left(principal: string): void {
    for (const [key] of this.#of(principal)) this.#end(key)
    this.#parts.seen.left(principal)
  }

  /** The proxy closes. */
  close(): void {
    this.#sweeping?.cancel()
    for (const key of this.#clients.keys()) this.#end(key)
    this.#parts.seen.close()
  }

  /** A context is of one connection, and a connection has one view. */
  #keyOf(context: StatelessContext, view: CatalogView): string {
    const known = this.#keys.get(context)
    if (known !== undefined) return known
    const { principal, isSeveral, capabilities } = context
    const key = `${principal}\n${view.name}\n${askableCapabilities(capabilities, isSeveral).json}`
    this.#keys.set(context, key)
    return key
  }

  #mayListen(principal: string): boolean {
    let [own, all] = [0, 0]
    for (const { listening, profile } of this.#clients.values()) {
      all += listening
      if (profile.principal === principal) own += listening
    }
    const { listensMax, listensOfOneMax } = this.#parts.limits
    return all < listensMax && own < listensOfOneMax
  }

  /**
   * Who makes room for one more: nobody where there is room, else the one that has been idle for longest; undefined where none can.
   *
   * One that can be asked something needs processes of its own, so it gets the place only of one that rests. Of each
   * principal there is one that can be asked nothing: none of the others of its principal keeps that one out.
   */
  #placeFor(principal: string, canBeAsked: boolean): readonly string[] | undefined {
    const { runtime, limits } = this.#parts
    const { guestsMax, guestsOfOneMax } = limits
    const since = runtime.now() - (canBeAsked ? limits.guestRestMs : 0)
    const own = this.#of(principal).filter(([, { profile }]) => isAskable(profile.capabilities))
    if (canBeAsked && own.length >= guestsOfOneMax) return idlest(own, since)
    return this.#clients.size < guestsMax ? [] : idlest([...this.#clients], since)
  }

  #of(principal: string): [string, StatelessClient][] {
    return [...this.#clients].filter(([, { profile }]) => profile.principal === principal)
  }

  /** The tasks of a principal go with the last of its clients. */
  #end(key: string): void {
    const client = this.#clients.get(key)
    this.#clients.delete(key)
    if (client === undefined) return
    if (![...this.#clients.values()].some(({ tasks }) => tasks === client.tasks)) client.tasks.left()
    void client.leave()
  }

  /** Looks from time to time for those that have asked nothing for long, as long as there are any. */
  #sweepLater(): void {
    const { runtime, limits } = this.#parts
    this.#sweeping ??= runtime.setTimer(limits.guestIdleMs, () => {
      this.#sweeping = undefined
      const since = runtime.now() - limits.guestIdleMs
      for (const [key, client] of this.#clients)
        if (client.tasks.isIdle && client.isIdleSince(since)) this.#end(key)
      this.#parts.seen.sweep(since)
      if (this.#clients.size + this.#parts.seen.size > 0) this.#sweepLater()
    })
  }
}

/** The one of them that has been idle for longest, since then at least. */
function idlest(clients: readonly [string, StatelessClient][], since: number): readonly string[] | undefined {
  const idle = clients.filter(([, client]) => client.isIdleSince(since))
  const [first] = idle.sort(([, one], [, other]) => one.usedAt - other.usedAt)
  return first && [first[0]]
}

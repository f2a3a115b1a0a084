// The clients of one proxy whose requests say by themselves what they are.
//
// Clients choose what they say, so how many of them are told apart is bounded. Who has been idle for a while makes room.

import { StatelessClient } from './stateless-client.js'
import type { SeenClient, SeenClients } from './seen-clients.js'
import type { StatelessContext } from '../../mcp/call.js'
import { askableCapabilities, isAskable } from '../../mcp/capabilities.js'
import type { ServerDescription } from '../../mcp/eras/leg.js'
import { latestStateless } from '../../mcp/revisions.js'
import type { PendingInput } from '../input/pending-input.js'
import type { ClientRoutes } from '../routing/client-routes.js'
import { PrincipalTasks, type TaskLimits } from '../routing/tasks.js'
import type { RoutedClient } from '../routing/routed-client.js'
import type { Runtime, Timer } from '../../runtime/runtime.js'

export interface DirectoryParts {
  readonly runtime: Pick<Runtime, 'now' | 'setTimer'>
  readonly limits: DirectoryLimits
  readonly taskLimits: TaskLimits
  /** Changes of lists within this time are told once. */
  readonly changeDelayMs: number
  readonly pending: PendingInput
  readonly seen: SeenClients
  /** Whether the proxy has one client in all, so that what servers give it to keep is not signed. */
  isOneClient(): boolean
  /** A number that no other client of the proxy has. */
  nextSerial(): number
  reach(client: RoutedClient): ClientRoutes
  /** What all servers are together. */
  describe(): ServerDescription
}

export interface DirectoryLimits {
  readonly guestsMax: number
  /** Of one principal, which can be asked something. */
  readonly guestsOfOneMax: number
  /** Requests that stay open, of all of them together. */
  readonly listensMax: number
  /** Of one principal. */
  readonly listensOfOneMax: number
  /** Resources that one of them follows. */
  readonly urisMax: number
  /** How long one stays that asks nothing. */
  readonly guestIdleMs: number
  /** How long one that asks nothing is kept all the same when another that can be asked something wants its place: with each of these servers may start processes. */
  readonly guestRestMs: number
}

/** ClientDirectory by principal, and by what they can be asked. */
export class ClientDirectory {
  readonly #parts: DirectoryParts
  readonly #guests = new Map<string, StatelessClient>()
  /** Of contexts, which are the same where requests say the same. */
  readonly #keys = new WeakMap<StatelessContext, string>()
  #sweeping: Timer | undefined

  constructor(parts: DirectoryParts) {
    this.#parts = parts
  }

  /** Whose a request with this context is; undefined when there are too many. */
  of(context: StatelessContext): StatelessClient | undefined {
    const key = this.#keyOf(context)
    const known = this.#guests.get(key)
    if (known !== undefined) return known
    const { principal, isSeveral, capabilities } = context
    const askable = askableCapabilities(capabilities, isSeveral)
    const [, sibling] = this.#of(principal)[0] ?? []
    const leavers = this.#placeFor(principal, isAskable(askable))
    if (leavers === undefined) return undefined
    const guest = new StatelessClient({
      serial: this.#parts.nextSerial(),
      isSeveral,
      profile: { principal, revision: latestStateless, capabilities: askable },
      tasks: sibling?.tasks ?? new PrincipalTasks(this.#parts.taskLimits),
      pending: this.#parts.pending,
      isSigned: () => !isSeveral && !this.#parts.isOneClient(),
      reach: (client) => this.#parts.reach(client),
      runtime: this.#parts.runtime,
      changeDelayMs: this.#parts.changeDelayMs,
      urisMax: this.#parts.limits.urisMax,
      mayListen: () => this.#mayListen(principal),
    })
    this.#guests.set(key, guest)
    for (const leaver of leavers) this.#end(leaver)
    this.#sweepLater()
    return guest
  }

  /** The client that sends this, for events and the status. */
  sender(context: StatelessContext): SeenClient {
    return this.#parts.seen.of(context)
  }

  /** What is behind the proxy, without anything being started for it. */
  describe(): ServerDescription {
    return this.#parts.describe()
  }

  /** No request of this principal will come any more. */
  left(principal: string): void {
    for (const [key] of this.#of(principal)) this.#end(key)
    this.#parts.seen.left(principal)
  }

  /** The proxy closes. */
  close(): void {
    this.#sweeping?.cancel()
    for (const key of this.#guests.keys()) this.#end(key)
    this.#parts.seen.close()
  }

  #keyOf(context: StatelessContext): string {
    const known = this.#keys.get(context)
    if (known !== undefined) return known
    const { principal, isSeveral, capabilities } = context
    const key = `${principal}\n${askableCapabilities(capabilities, isSeveral).json}`
    this.#keys.set(context, key)
    return key
  }

  #mayListen(principal: string): boolean {
    let [own, all] = [0, 0]
    for (const { listening, profile } of this.#guests.values()) {
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
    return this.#guests.size < guestsMax ? [] : idlest([...this.#guests], since)
  }

  #of(principal: string): [string, StatelessClient][] {
    return [...this.#guests].filter(([, { profile }]) => profile.principal === principal)
  }

  /** The tasks of a principal go with the last of its clients. */
  #end(key: string): void {
    const guest = this.#guests.get(key)
    this.#guests.delete(key)
    if (guest === undefined) return
    if (![...this.#guests.values()].some(({ tasks }) => tasks === guest.tasks)) guest.tasks.left()
    void guest.leave()
  }

  /** Looks from time to time for those that have asked nothing for long, as long as there are any. */
  #sweepLater(): void {
    const { runtime, limits } = this.#parts
    this.#sweeping ??= runtime.setTimer(limits.guestIdleMs, () => {
      this.#sweeping = undefined
      const since = runtime.now() - limits.guestIdleMs
      for (const [key, guest] of this.#guests)
        if (guest.tasks.isIdle && guest.isIdleSince(since)) this.#end(key)
      this.#parts.seen.sweep(since)
      if (this.#guests.size + this.#parts.seen.size > 0) this.#sweepLater()
    })
  }
}

/** The one of them that has been idle for longest, since then at least. */
function idlest(guests: readonly [string, StatelessClient][], since: number): readonly string[] | undefined {
  const idle = guests.filter(([, guest]) => guest.isIdleSince(since))
  const [first] = idle.sort(([, one], [, other]) => one.usedAt - other.usedAt)
  return first && [first[0]]
}

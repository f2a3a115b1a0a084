// The clients of one proxy whose requests say by themselves what they are.
//
// Clients choose what they say, so how many of them are told apart is bounded. Who has been idle for a while makes room.

import { Guest } from './guest.js'
import { Principals } from './principals.js'
import type { SeenClients } from './seen-clients.js'
import type { StatelessContext } from '../../mcp/call.js'
import { askableCapabilities, isAskable } from '../../mcp/capabilities.js'
import type { ServerDescription } from '../../mcp/eras/leg.js'
import { latestStateless } from '../../mcp/revisions.js'
import type { PendingInput } from '../input/pending-input.js'
import type { ClientRoutes } from '../routing/client-routes.js'
import type { GuestList, Sender } from '../routing/guest-list.js'
import type { TaskLimits } from '../routing/principal-tasks.js'
import type { RoutedClient } from '../routing/routed-client.js'
import type { Runtime, Timer } from '../../runtime/runtime.js'

export interface GuestsParts {
  readonly runtime: Pick<Runtime, 'now' | 'setTimer'>
  readonly limits: GuestLimits
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

export interface GuestLimits {
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

/** Guests by principal, and by what they can be asked. */
export class Guests implements GuestList {
  readonly #parts: GuestsParts
  readonly #guests = new Map<string, Guest>()
  /** Of contexts, which are the same where requests say the same. */
  readonly #keys = new WeakMap<StatelessContext, string>()
  readonly #principals: Principals
  #sweeping: Timer | undefined

  constructor(parts: GuestsParts) {
    this.#parts = parts
    this.#principals = new Principals(
      parts.taskLimits,
      parts.limits.guestsMax,
      (principal) => this.#of(principal).length > 0,
    )
  }

  of(context: StatelessContext): Guest | undefined {
    const key = this.#keyOf(context)
    const known = this.#guests.get(key)
    if (known !== undefined) return known
    const { principal, isSeveral, capabilities } = context
    const askable = askableCapabilities(capabilities, isSeveral)
    if (!this.#makesRoom(principal, isAskable(askable))) return undefined
    const guest = new Guest({
      serial: this.#parts.nextSerial(),
      isSeveral,
      profile: { principal, revision: latestStateless, capabilities: askable },
      tasks: this.#principals.tasksOf(principal),
      pending: this.#parts.pending,
      isSigned: () => !isSeveral && !this.#parts.isOneClient(),
      reach: (client) => this.#parts.reach(client),
      runtime: this.#parts.runtime,
      changeDelayMs: this.#parts.changeDelayMs,
      urisMax: this.#parts.limits.urisMax,
      mayListen: () => this.#mayListen(principal),
    })
    this.#guests.set(key, guest)
    this.#sweepLater()
    return guest
  }

  sender(context: StatelessContext): Sender {
    return this.#parts.seen.of(context)
  }

  describe(): ServerDescription {
    return this.#parts.describe()
  }

  left(principal: string): void {
    for (const [key] of this.#of(principal)) this.#end(key)
    this.#principals.left(principal)
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
   * Whether there is room for one more; who has been idle for longest makes it.
   *
   * One that can be asked something needs processes of its own, so it gets the place only of one that rests. Of each
   * principal there is one that can be asked nothing: none of the others of its principal keeps that one out.
   */
  #makesRoom(principal: string, canBeAsked: boolean): boolean {
    const { runtime, limits } = this.#parts
    const { guestsMax, guestsOfOneMax } = limits
    const since = runtime.now() - (canBeAsked ? limits.guestRestMs : 0)
    const own = this.#of(principal).filter(([, { profile }]) => isAskable(profile.capabilities))
    if (canBeAsked && own.length >= guestsOfOneMax) return this.#endIdlest(own, since)
    return this.#guests.size < guestsMax || this.#endIdlest([...this.#guests], since)
  }

  #of(principal: string): [string, Guest][] {
    return [...this.#guests].filter(([, { profile }]) => profile.principal === principal)
  }

  /** Of those that have been idle since then. */
  #endIdlest(guests: readonly [string, Guest][], since: number): boolean {
    const idle = guests.filter(([, guest]) => guest.isIdleSince(since))
    const [first] = idle.sort(([, one], [, other]) => one.usedAt - other.usedAt)
    if (first !== undefined) this.#end(first[0])
    return first !== undefined
  }

  #end(key: string): void {
    const guest = this.#guests.get(key)
    this.#guests.delete(key)
    void guest?.leave()
  }

  /** Looks from time to time for those that have asked nothing for long, as long as there are any. */
  #sweepLater(): void {
    const { runtime, limits } = this.#parts
    this.#sweeping ??= runtime.setTimer(limits.guestIdleMs, () => {
      this.#sweeping = undefined
      const since = runtime.now() - limits.guestIdleMs
      for (const [key, guest] of this.#guests) if (guest.isIdleSince(since)) this.#end(key)
      this.#parts.seen.sweep(since)
      if (this.#guests.size + this.#parts.seen.size > 0) this.#sweepLater()
    })
  }
}

// The clients of one proxy whose requests say by themselves what they are.
//
// Clients choose what they say, so how many of them are told apart is bounded. Who is idle makes room.

import { Guest } from './guest.js'
import type { StatelessContext } from '../../mcp/call.js'
import { noCapabilities } from '../../mcp/capabilities.js'
import type { ServerDescription } from '../../mcp/eras/leg.js'
import { latestStateless } from '../../mcp/revisions.js'
import type { ClientRoutes } from '../routing/client-routes.js'
import type { GuestList } from '../routing/guest-list.js'
import type { RoutedClient } from '../routing/routed-client.js'
import type { Runtime, Timer } from '../../runtime/runtime.js'

export interface GuestsParts {
  readonly runtime: Pick<Runtime, 'now' | 'setTimer'>
  readonly limits: GuestLimits
  /** A number that no other client of the proxy has. */
  nextSerial(): number
  reach(client: RoutedClient): ClientRoutes
  /** What all servers are together. */
  describe(): ServerDescription
}

export interface GuestLimits {
  readonly guestsMax: number
  /** Of one principal. */
  readonly guestsOfOneMax: number
  /** How long one stays that asks nothing. */
  readonly guestIdleMs: number
}

/** Guests by principal. */
export class Guests implements GuestList {
  readonly #parts: GuestsParts
  readonly #guests = new Map<string, Guest>()
  #sweeping: Timer | undefined

  constructor(parts: GuestsParts) {
    this.#parts = parts
  }

  of({ principal }: StatelessContext): Guest | undefined {
    const known = this.#guests.get(principal)
    if (known !== undefined) return known
    if (!this.#makesRoom()) return undefined
    const guest = new Guest({
      serial: this.#parts.nextSerial(),
      profile: { principal, revision: latestStateless, capabilities: noCapabilities },
      reach: (client) => this.#parts.reach(client),
      now: () => this.#parts.runtime.now(),
    })
    this.#guests.set(principal, guest)
    this.#sweepLater()
    return guest
  }

  describe(): ServerDescription {
    return this.#parts.describe()
  }

  left(principal: string): void {
    this.#end(principal)
  }

  /** The proxy closes. */
  close(): void {
    this.#sweeping?.cancel()
    for (const principal of this.#guests.keys()) this.#end(principal)
  }

  #makesRoom(): boolean {
    if (this.#guests.size < this.#parts.limits.guestsMax) return true
    let idlest: readonly [string, Guest] | undefined
    for (const entry of this.#guests)
      if (entry[1].idle && entry[1].usedAt < (idlest?.[1].usedAt ?? Infinity)) idlest = entry
    if (idlest !== undefined) this.#end(idlest[0])
    return idlest !== undefined
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
      for (const [key, guest] of this.#guests) if (guest.idle && guest.usedAt <= since) this.#end(key)
      if (this.#guests.size > 0) this.#sweepLater()
    })
  }
}

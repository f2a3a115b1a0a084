// How often strangers make the front ask an authorization server: each unknown token is one request to it.

import { putNewest } from '../runtime/newest.js'

/** Tokens of one network that no issuer has accepted, within a minute. Clients renew their tokens a few times an hour. */
export const REFUSED_MAX = 300

const WINDOW_MS = 60_000

/** Beyond them the network that was counted first is counted anew. */
const NETWORKS_MAX = 1000

interface Count {
  readonly sinceMs: number
  refused: number
}

/** Counts the tokens of each network that were not accepted. */
export class StrangerLimit {
  readonly #now: () => number
  /** By networks, the oldest count first. */
  readonly #counts = new Map<string, Count>()

  /** `now` is monotonic. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Counts one more token, until `accepted`; false where the network has shown too many. */
  admit(network: string): boolean {
    const known = this.#counts.get(network)
    const nowMs = this.#now()
    if (known !== undefined && nowMs - known.sinceMs < WINDOW_MS) return ++known.refused <= REFUSED_MAX
    putNewest(this.#counts, network, { sinceMs: nowMs, refused: 1 }, NETWORKS_MAX)
    return true
  }

  /** A token that was counted is one of a client. */
  accepted(network: string): void {
    const count = this.#counts.get(network)
    if (count !== undefined) count.refused--
  }
}

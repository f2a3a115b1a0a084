// Revokes tokens on all instances with one store, even if the configuration of an instance still has the token.

import type { FrontToken } from '../config/configuration.js'
import { repeat } from '../runtime/deadline.js'
import { putNewest } from '../runtime/limited-table.js'
import type { Runtime, Timer } from '../runtime/runtime.js'
import type { Cluster } from '../store/cluster.js'

/** The configuration of some instance may contain a revoked token for this long. */
const KEPT_MS = 10 * 365 * 24 * 3_600_000

/** An instance that was cut off from the store has missed messages, so it reads the store again. */
const READ_EVERY_MS = 60_000

/** More than the tokens of a configuration. */
const TOKENS_MAX = 10_000

type Instances = Pick<Cluster, 'store' | 'on' | 'broadcast'>

/** Unknown until the store has answered. */
type TokenState = 'valid' | 'revoked' | 'unknown'

const TOPIC = 'revoked'

/** Running instances refuse the token from now on, others after their start. @throws StoreAway */
export function revokeEverywhere(cluster: Instances, sha256: string): Promise<void> {
  // The commands of one process reach the store in their order.
  cluster.broadcast(Buffer.from(sha256), TOPIC)
  return cluster.store.put(keyOf(sha256), Buffer.of(1), KEPT_MS)
}

export class Revocations {
  /** Called when further tokens are revoked. */
  onRevoked: () => void = () => {}
  readonly #cluster: Instances
  readonly #timer: Timer
  /** Keyed by the hashes of tokens. */
  readonly #states = new Map<string, TokenState>()

  constructor(cluster: Instances, runtime: Pick<Runtime, 'setTimer'>) {
    this.#cluster = cluster
    cluster.on(TOPIC, (sha256) => this.#revoke(sha256.toString()))
    this.#timer = repeat(runtime, READ_EVERY_MS, () => void this.#readAll().catch(() => {}))
  }

  stateOf(sha256: string): TokenState {
    return this.#states.get(sha256) ?? 'unknown'
  }

  /** Asks the store about these tokens. @throws StoreAway; the store is asked again every minute */
  read(tokens: readonly Pick<FrontToken, 'sha256'>[] = []): Promise<void> {
    for (const { sha256 } of tokens) this.#set(sha256, this.stateOf(sha256))
    return this.#readAll()
  }

  close(): void {
    this.#timer.cancel()
  }

  /**
   * A revoked token stays revoked, even if the store answered before the revocation arrived. A store that
   * started empty gets the revocation again, for instances that start later.
   */
  async #readAll(): Promise<void> {
    const { store } = this.#cluster
    const read = [...this.#states.keys()].map(async (sha256) => {
      if (this.stateOf(sha256) === 'revoked')
        return void (await store.add(keyOf(sha256), Buffer.of(1), KEPT_MS))
      const entry = await store.get(keyOf(sha256))
      if (entry !== undefined) this.#revoke(sha256)
      else if (this.stateOf(sha256) === 'unknown') this.#set(sha256, 'valid')
    })
    await Promise.all(read)
  }

  #revoke(sha256: string): void {
    this.#set(sha256, 'revoked')
    this.onRevoked()
  }

  #set(sha256: string, state: TokenState): void {
    putNewest(this.#states, sha256, state, TOKENS_MAX)
  }
}

function keyOf(sha256: string): string {
  return `revoked:${sha256}`
}

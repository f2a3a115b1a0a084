// Tokens of single clients that are revoked on all instances on one store, whatever the configuration of an instance says.

import type { FrontToken } from '../config/configuration.js'
import { repeat } from '../runtime/deadline.js'
import { putNewest } from '../runtime/limited-table.js'
import type { Runtime, Timer } from '../runtime/runtime.js'
import type { Store } from '../store/store.js'

/** The configuration of some instance may have a revoked token for as long. */
const KEPT_MS = 10 * 365 * 24 * 3_600_000

/** An instance that was cut off from the store has missed messages. */
const READ_EVERY_MS = 60_000

/** More tokens than a configuration has. */
const TOKENS_MAX = 10_000

/** Unknown while the store has not answered. */
type TokenState = 'valid' | 'revoked' | 'unknown'

/** @throws StoreAway */
export function writeRevoked(store: Pick<Store, 'put'>, sha256: string): Promise<void> {
  return store.put(keyOf(sha256), Buffer.of(1), KEPT_MS)
}

export class Revocations {
  /** Is called when further tokens are revoked. */
  onRevoked: () => void = () => {}
  readonly #store: Pick<Store, 'get'>
  readonly #timer: Timer
  /** By the hashes of tokens. */
  readonly #states = new Map<string, TokenState>()

  constructor(store: Pick<Store, 'get'>, runtime: Pick<Runtime, 'setTimer'>) {
    this.#store = store
    this.#timer = repeat(runtime, READ_EVERY_MS, () => void this.#readAll().catch(() => {}))
  }

  stateOf(sha256: string): TokenState {
    return this.#states.get(sha256) ?? 'unknown'
  }

  /** Asks the store about these tokens. @throws StoreAway; it is asked again every minute */
  read(tokens: readonly Pick<FrontToken, 'sha256'>[] = []): Promise<void> {
    for (const { sha256 } of tokens) this.#set(sha256, this.stateOf(sha256))
    return this.#readAll()
  }

  /** Another process says that this token is revoked. */
  revoke(sha256: string): void {
    this.#set(sha256, 'revoked')
    this.onRevoked()
  }

  close(): void {
    this.#timer.cancel()
  }

  /** A revoked token stays revoked, also where the store has answered before the message about it came. */
  async #readAll(): Promise<void> {
    const hashes = [...this.#states.keys()].filter((sha256) => this.stateOf(sha256) !== 'revoked')
    const read = hashes.map(async (sha256) => {
      const entry = await this.#store.get(keyOf(sha256))
      if (entry !== undefined) this.revoke(sha256)
      else if (this.stateOf(sha256) === 'unknown') this.#set(sha256, 'valid')
    })
    await Promise.all(read)
  }

  #set(sha256: string, state: TokenState): void {
    putNewest(this.#states, sha256, state, TOKENS_MAX)
  }
}

function keyOf(sha256: string): string {
  return `revoked:${sha256}`
}

// A server of which every principal may have connections of its own, so that the server knows who calls.

import type { ClientPort } from '../../mcp/call.js'
import type { ServerConfig } from '../contracts/server-config.js'
import type { Lane, Upstream, UpstreamStatus } from '../contracts/upstream.js'
import type { Pool } from '../pool/pool.js'
import { unavailableUpstream } from './unavailable.js'

/** Each of them has shown a token or a login. */
const PRINCIPALS_MAX = 1024

/** Who has not said who it is. */
const NOBODY = ''

/** Makes the pool of one principal. */
type PoolOf = (principal: string) => Pool

/** One pool for each principal, made when its first client comes. */
export class PrincipalPools implements Upstream {
  config: ServerConfig
  readonly isolated = false
  readonly #isApart: boolean
  readonly #make: PoolOf
  readonly #pools = new Map<string, Pool>()
  readonly #closed: () => Promise<void>
  /** What is shown of the server is what this one knows. */
  readonly #first: Pool

  /** Without `isApart` all principals share one; `closed` is called when every connection has been closed. */
  constructor(config: ServerConfig, isApart: boolean, make: PoolOf, closed: () => Promise<void>) {
    this.config = config
    this.#isApart = isApart
    this.#make = make
    this.#closed = closed
    this.#first = make(NOBODY)
    this.#pools.set(NOBODY, this.#first)
  }

  get view(): Upstream['view'] {
    return this.#first.view
  }

  adjust(config: ServerConfig): void {
    this.config = config
    for (const pool of this.#pools.values()) pool.adjust(config)
  }

  warm(delayMs: number): void {
    this.#first.warm(delayMs)
  }

  adopt(): boolean {
    return false
  }

  attach(client: ClientPort): Lane {
    const principal = this.#isApart ? (client.profile.principal ?? NOBODY) : NOBODY
    const known = this.#pools.get(principal)
    if (known !== undefined) return known.attach(client)
    const { config } = this
    const failure = `'${config.name}' serves ${PRINCIPALS_MAX} principals already`
    if (this.#pools.size > PRINCIPALS_MAX) return unavailableUpstream(config, failure).attach(client)
    const pool = this.#make(principal)
    this.#pools.set(principal, pool)
    return pool.attach(client)
  }

  status(): UpstreamStatus {
    return this.#first.status()
  }

  async retire(graceMs: number): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.retire(graceMs)))
    await this.#closed()
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.close()))
    await this.#closed()
  }
}

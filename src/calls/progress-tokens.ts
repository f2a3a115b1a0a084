// Progress tokens on a connection that several requesters share (MCP, Utilities: progress).
//
// A token is the requester's own choice, like an id, and like an id it passes
// unchanged where the connection carries one requester and the token is free.

import { ChurnMap } from '../jsonrpc/churn-map.js'
import { LENT_MAX, MINTED_FROM, RecentSet } from '../jsonrpc/inflight.js'

/** Spellings that come back as they went out; `1.0` may come back as `1`. */
const PLAIN = /^(?:0|-?[1-9][0-9]{0,14}|"[\x20\x21\x23-\x5b\x5d-\x7e]*")$/

/** How many given-up tokens are remembered, so that late progress reaches no other request. */
const RETIRED_MAX = 1024

/** The requests that wait for progress, by token; tokens are raw JSON. */
export class ProgressTokens<E> {
  readonly #entries = new ChurnMap<string, E>()
  /** Made for the first one: most connections have none. */
  #retired: RecentSet<string> | undefined
  #last = MINTED_FROM

  /** The token to send for `entry`: its own if `lend` is true and the token is free and plain, else a new one. */
  lend(own: string, entry: E, lend: boolean): string {
    const isLent = lend && PLAIN.test(own) && this.#isFree(own) && !this.#isMinted(own)
    if (isLent && Number(own) > this.#last && Number(own) < LENT_MAX) this.#last = Number(own)
    const token = isLent ? own : this.#next()
    this.#entries.set(token, entry)
    return token
  }

  /** Gives this progress to another entry; false if none has waited for it. */
  hand(token: string | undefined, entry: E): boolean {
    if (token === undefined || !this.#entries.has(token)) return false
    this.#entries.set(token, entry)
    return true
  }

  find(token: string): E | undefined {
    return this.#entries.get(token)
  }

  release(token: string | undefined): void {
    if (token !== undefined) this.#entries.take(token)
  }

  /** Stops waiting for progress that may still come. */
  retire(token: string | undefined): void {
    if (token === undefined || this.#entries.take(token) === undefined) return
    this.#retired ??= new RecentSet(RETIRED_MAX)
    this.#retired.add(token)
  }

  /** Late progress may still come for it. */
  #isMinted(own: string): boolean {
    const count = Number(own)
    return count > MINTED_FROM && count <= this.#last
  }

  #isFree(token: string): boolean {
    return !this.#entries.has(token) && this.#retired?.all.has(token) !== true
  }

  #next(): string {
    let token = String(++this.#last)
    while (!this.#isFree(token)) token = String(++this.#last)
    return token
  }
}

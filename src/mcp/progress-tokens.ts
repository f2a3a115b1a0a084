// Progress tokens on a connection that several requesters share (MCP, Utilities: progress).
//
// A token is the requester's own choice, like an id, and like an id it passes
// unchanged where the connection carries one requester and the token is free.

/** Who waits for progress under which token; tokens are raw JSON. */
export class ProgressTokens<E> {
  readonly #entries = new Map<string, E>()
  #last = 0

  /** The token to send for `entry`: its own where `lend` says so and it is free, else a new one. */
  lend(own: string, entry: E, lend: boolean): string {
    let token = lend ? own : this.#next()
    while (this.#entries.has(token)) token = this.#next()
    this.#entries.set(token, entry)
    return token
  }

  find(token: string): E | undefined {
    return this.#entries.get(token)
  }

  release(token: string | undefined): void {
    if (token !== undefined) this.#entries.delete(token)
  }

  #next(): string {
    return String(++this.#last)
  }
}

// Refusals that may be the answer to a request, and may mean that the server has forgotten the session.
//
// A server may answer 404 to a list that it does not know, and 200 with an error about a session of its own. The same refusal in the
// next session is the answer; taken for a lost session, it would cost a session each time.

const METHODS_MAX = 100

/** The refusals by one server, over its sessions. */
export class DoubtfulRefusals {
  /** In which session a method was refused last, and whether the session before it was told the same. */
  readonly #refused = new Map<string, { readonly session: object; readonly isAnswer: boolean }>()

  /** Whether this refusal is about the request, and not about the session that asks. */
  isAnswer(method: string, session: object): boolean {
    const last = this.#refused.get(method)
    if (last?.session === session) return last.isAnswer
    if (this.#refused.size >= METHODS_MAX) this.#refused.clear()
    this.#refused.set(method, { session, isAnswer: last !== undefined })
    return last !== undefined
  }

  /** The server has answered with a result. */
  given(method: string | undefined): void {
    if (this.#refused.size > 0 && method !== undefined) this.#refused.delete(method)
  }
}

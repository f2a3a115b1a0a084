// Lists that a server answers with 404.
//
// The status says that the session is forgotten, and a server that does not know
// how to list uses it too. If the next session gets the same 404 for a list, the status means that the server does not know the method. Taken
// for a lost session, it would cost a session each time.

/** The refusals of lists by one server, over its sessions. */
export class ListRefusals {
  readonly #isList: (method: string) => boolean
  /** In which session a list was refused last, and whether the one before it was told the same. */
  readonly #refused = new Map<string, { readonly session: object; readonly isAnswer: boolean }>()

  constructor(isList: (method: string) => boolean) {
    this.#isList = isList
  }

  /** Whether this 404 is about the list, and not about the session that asks for it. */
  isAnswer(method: string | undefined, session: object): boolean {
    if (method === undefined || !this.#isList(method)) return false
    const last = this.#refused.get(method)
    if (last?.session === session) return last.isAnswer
    this.#refused.set(method, { session, isAnswer: last !== undefined })
    return last !== undefined
  }

  /** The server has answered. */
  given(method: string | undefined): void {
    if (this.#refused.size > 0 && method !== undefined) this.#refused.delete(method)
  }
}

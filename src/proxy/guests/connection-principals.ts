// Whose the requests of a client are that nobody has let in: of whoever is at the other end of its connection.

import { secretOf } from '../input/pending-input.js'
import type { Runtime } from '../../runtime/runtime.js'

const MARK_BYTES = 16

/**
 * Names them by the number of the connection.
 *
 * Every instance counts from one, and instances may have one key for states, so the name has a mark of this instance in
 * it. Only where there is one client in all it is the same after the next start, and that client's states still open.
 */
export class ConnectionPrincipals {
  readonly #runtime: Pick<Runtime, 'secret'>
  readonly #isOneClient: boolean
  #mark: string | undefined

  constructor(runtime: Pick<Runtime, 'secret'>, isOneClient: boolean) {
    this.#runtime = runtime
    this.#isOneClient = isOneClient
  }

  of(serial: number): string {
    if (this.#isOneClient) return `connection ${serial}`
    this.#mark ??= secretOf(this.#runtime)(MARK_BYTES).toString('base64url')
    return `connection ${serial} of ${this.#mark}`
  }
}

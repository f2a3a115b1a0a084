// Memory reserved for one large request body; released when its call is answered.
//
// The reservation of a call lasts until the answer, also when its client has left meanwhile. That of any
// other body ends with its response.

import type { HttpResponse } from './response.js'

/** Gives the memory back, once, whatever becomes of the request. */
export class BodyReservation {
  readonly #release: () => void
  #isAnswering = false
  #isClosed = false

  constructor(response: HttpResponse, release: () => void) {
    this.#release = release
    response.whenClosed(() => {
      this.#isClosed = true
      if (!this.#isAnswering) this.#release()
    })
  }

  /** Its requests are being answered. */
  begin(): void {
    this.#isAnswering = true
  }

  /** They have their answers, or will have none. */
  end(): void {
    if (!this.#isAnswering) return
    this.#isAnswering = false
    if (this.#isClosed) this.#release()
  }
}

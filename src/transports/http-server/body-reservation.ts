// What a large body has of the memory for all, and until when.
//
// A call holds what it was asked with until it is answered, also when its client
// has gone meanwhile; any other body is done with its response.

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
